// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { candidates, hrefOf, MAX_PATHS } from '../src/shared/paths';
import { KnownPaths } from '../src/webview/markdown/paths';
import { MarkdownView, parse } from '../src/webview/markdown/view';

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

// jsdom has no layout.
Element.prototype.scrollIntoView = () => {};

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
    'class href title start tabindex role aria-label aria-hidden data-align data-action type dir data-language data-path'.split(
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

describe('what replies are made of besides', () => {
  it('draws task lists, footnotes and formulas without any HTML', () => {
    const text = [
      '- [x] done',
      '- [ ] open',
      '',
      'It is so[^1], and $a^2$ costs $5 and $6.',
      '',
      '$$',
      'x = 1',
      '$$',
      '',
      '[^1]: Because.',
    ].join('\n');
    view.update(text, true);
    const tasks = [...root.querySelectorAll('.tasks .task')];
    expect(tasks.map((task) => task.getAttribute('aria-label'))).toEqual(['Done', 'Not done']);
    expect(root.querySelector('sup a')?.textContent).toBe('1');
    expect(root.querySelector('.footnotes li')?.textContent).toBe('Because. ↩');
    const formulas = [...root.querySelectorAll('.math')];
    expect(formulas.map((one) => one.getAttribute('data-source'))).toEqual(['a^2', 'x = 1']);
    expect(root.textContent).toContain('costs $5 and $6.');
    (root.querySelector('sup a') as HTMLElement).click();
    expect(handlers.open).not.toHaveBeenCalled();
  });

  it('keeps what was drawn while the text around it grows', () => {
    view.update('So $a$ is', false);
    const formula = root.querySelector('.math');
    (formula as Element).textContent = 'drawn';
    view.update('So $a$ is small, `b` too.', false);
    expect(root.querySelector('.math')).toBe(formula);
    expect(formula?.textContent).toBe('drawn');
    view.update('So $b$ is', true);
    expect(root.querySelector('.math')?.textContent).toBe('b');
  });

  it('takes a diagram for one when the reply is complete', () => {
    const text = '```mermaid\ngraph TD\n  a --> b\n```';
    view.update(text, false);
    expect(root.querySelector('.diagram')).toBeNull();
    view.update(text, true);
    expect(root.querySelector('.diagram pre')?.textContent).toBe('graph TD\n  a --> b');
  });

  it('follows the direction of the text, but not in code', () => {
    view.update('שלום עולם\n\n- `x = 1`', true);
    expect([...root.querySelectorAll('p, li')].map((one) => one.getAttribute('dir'))).toContain(
      'auto',
    );
    expect(root.querySelector('code')?.getAttribute('dir')).toBe('ltr');
  });

  it('shows characters that make code read otherwise, and copies what was written', () => {
    const code = 'if (admin\u202E \u2066// check\u2069) {';
    view.update(`\`\`\`js\n${code}\n\`\`\`\n\nText \u202Eturned.`, true);
    const shown = [...root.querySelectorAll('.control')].map((one) =>
      one.getAttribute('data-code'),
    );
    expect(shown).toEqual(['U+202E', 'U+2066', 'U+2069', 'U+202E']);
    (root.querySelector('[data-action=copy]') as HTMLElement).click();
    expect(handlers.copy).toHaveBeenCalledWith(code);
  });

  it('folds long code, and keeps it open while more comes', () => {
    const code = (lines: number): string => `\`\`\`py\n${'x = 1\n'.repeat(lines)}`;
    view.update(code(20), false);
    expect(root.querySelector('.unfold')).toBeNull();
    view.update(code(40), false);
    (root.querySelector('.unfold') as HTMLElement).click();
    view.update(code(41), false);
    expect(root.querySelector('.code.long')?.hasAttribute('data-open')).toBe(true);
    expect(root.querySelector('.unfold-more')?.textContent).toBe('Show all 41 lines');
  });

  it('offers for code what can be done with it, with the file that it names', () => {
    const code = vi.fn();
    view = new MarkdownView(root, { ...handlers, code });
    view.update(
      '```python src/a.py\nx = 1\n```\n\n```bash\nls\n```\n\n```ts\n// src/b.ts\nlet y;\n```',
      true,
    );
    const actions = [...root.querySelectorAll('.code')].map((block) =>
      [...block.querySelectorAll('[data-action]')].map((one) => one.getAttribute('data-action')),
    );
    expect(actions).toEqual([
      ['copy', 'insert', 'apply', 'new'],
      ['copy', 'insert', 'run'],
      ['copy', 'insert', 'apply', 'new'],
    ]);
    for (const one of root.querySelectorAll('[data-action=apply], [data-action=run]'))
      (one as HTMLElement).click();
    expect(code.mock.calls).toEqual([
      ['apply', 'x = 1', 'src/a.py', 'python'],
      ['run', 'ls', '', 'bash'],
      ['apply', '// src/b.ts\nlet y;', 'src/b.ts', 'ts'],
    ]);
  });
});

describe('words that are files', () => {
  it.each([
    ['see src/a.py.', ['src/a.py']],
    ['src/a.py:12 and b.ts:3:4', ['src/a.py:12', 'b.ts:3:4']],
    ['docs/x.md#L3-L9, (lib/ü.rs)', ['docs/x.md:3', 'lib/ü.rs']],
    ['File "pkg/m.py", line 7, in f', ['pkg/m.py:7']],
    ['src/a.ts(12,5): error TS1, b.cs(3)', ['src/a.ts:12:5', 'b.cs:3']],
    ['./run.sh ../up.c C:\\w\\a.cs /etc/x', ['./run.sh', '../up.c', 'C:\\w\\a.cs', '/etc/x']],
    ['1.2.3, e.g. 3.14 and ...', ['e.g']],
    ['https://example.org/a.py and me@example.org', ['me@example.org']],
  ])('%s', (text, hrefs) => {
    expect(candidates(text).map(hrefOf)).toEqual(hrefs);
  });

  it('become links once the host has said that they exist, in text and in code', async () => {
    vi.useFakeTimers();
    const ask = vi.fn();
    const paths = new KnownPaths(ask);
    view = new MarkdownView(root, { ...handlers, paths });
    view.update(
      '`src/a.py:3`, src/b.py and Makefile; `Makefile`\n\n```\nsrc/a.py:9: error\n```\n\n' +
        '```python\nx = run("src/a.py")  # See src/a.py\n```\n\n```bash\npython src/a.py\n```',
      true,
    );
    expect(root.querySelector('a')).toBeNull();
    vi.advanceTimersByTime(500);
    expect(ask).toHaveBeenCalledTimes(1);
    expect(ask.mock.calls[0]?.[0]).toEqual(['src/a.py', 'src/b.py', 'Makefile']);
    paths.answer(ask.mock.calls[0]?.[0], ['src/a.py', 'Makefile']);
    const links = [...root.querySelectorAll('a')].map((one) => one.getAttribute('href'));
    expect(links).toEqual(['src/a.py:3', 'Makefile', 'src/a.py:9', ...Array(3).fill('src/a.py')]);
    (root.querySelector('a') as HTMLElement).click();
    expect(handlers.open).toHaveBeenCalledWith('src/a.py:3');
    view.dispose();
    vi.useRealTimers();
  });

  it('are all asked about, however many there are', () => {
    vi.useFakeTimers();
    const ask = vi.fn();
    const paths = new KnownPaths(ask);
    for (let number = 0; number < MAX_PATHS + 1; number++) paths.has(`src/${number}.py`);
    vi.advanceTimersByTime(1_000);
    expect(ask.mock.calls.map(([asked]) => asked.length)).toEqual([MAX_PATHS, 1]);
    vi.useRealTimers();
  });
});
