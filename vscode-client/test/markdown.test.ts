// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MarkdownView, parse } from '../src/webview/markdown';

const handlers = { copy: vi.fn(), insert: vi.fn(), open: vi.fn() };
let root: HTMLElement;
let view: MarkdownView;

beforeEach(() => {
  vi.clearAllMocks();
  document.body.replaceChildren();
  root = document.createElement('div');
  document.body.append(root);
  view = new MarkdownView(root, handlers);
});

const REPLY = [
  '# Title',
  '',
  'Some **bold** and `code` and [a link](src/a.py#L3).',
  '',
  '```python',
  'def f(x):',
  '    return "text"  # comment',
  '```',
  '',
  '| a | b |',
  '|---|--:|',
  '| 1 | 2 |',
  '',
  '3. three',
  '4. four',
  '   - nested',
  '',
  '> quoted',
].join('\n');

describe('rendering', () => {
  it('makes the elements of the usual Markdown', () => {
    view.update(REPLY, true);
    expect(root.querySelector('h3')?.textContent).toBe('Title');
    expect(root.querySelector('strong')?.textContent).toBe('bold');
    expect(root.querySelector('p a')?.getAttribute('href')).toBe('src/a.py#L3');
    expect(root.querySelector('pre code')?.textContent).toBe(
      'def f(x):\n    return "text"  # comment',
    );
    expect(root.querySelector('pre .hljs-string')?.textContent).toBe('"text"');
    expect(root.querySelector('ol')?.getAttribute('start')).toBe('3');
    expect(root.querySelector('ol ul li')?.textContent).toContain('nested');
    expect(root.querySelector('td:last-child')?.getAttribute('data-align')).toBe('right');
    expect(root.querySelector('blockquote')?.textContent).toContain('quoted');
  });

  it('ends in the same tree whether it came at once or letter by letter', () => {
    for (let length = 1; length < REPLY.length; length++)
      view.update(REPLY.slice(0, length), false);
    view.update(REPLY, true);
    const streamed = root.innerHTML;
    const once = document.createElement('div');
    new MarkdownView(once, handlers).update(REPLY, true);
    expect(streamed).toBe(once.innerHTML);
  });

  it('keeps elements, text nodes and so the selection while text is added', () => {
    view.update('First paragraph.\n\nSecond one', false);
    const [first, second] = root.querySelectorAll('p');
    const text = second?.firstChild as Text;
    const range = document.createRange();
    range.setStart(text, 0);
    range.setEnd(text, 6);
    view.update('First paragraph.\n\nSecond one goes on.\n\n```js\nlet', false);
    expect(root.querySelectorAll('p')[0]).toBe(first);
    expect(second?.firstChild).toBe(text);
    expect(range.toString()).toBe('Second');
    const pre = root.querySelector('pre');
    view.update('First paragraph.\n\nSecond one goes on.\n\n```js\nlet x = 1;\nlet y', false);
    expect(root.querySelector('pre')).toBe(pre);
    expect(pre?.textContent).toBe('let x = 1;\nlet y');
  });

  it('does not make blocks anew that have not changed', () => {
    const before = parse('One.\n\nTwo', []);
    const after = parse('One.\n\nTwo and more', before);
    expect(after[0]?.tree).toBe(before[0]?.tree);
    expect(after[1]?.tree).not.toBe(before[1]?.tree);
  });

  it('resolves references that come later when the reply is complete', () => {
    view.update('See [the page][1].\n\nMore.', false);
    expect(root.querySelector('a')).toBeNull();
    view.update('See [the page][1].\n\nMore.\n\n[1]: https://example.org/', true);
    expect(root.querySelector('a')?.getAttribute('href')).toBe('https://example.org/');
  });

  it('does not take a file name for a host', () => {
    view.update('Look at main.py and lib.rs, or https://example.org.', true);
    expect([...root.querySelectorAll('a')].map((a) => a.getAttribute('href'))).toEqual([
      'https://example.org',
    ]);
  });

  it('survives very long and very deep replies', () => {
    expect(() =>
      view.update(`${'> '.repeat(500)}deep\n\n${'[a'.repeat(2_000)}`, true),
    ).not.toThrow();
    const code = `\`\`\`python\n${'x = "y"\n'.repeat(10_000)}\`\`\``;
    view.update(code, true);
    expect(root.querySelector('pre')?.textContent?.length).toBe(8 * 10_000 - 1);
  });
});

