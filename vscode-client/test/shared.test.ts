import { describe, expect, it } from 'vitest';
import { exact, level, percent, rows, summary, tokens } from '../src/shared/budget';
import { rank } from '../src/shared/fuzzy';
import { labels } from '../src/shared/labels';
import { parseLink } from '../src/shared/links';
import { parseEvent, parseState, parseToHost, parseToWebview } from '../src/shared/messages';
import { firstWords } from '../src/shared/words';
import { budget, state } from './fake/state';

describe('figures', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1_000, '1k'],
    [12_400, '12.4k'],
    [99_949, '99.9k'],
    [99_999, '100k'],
    [200_000, '200k'],
    [999_499, '999k'],
    [999_999, '1M'],
    [1_250_000, '1.25M'],
    [Number.NaN, '0'],
    [-1, '0'],
  ])('%d tokens read as %s', (count, text) => {
    expect(tokens(count)).toBe(text);
  });

  it('never rounds something to nothing or nearly all to all', () => {
    expect([0, 0.2, 1, 74.6, 99.6, 100].map(percent)).toEqual([
      '0 %',
      '<1 %',
      '1 %',
      '75 %',
      '99 %',
      '100 %',
    ]);
  });

  it('warns from 75 and alarms from 90 percent', () => {
    expect([74.9, 75, 89.9, 90].map(level)).toEqual(['normal', 'warning', 'warning', 'error']);
  });

  it('lists sections that add up to what is used', () => {
    const made = budget();
    expect(rows(made).reduce((sum, row) => sum + row.tokens, 0)).toBe(made.used);
    expect(rows(made).map((row) => row.share)).toEqual([10, 20]);
    expect(summary(budget({ used: 12_400, maxInputTokens: 200_000 }))).toBe('12.4k / 200k');
    expect(exact(1_234_567)).toBe('1,234,567');
  });

  it('names items in words, and leaves what it does not know', () => {
    const detail =
      'system:head 71, history:m1 1,170, symbols:src/ 5, symbols:./ 6, my:key 3 and 4 more';
    const sections = [
      { name: 'history', tokens: 100, detail },
      { name: 'tools', tokens: 200, detail: 'tools 200' },
    ];
    const words = (id: string): string => (id === 'm1' ? 'What is' : '');
    expect(rows(budget({ sections }), words).map((row) => row.detail)).toEqual([
      'instructions 71, “What is” 1,170, map of src/ 5, map of the top folder 6, my:key 3, 4 more',
      '',
    ]);
  });

  it('does not divide by an unknown window', () => {
    expect(rows(budget({ maxInputTokens: 0 })).map((row) => row.share)).toEqual([0, 0]);
  });
});

describe('links', () => {
  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'java\tscript:alert(1)',
    ' \u0001javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:msgbox(1)',
    'command:workbench.action.terminal.new',
    'vscode://file/etc/passwd',
    'vscode-webview://x',
    'file://attacker/share/x',
    '\\\\attacker\\share\\x',
    '//attacker/x',
    'blob:https://x/1',
    '#top',
    '',
  ])('refuses %j', (href) => {
    expect(parseLink(href)).toBeNull();
  });

  it('opens web and mail addresses', () => {
    expect(parseLink('https://example.org/a?b#c')).toEqual({
      kind: 'external',
      url: 'https://example.org/a?b#c',
    });
    expect(parseLink('mailto:a@b.c')).toMatchObject({ kind: 'external' });
  });

  it.each([
    ['src/a.py', 'src/a.py', null, null],
    ['src/a.py#L12', 'src/a.py', 12, null],
    ['src/a.py#L12-L20', 'src/a.py', 12, null],
    ['src/a.py:7', 'src/a.py', 7, null],
    ['src/a.py:7:3', 'src/a.py', 7, 3],
    ['a%20b.py', 'a b.py', null, null],
    ['a%zz.py', 'a%zz.py', null, null],
    ['C:\\x\\a.py:3', 'C:\\x\\a.py', 3, null],
    ['file:///ws/a.py#L3', '/ws/a.py', 3, null],
    ['calc.py:3', 'calc.py', 3, null],
  ])('reads %s as a place in a file', (href, path, line, column) => {
    expect(parseLink(href)).toEqual({ kind: 'file', path, line, column });
  });
});

