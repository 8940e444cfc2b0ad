/** Markdown of a reply to a tree of elements from a fixed list. */
import { footnote } from '@mdit/plugin-footnote';
import { tasklist } from '@mdit/plugin-tasklist';
import { tex } from '@mdit/plugin-tex';
import MarkdownIt from 'markdown-it';
import { createElement, Fragment, render, type VNode } from 'preact';
import { parseLink } from '../../shared/links';
import { texts } from '../texts';
import { codeBlock } from './code';
import { diagram } from './diagram';
import { math } from './math';
import type { KnownPaths } from './paths';
import { type IsFile, withControls, withFiles } from './text';
import { h, type Tree } from './tree';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false })
  .use(tasklist, { label: false })
  .use(footnote)
  // Only its tokens are used, never its rendered HTML.
  .use(tex, { delimiters: 'all', render: () => '' });
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

/** Their text decides the direction: a reply may be in Hebrew with English code. */
const DIRECTED = new Set(['p', 'h3', 'h4', 'h5', 'h6', 'li', 'blockquote', 'th', 'td']);

/** A top-level block with the lines that it was made from. */
export interface Block {
  source: string;
  tree: VNode;
}

interface Context {
  isFile: IsFile;
  /** The reply is complete: no formula or diagram in it is cut off. */
  final: boolean;
}

/**
 * The blocks of ``text``. Blocks of ``previous`` with the same source are reused as they are (the
 * same object), unless ``previous`` is empty.
 */
export function parse(
  text: string,
  previous: readonly Block[] = [],
  context: Context = { isFile: null, final: true },
): Block[] {
  const tokens = parser.parse(text, {});
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let [start, depth] = [0, 0];
  tokens.forEach((token, index) => {
    depth += token.nesting;
    if (depth > 0) return;
    const group = tokens.slice(start, index + 1);
    start = index + 1;
    const map = group[0]?.map;
    // Footnotes stand at the end, whatever lines they come from.
    const part = map ? lines.slice(map[0], map[1]).join('\n') : text;
    const source = `${group[0]?.type} ${part}`;
    const known = previous[blocks.length];
    const tree = known?.source === source ? known.tree : build(group, context)[0];
    if (typeof tree === 'object') blocks.push({ source, tree });
  });
  return blocks;
}

function build(tokens: readonly Token[], context: Context, inLink = false): Tree[] {
  const root: Tree[] = [];
  const open: { token: Token; kids: Tree[] }[] = [];
  let linked = inLink;
  const add = (tree: Tree): void => {
    const kids = open.at(-1)?.kids ?? root;
    const last = kids.at(-1);
    if (typeof tree === 'string' && typeof last === 'string') kids[kids.length - 1] = last + tree;
    else if (tree !== '') kids.push(tree);
  };
  for (const token of tokens) {
    if (token.hidden) continue;
    if (token.type === 'link_open') linked = true;
    if (token.type === 'link_close') linked = inLink;
    if (token.nesting === 1) {
      open.push({ token, kids: [] });
    } else if (token.nesting === -1) {
      const whole = open.pop();
      if (whole !== undefined) add(element(whole.token, whole.kids));
    } else {
      const own = linked ? { ...context, isFile: null } : context;
      for (const tree of leaf(token, own)) add(tree);
    }
  }
  return root;
}

function element(token: Token, kids: readonly Tree[]): VNode {
  const made = h(tagOf(token), attributes(token), kids);
  return made.type === 'table' ? scrolling(made) : made;
}

function tagOf(token: Token): string {
  if (token.type === 'footnote_block_open') return 'ol';
  if (token.type === 'footnote_open') return 'li';
  return TAGS[token.tag] ?? 'div';
}

function leaf(token: Token, context: Context): Tree[] {
  const { isFile, final } = context;
  switch (token.type) {
    case 'inline':
      return build(token.children ?? [], context, isFile === null);
    case 'text':
      return withFiles(token.content, isFile);
    case 'html_inline':
    case 'html_block':
      return withControls(token.content, false);
    case 'softbreak':
      return ['\n'];
    case 'hardbreak':
      return [h('br')];
    case 'hr':
      return [h('hr')];
    case 'code_inline':
      return [h('code', { dir: 'ltr' }, withFiles(token.content, isFile, true))];
    case 'fence':
    case 'code_block': {
      const code = codeBlock(token.content, token.info, isFile, final);
      const isDiagram = final && token.info.trim() === 'mermaid';
      return [isDiagram ? diagram(token.content, code) : code];
    }
    case 'math_inline':
      return [math(token.content, false)];
    case 'math_block':
      return [math(token.content.trim(), true)];
    case 'checkbox_input':
      return [checkbox(token.attrGet('checked') !== null)];
    case 'footnote_ref':
      return [h('sup', {}, [footnoteLink(token, 'note', String(number(token)))])];
    case 'footnote_anchor':
      return [' ', footnoteLink(token, 'back', '↩')];
    case 'image':
      return [image(token)];
    default:
      return token.content === '' ? [] : withControls(token.content, false);
  }
}