describe('untrusted text', () => {
  const ATTACKS = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<iframe src="https://evil.example"></iframe>',
    '<a href="javascript:alert(1)">x</a>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](java&#x0A;script:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '[x](vbscript:x)',
    '[x](command:workbench.action.quit)',
    '[x](<vscode://a.b/c>)',
    '<javascript:alert(1)>',
    '![x](https://evil.example/pixel.png?secret)',
    '![x](javascript:alert(1))',
    '[x]: javascript:alert(1)\n\n[x]',
    '```"><script>alert(1)</script>\ncode\n```',
    '```js" onmouseover="alert(1)\ncode\n```',
    '<svg onload=alert(1)>',
    '<style>*{display:none}</style>',
    '<base href="https://evil.example">',
    '<meta http-equiv="refresh" content="0">',
    '**<b onclick=alert(1)>x</b>**',
    '| <script>a</script> |\n|---|\n| <img src=x onerror=a> |',
  ];
  const TAGS = new Set(
    'p h3 h4 h5 h6 ul ol li blockquote hr br table thead tbody tr th td strong em s code pre a div span button'.split(
      ' ',
    ),
  );
  const ATTRIBUTES = new Set(
    'class href title start tabindex role aria-label aria-hidden data-align data-action type'.split(
      ' ',
    ),
  );

  it.each(ATTACKS)('becomes text or a harmless link: %s', (attack) => {
    for (const final of [false, true]) view.update(`before ${attack}\n\n${attack}\n\nafter`, final);
    for (const element of root.querySelectorAll('*')) {
      expect(TAGS).toContain(element.localName);
      for (const name of element.getAttributeNames()) expect(ATTRIBUTES).toContain(name);
      const href = element.getAttribute('href');
      if (href !== null) expect(href).toMatch(/^https?:/);
    }
  });

  it('is never loaded: pictures become links', () => {
    view.update('![a chart](https://evil.example/p.png)', true);
    expect(root.querySelector('img')).toBeNull();
    expect(root.querySelector('a')?.textContent).toBe('a chart');
  });

  it('cannot bring in buttons of its own', () => {
    view.update('<button data-action="insert">x</button>', true);
    root.querySelector<HTMLElement>('p')?.click();
    expect(handlers.insert).not.toHaveBeenCalled();
  });
});

describe('what can be done with a reply', () => {
  it('copies and inserts code as it was written', () => {
    view.update('```js\nif (a < b) { }\n\n  x()\n```', true);
    root.querySelector<HTMLElement>('[data-action=copy]')?.click();
    root.querySelector<HTMLElement>('[data-action=insert]')?.click();
    expect(handlers.copy).toHaveBeenCalledWith('if (a < b) { }\n\n  x()');
    expect(handlers.insert).toHaveBeenCalledWith('if (a < b) { }\n\n  x()');
  });

  it('hands links to the host and lets nothing else open them', () => {
    view.update('[x](https://example.org/a)', true);
    const outer = vi.fn();
    document.addEventListener('click', outer, { once: true });
    const click = new MouseEvent('click', { bubbles: true, cancelable: true });
    root.querySelector('a')?.dispatchEvent(click);
    expect(handlers.open).toHaveBeenCalledWith('https://example.org/a');
    expect(click.defaultPrevented).toBe(true);
    expect(outer).not.toHaveBeenCalled();
  });
});