describe('messages between webview and host', () => {
  it('takes those that have the right shape', () => {
    const send = {
      type: 'send',
      ticket: 1,
      text: 'hi',
      images: [{ mediaType: 'image/png', data: 'AAAA' }],
      agreed: ['@docs/'],
      steer: false,
      editing: '',
    };
    expect(parseToHost(send)).toEqual(send);
    expect(parseToHost({ type: 'file', verb: 'pin', path: 'a.py' })).not.toBeNull();
  });

  it.each([
    null,
    'send',
    {},
    { type: 'run', command: 'x' },
    { type: 'send', ticket: 1, text: 5, images: [] },
    { type: 'send', ticket: -1, text: '', images: [] },
    { type: 'send', ticket: 1, text: 'x', images: [{ mediaType: 'image/svg+xml', data: 'AAAA' }] },
    { type: 'send', ticket: 1, text: 'x', images: [{ mediaType: 'image/png', data: '<svg>' }] },
    { type: 'file', verb: 'delete', path: 'a' },
    { type: 'openLink', href: 'x'.repeat(5_000) },
    { type: 'ready', extra: 1 },
    { type: 'executeCommand', command: 'workbench.action.quit' },
  ])('drops %j', (value) => {
    expect(parseToHost(value)).toBeNull();
  });

  it('checks what the host and the server say', () => {
    expect(parseToWebview({ type: 'state', state: state() })).not.toBeNull();
    expect(parseToWebview({ type: 'state', state: { seq: 'x' } })).toBeNull();
    expect(parseToWebview({ type: 'eval', code: '1' })).toBeNull();
    expect(
      parseEvent({ seq: 1, sessionId: 's', body: { kind: 'future', more: 1 } }),
    ).not.toBeNull();
    expect(parseEvent({ seq: '1', sessionId: 's', body: { kind: 'x' } })).toBeNull();
    expect(parseState({ ...state(), messages: 5 })).toBeNull();
    expect(parseState(state())).toEqual(state());
  });
});

describe('finding files for a mention', () => {
  const paths = ['src/app/budget.ts', 'test/budget.test.ts', 'src/big_data/get.py', 'README.md'];

  it('prefers the start of a name, then names, then folders, then letters in order', () => {
    expect(rank('budget', paths, 10)[0]).toBe('src/app/budget.ts');
    expect(rank('bdg', paths, 10)).toContain('src/big_data/get.py');
    expect(rank('app', paths, 1)).toEqual(['src/app/budget.ts']);
    expect(rank('zzz', paths, 10)).toEqual([]);
    expect(rank('', paths, 2)).toEqual(paths.slice(0, 2));
  });
});

describe('labels of files', () => {
  const of = (paths: string[], roots: string[] = []): string[] => [
    ...labels(paths, roots).values(),
  ];

  it('are names, with folders where names are alike', () => {
    expect(of(['a.py', 'src/b.py'])).toEqual(['a.py', 'b.py']);
    expect(of(['a/x.py', 'b/x.py', 'y.py'])).toEqual(['a/x.py', 'b/x.py', 'y.py']);
    expect(of(['a/c/x.py', 'b/c/x.py', 'x.py'])).toEqual(['a/c/x.py', 'b/c/x.py', 'x.py']);
    expect(of(['ax.py', 'x.py'])).toEqual(['ax.py', 'x.py']);
  });

  it('name the folder of the workspace that a file is in, if it is not the first', () => {
    expect(of(['src/a.py', 'lib/b.py', 'lib/src/deep/c.py'], ['lib'])).toEqual([
      'a.py',
      'lib/b.py',
      'lib/…/c.py',
    ]);
    expect(of(['lib/src/c.py', 'src/c.py'], ['lib'])).toEqual(['lib/src/c.py', 'src/c.py']);
    expect(of(['lib'], ['lib'])).toEqual(['lib']);
  });
});

describe('first words', () => {
  it.each([
    ['## Two functions\n\n`fahrenheit` **multiplies**', 'Two functions fahrenheit multiplies'],
    ['See [convert.py](convert.py):\n\n```python\nx = 1\n```', 'See convert.py: x = 1'],
    ['- one\n- two\n> three', 'one two three'],
    ['what does __init__.py do, #2?', 'what does __init__.py do, #2?'],
    ['  ', ''],
  ])('of %j', (text, words) => {
    expect(firstWords(text, 60)).toBe(words);
  });

  it('are cut with a mark', () => {
    expect(firstWords('a word '.repeat(20), 9)).toBe('a word a…');
    expect(firstWords('123456789', 9)).toBe('123456789');
  });
});