function checkbox(done: boolean): VNode {
  const label = done ? texts.taskDone : texts.taskOpen;
  return h('span', { class: 'task', 'data-done': String(done), role: 'img', 'aria-label': label });
}

function number(token: Token): number {
  return Number((token.meta as { id?: number } | null)?.id ?? 0) + 1;
}

/** Its target is looked up when it is clicked: several replies may have a footnote 1. */
function footnoteLink(token: Token, to: 'note' | 'back', text: string): VNode {
  const attrs = { href: '#', class: 'footnote', [`data-${to}`]: String(number(token)) };
  const label = to === 'note' ? texts.footnote(text) : texts.footnoteBack;
  return h('a', { ...attrs, title: label, 'aria-label': label }, [text]);
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
  if (DIRECTED.has(tagOf(token))) found.dir = 'auto';
  if (token.type === 'footnote_block_open') found.class = 'footnotes';
  if (token.type === 'footnote_open') found['data-id'] = String(number(token));
  if (attribute(token, 'class') === 'task-list-container') found.class = 'tasks';
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

function scrolling(table: VNode): VNode {
  return h('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': texts.table }, [
    table,
  ]);
}

export interface MarkdownHandlers {
  copy(text: string): void;
  insert(text: string): void;
  open(href: string): void;
  /** What else can be done with a block: ``path`` and ``language`` as it names them. */
  code?(verb: CodeVerb, text: string, path: string, language: string): void;
  /** Which words are files; without it none is looked for. */
  paths?: KnownPaths;
}

export type CodeVerb = 'apply' | 'new' | 'run';

/** Keeps one element showing one text, which may grow. */
export class MarkdownView {
  private blocks: Block[] = [];
  private text = '';
  private final = false;
  private readonly isFile: IsFile;
  private readonly leave: () => void;

  constructor(
    private readonly root: Element,
    private readonly handlers: MarkdownHandlers,
  ) {
    root.addEventListener('click', (event) => this.clicked(event));
    root.addEventListener('auxclick', (event) => event.preventDefault());
    const { paths } = handlers;
    this.isFile = paths === undefined ? null : (path) => paths.has(path);
    this.leave = paths?.listen(() => this.draw(this.text, this.final, [])) ?? (() => {});
  }

  /** ``final``: references further down may have changed what is above; parse all of it. */
  update(text: string, final: boolean): void {
    this.draw(text, final, final ? [] : this.blocks);
  }

  dispose(): void {
    this.leave();
  }

  private draw(text: string, final: boolean, known: readonly Block[]): void {
    const blocks = parse(text, known, { isFile: this.isFile, final });
    const trees = blocks.map((block) => block.tree);
    render(createElement(Fragment, null, trees), this.root);
    this.blocks = blocks;
    this.text = text;
    this.final = final;
  }

  private clicked(event: Event): void {
    if (!(event.target instanceof Element)) return;
    const link = event.target.closest('a');
    if (link !== null) {
      // VS Code would open it without our check.
      event.preventDefault();
      event.stopPropagation();
      const href = link.getAttribute('href');
      if (link.classList.contains('footnote')) this.jump(link);
      else if (href !== null) this.handlers.open(href);
      return;
    }
    const button = event.target.closest('[data-action]');
    const block = button?.closest('.code') ?? null;
    const code = block?.querySelector('pre')?.textContent ?? null;
    if (button === null || block === null || code === null) return;
    const verb = button.getAttribute('data-action');
    if (verb === 'unfold') block.toggleAttribute('data-open');
    else if (verb === 'insert') this.handlers.insert(code);
    else if (verb === 'apply' || verb === 'new' || verb === 'run') {
      const named = (name: string): string => block.getAttribute(`data-${name}`) ?? '';
      this.handlers.code?.(verb, code, named('path'), named('language'));
    } else {
      this.handlers.copy(code);
      confirmOn(button);
    }
  }

  private jump(link: Element): void {
    const { note, back } = (link as HTMLElement).dataset;
    const target =
      note === undefined
        ? this.root.querySelector(`[data-note="${back}"]`)
        : this.root.querySelector(`.footnotes [data-id="${note}"]`);
    target?.scrollIntoView({ block: 'nearest' });
  }
}

/** Shows a tick in place of the icon for a moment. */
function confirmOn(button: Element): void {
  const icon = button.querySelector('.codicon');
  if (icon === null) return;
  icon.classList.replace('codicon-copy', 'codicon-check');
  setTimeout(() => icon.classList.replace('codicon-check', 'codicon-copy'), 1_500);
}
