/** Markdown of a reply to a tree of elements from a fixed list; see ``dom.ts`` for the rest. */
import MarkdownIt from 'markdown-it';
import { parseLink } from '../shared/links';
import { type Branch, h, patch, type Tree } from './dom';
import { highlight } from './highlight';
import { texts } from './texts';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false });
type Token = ReturnType<typeof parser.parse>[number];
parser.validateLink = (href) => parseLink(href) !== null;
// Otherwise "main.py" would become a link to a host in Paraguay.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

/** Headings of a reply rank below the sidebar's own. */
const TAGS: Readonly<Record<string, string>> = {
  ...{ h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6', h6: 'h6' },
  ...{ p: 'p', ul: 'ul', ol: 'ol', li: 'li', blockquote: 'blockquote', hr: 'hr', br: 'br' },
  ...{ table: 'table', thead: 'thead', tbody: 'tbody', tr: 'tr', th: 'th', td: 'td' },
  ...{ strong: 'strong', em: 'em', s: 's', code: 'code', a: 'a' },
};

/** A top-level block with the lines that it was made from. */
export interface Block {
  source: string;
  tree: Branch;
}

/**
 * The blocks of ``text``. Blocks of ``previous`` with the same source are reused as they are (the
 * same object), unless ``previous`` is empty.
 */
export function parse(text: string, previous: readonly Block[] = []): Block[] {
  const tokens = parser.parse(text, {});
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let start = 0;
  tokens.forEach((token, index) => {
    if (token.level !== 0 || token.nesting === 1) return;
    const group = tokens.slice(start, index + 1);
    start = index + 1;
    const [from, to] = group[0]?.map ?? [0, 0];
    const source = `${group[0]?.type} ${lines.slice(from, to).join('\n')}`;
    const known = previous[blocks.length];
    const tree = known?.source === source ? known.tree : build(group)[0];
    if (typeof tree === 'object') blocks.push({ source, tree });
  });
  return blocks;
}

function build(tokens: readonly Token[]): Tree[] {
  const root: Tree[] = [];
  const stack: Tree[][] = [root];
  const add = (tree: Tree): void => {
    const kids = stack.at(-1) ?? root;
    const last = kids.at(-1);
    if (typeof tree === 'string' && typeof last === 'string') kids[kids.length - 1] = last + tree;
    else if (tree !== '') kids.push(tree);
  };
  for (const token of tokens) {
    if (token.hidden) continue;
    if (token.nesting === 1) {
      const kids: Tree[] = [];
      const branch = h(TAGS[token.tag] ?? 'div', attributes(token), kids);
      add(branch.tag === 'table' ? scrolling(branch) : branch);
      stack.push(kids);
    } else if (token.nesting === -1) {
      if (stack.length > 1) stack.pop();
    } else for (const tree of leaf(token)) add(tree);
  }
  return root;
}

function leaf(token: Token): Tree[] {
  switch (token.type) {
    case 'inline':
      return build(token.children ?? []);
    case 'text':
    case 'html_inline':
    case 'html_block':
      return [token.content];
    case 'softbreak':
      return ['\n'];
    case 'hardbreak':
      return [h('br')];
    case 'hr':
      return [h('hr')];
    case 'code_inline':
      return [h('code', {}, token.content === '' ? [] : [token.content])];
    case 'fence':
    case 'code_block':
      return [codeBlock(token.content, token.info.trim().split(/\s+/)[0] ?? '')];
    case 'image':
      return [image(token)];
    default:
      return token.content === '' ? [] : [token.content];
  }
}

/** Pictures are not loaded, which would tell their host; their address is offered as a link. */
function image(token: Token): Tree {
  const source = attribute(token, 'src');
  const label = token.content || source;
  if (parseLink(source) === null) return label;
  return h('a', { href: source, title: source }, [label]);
}

function attributes(token: Token): Record<string, string> {
  const found: Record<string, string> = {};
  const href = token.tag === 'a' ? attribute(token, 'href') : '';
  if (parseLink(href) !== null) {
    found.href = href;
    found.title = attribute(token, 'title') || href;
  }
  const start = token.tag === 'ol' ? attribute(token, 'start') : '';
  if (/^\d+$/.test(start)) found.start = start;
  const align = /text-align:\s*(left|right|center)/.exec(attribute(token, 'style'))?.[1];
  if (align !== undefined) found['data-align'] = align;
  return found;
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '');
}

function scrolling(table: Branch): Branch {
  return h('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': texts.table }, [
    table,
  ]);
}

function codeBlock(content: string, language: string): Branch {
  const code = content.replace(/\n$/, '');
  const name = language.replace(/[^\w+#.-]/g, '').slice(0, 30);
  return h('div', { class: 'code' }, [
    h('div', { class: 'code-head' }, [
      h('span', { class: 'code-language' }, [name || texts.plainText]),
      action('copy', 'copy', texts.copyCode),
      action('insert', 'insert', texts.insertCode),
    ]),
    h('pre', { tabindex: '0', 'aria-label': texts.codeIn(name) }, [
      h('code', {}, highlight(code, name)),
    ]),
  ]);
}

function action(name: string, icon: string, label: string): Branch {
  const attrs = { type: 'button', class: 'icon-button', 'data-action': name, title: label };
  return h('button', { ...attrs, 'aria-label': label }, [
    h('span', { class: `codicon codicon-${icon}`, 'aria-hidden': 'true' }),
  ]);
}

export interface MarkdownHandlers {
  copy(text: string): void;
  insert(text: string): void;
  open(href: string): void;
}

/** Keeps one element showing one text, which may grow. */
export class MarkdownView {
  private blocks: Block[] = [];

  constructor(
    private readonly root: Element,
    private readonly handlers: MarkdownHandlers,
  ) {
    root.addEventListener('click', (event) => this.clicked(event));
    root.addEventListener('auxclick', (event) => event.preventDefault());
  }

  /** ``final``: references further down may have changed what is above; parse all of it. */
  update(text: string, final: boolean): void {
    const blocks = parse(text, final ? [] : this.blocks);
    patch(
      this.root,
      blocks.map((block) => block.tree),
      this.blocks.map((block) => block.tree),
    );
    this.blocks = blocks;
  }

  private clicked(event: Event): void {
    if (!(event.target instanceof Element)) return;
    const link = event.target.closest('a');
    if (link !== null) {
      // VS Code would open it without our check.
      event.preventDefault();
      event.stopPropagation();
      const href = link.getAttribute('href');
      if (href !== null) this.handlers.open(href);
      return;
    }
    const button = event.target.closest('[data-action]');
    const code = button?.closest('.code')?.querySelector('pre')?.textContent ?? null;
    if (button === null || code === null) return;
    if (button.getAttribute('data-action') === 'insert') this.handlers.insert(code);
    else {
      this.handlers.copy(code);
      confirmOn(button);
    }
  }
}

/** A tick in place of the icon for a moment. */
function confirmOn(button: Element): void {
  const icon = button.querySelector('.codicon');
  if (icon === null) return;
  icon.classList.replace('codicon-copy', 'codicon-check');
  setTimeout(() => icon.classList.replace('codicon-check', 'codicon-copy'), 1_500);
}
