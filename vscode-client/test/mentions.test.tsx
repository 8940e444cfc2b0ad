// @vitest-environment jsdom
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { plainOutput, tail } from '../src/extension/mentions/terminalText';
import { appended, without, written } from '../src/shared/mentions';
import { parseToHost, type ToHost, type ToWebview } from '../src/shared/messages';
import { commandAt, isCommand, matching } from '../src/shared/slash';
import { App } from '../src/webview/components/app';
import { Store } from '../src/webview/store';
import { file, message, state } from './fake/state';

vi.stubGlobal(
  'ResizeObserver',
  class {
    observe(): void {}
    disconnect(): void {}
  },
);
Element.prototype.scrollIntoView = () => {};

const chip = (text: string, changes = {}) => ({
  text,
  kind: 'file',
  label: text.slice(1),
  detail: '',
  tokens: 1_200,
  state: 'ok' as const,
  ...changes,
});

let root: HTMLElement;
let sent: ToHost[];
let receive: (message: ToWebview) => void;
let store: Store;

let saved: unknown;

function open(draft = '', agreed: string[] = []): void {
  document.body.replaceChildren();
  root = document.body.appendChild(document.createElement('div'));
  sent = [];
  let listen: (message: ToWebview) => void = () => {};
  const draw = (): void => {
    if (store !== undefined) act(() => render(<App view={store.view} store={store} />, root));
  };
  store = new Store((listener) => {
    listen = listener;
    return {
      post: (one) => {
        expect(parseToHost(one)).toEqual(one);
        sent.push(one);
      },
      load: () => ({ draft, images: [], agreed }),
      save: (value) => {
        saved = value;
      },
    };
  }, draw);
  receive = (message) => act(() => listen(message));
  receive({ type: 'connection', connection: { kind: 'ready', text: '', advice: '' } });
  receive({ type: 'state', state: state() });
}

const input = (): HTMLTextAreaElement =>
  root.querySelector('[data-testid=chat-input]') as HTMLTextAreaElement;
const chips = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>('.mention-chip')];
const click = (selector: string): void => {
  act(() => (root.querySelector(selector) as HTMLElement).click());
};
const last = <T extends ToHost['type']>(type: T): Extract<ToHost, { type: T }> =>
  sent.findLast((one) => one.type === type) as Extract<ToHost, { type: T }>;

function type(text: string): void {
  act(() => {
    input().value = text;
    input().setSelectionRange(text.length, text.length);
    input().dispatchEvent(new Event('input', { bubbles: true }));
  });
}

function press(key: string): void {
  act(() => {
    input().dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  });
}

beforeEach(() => open());

describe('the chips of what is mentioned', () => {
  it('stand above the input with their size, and take the mention out of the text', () => {
    type('see @src/a.py and @docs/ please');
    expect(last('mentions').text).toBe('see @src/a.py and @docs/ please');
    const mentions = [chip('@src/a.py'), chip('@docs/', { kind: 'folder', tokens: null })];
    receive({ type: 'mentioned', mentions, given: [] });
    expect(chips().map((one) => one.textContent)).toEqual(['src/a.py1.2k', 'docs/']);
    click('.mention-chip .icon-button');
    expect(input().value).toBe('see and @docs/ please');
    expect(chips().map((one) => one.dataset.kind)).toEqual(['folder']);
    click('.mention-chip .chip-name');
    expect(last('openMention')).toMatchObject({ kind: 'folder', text: '@docs/' });
  });

  it('are asked for again only when the mentions are others', () => {
    type('see @a.py ');
    const asked = sent.filter((one) => one.type === 'mentions').length;
    type('see @a.py now');
    expect(sent.filter((one) => one.type === 'mentions')).toHaveLength(asked);
    type('nothing');
    expect(last('mentions').text).toBe('');
  });

  it('are not shown for what is being typed, and say what is unknown', () => {
    type('see @nowhere');
    const mentions = [chip('@nowhere', { state: 'unknown', detail: 'Nothing is called so.' })];
    receive({ type: 'mentioned', mentions, given: [] });
    expect(chips()).toEqual([]);
    type('see @nowhere now');
    expect(chips()[0]?.dataset.state).toBe('unknown');
    expect(chips()[0]?.querySelector('button')?.title).toContain('Nothing is called so.');
  });

  it('come back with a draft that was kept', () => {
    open('look at @a.py');
    expect(last('mentions').text).toBe('look at @a.py');
  });

  it('show what was taken from the editor, each to be taken off again', () => {
    const given = [chip('', { kind: 'terminal', label: 'bash', tokens: 40 })];
    receive({ type: 'mentioned', mentions: [], given });
    expect(chips()[0]?.textContent).toBe('bash40');
    click('.mention-chip .icon-button');
    expect(last('capture')).toEqual({ type: 'capture', verb: 'drop', index: 0 });
  });

  it('count as agreed to where the size was in view when they were chosen', () => {
    type('@do');
    const items = [{ path: '@docs/', kind: 'folder', label: 'docs/', detail: '', tokens: 900 }];
    receive({ type: 'completions', ticket: last('complete').ticket, items });
    press('Enter');
    type(`${input().value}and @other/`);
    act(() => store.send());
    expect(last('send')).toMatchObject({ text: '@docs/ and @other/', agreed: ['@docs/'] });
  });

  it('stay agreed to when the view was thrown away meanwhile', () => {
    receive({ type: 'mention', text: '@docs/' });
    expect(saved).toMatchObject({ draft: '@docs/ ', agreed: ['@docs/'] });
    open('@docs/ ', ['@docs/']);
    act(() => store.send());
    expect(last('send')).toMatchObject({ agreed: ['@docs/'] });
  });

  it('come from the explorer and from a drop into the draft, once', () => {
    type('Explain');
    receive({ type: 'mention', text: '@src/a.py' });
    receive({ type: 'mention', text: '@src/a.py' });
    expect(input().value).toBe('Explain @src/a.py ');
  });
});

describe('a folder in the context', () => {
  it('is one entry with its size, and is taken out as one', () => {
    const inside = { folder: 'docs/', tokens: 600 };
    receive({
      type: 'state',
      state: state({
        files: [file('a.py'), file('docs/a.md', inside), file('docs/b.md', inside)],
      }),
    });
    const folder = root.querySelector<HTMLElement>('[data-testid=folder-chip]');
    expect(folder?.textContent).toBe('docs/1.2k');
    expect(root.querySelectorAll('[data-testid=file-chip]')).toHaveLength(1);
    click('[data-testid=folder-chip] .icon-button');
    expect(last('file')).toEqual({ type: 'file', verb: 'remove', path: 'docs/' });
  });
});

describe('the list', () => {
  const items = [
    { path: '@symbol:', kind: 'symbol', label: 'symbol:', detail: 'a class', expands: true },
    { path: '@a.py', kind: 'file', label: 'a.py', detail: 'src', tokens: 1_500 },
  ];

  it('says its kinds and sizes, and how many there are', () => {
    type('@');
    receive({ type: 'completions', ticket: last('complete').ticket, items });
    const options = [...root.querySelectorAll('[role=option]')];
    expect(options.map((one) => one.getAttribute('data-kind'))).toEqual(['symbol', 'file']);
    expect(options[1]?.textContent).toBe('File a.pysrc1.5k');
    expect(root.querySelector('.input-frame [role=status]')?.textContent).toMatch(/^2 entries/);
  });

  it('goes on where more has to be typed', () => {
    type('@sym');
    receive({ type: 'completions', ticket: last('complete').ticket, items });
    press('Enter');
    expect(input().value).toBe('@symbol:');
    expect(last('complete').query).toBe('symbol:');
    receive({
      type: 'completions',
      ticket: last('complete').ticket,
      items: [{ path: '@symbol:run', kind: 'symbol', label: 'run', detail: 'a.py:3' }],
    });
    press('Tab');
    expect(input().value).toBe('@symbol:run ');
  });

  it('keeps nothing that no longer fits while the server is asked', () => {
    type('@');
    receive({ type: 'completions', ticket: last('complete').ticket, items });
    type('@a.');
    const options = [...root.querySelectorAll('[role=option]')];
    expect(options.map((one) => one.getAttribute('data-kind'))).toEqual(['file']);
    type('@a.x');
    expect(root.querySelector('[role=listbox]')).toBeNull();
  });

  it('says of commands what they do, below their words', () => {
    type('/con');
    const commands = [{ path: '/context window <N>', detail: 'Send only the last N turns.' }];
    receive({ type: 'completions', ticket: last('complete').ticket, items: commands });
    const row = root.querySelector('[role=option]');
    expect(row?.querySelector('.mention-argument')?.textContent).toBe(' <N>');
    expect(row?.querySelector('.mention-detail')?.textContent).toBe('Send only the last N turns.');
  });
});

describe('a prompt from elsewhere in the editor', () => {
  it('is sent at once and keeps what was typed', () => {
    type('half a thought');
    receive({ type: 'ask', text: 'Explain this.', send: true });
    expect(last('send').text).toBe('Explain this.');
    expect(input().value).toBe('half a thought');
  });

  it('or stands in the input to be finished', () => {
    receive({ type: 'ask', text: '@git:changes ', send: false });
    expect(input().value).toBe('@git:changes ');
    expect(sent.some((one) => one.type === 'send')).toBe(false);
  });
});

describe('a pasted path', () => {
  it('becomes a mention where the host knows the file', () => {
    type('see src/a.py');
    receive({ type: 'located', text: 'src/a.py', mention: '@src/a.py' });
    expect(input().value).toBe('see @src/a.py ');
    receive({ type: 'located', text: 'src/a.py', mention: '@src/a.py' });
    expect(input().value, 'not twice').toBe('see @src/a.py ');
  });
});

describe('mentions in a text', () => {
  it.each([
    ['a @x b @"c d" @x', ['@x', '@"c d"']],
    ['nothing', []],
  ])('of %j', (text, found) => {
    expect(written(text)).toEqual(found);
  });

  it.each([
    ['see @a.py now', '@a.py', 'see now'],
    ['@a.py', '@a.py', ''],
    ['(@a.py)', '@a.py', '()'],
    ['@src/ @src/a.py', '@src/', '@src/a.py'],
    ['see @"a b" x', '@"a b"', 'see x'],
  ])('of %j without %j', (text, mention, left) => {
    expect(without(text, mention)).toBe(left);
  });

  it('are added behind a blank', () => {
    expect(appended('', '@a')).toBe('@a ');
    expect(appended('see', '@a')).toBe('see @a ');
    expect(appended('see @a now', '@a')).toBe('see @a now');
  });
});

describe('terminal output', () => {
  it('is told without colours, titles and what was written over', () => {
    const raw = '\u001b]0;title\u0007\u001b[31mred\u001b[0m\r\n 10 %\r 99 %\r100 %\r\ndone\u0007';
    expect(plainOutput(raw)).toBe('red\n100 %\ndone');
  });

  it('is cut at the beginning of a line', () => {
    expect(tail('one\ntwo\nthree', 9)).toBe('three');
    expect(tail('short', 9)).toBe('short');
  });
});

describe('the commands', () => {
  const commands = [
    { usage: '/undo', doc: 'Take back the last turn.' },
    { usage: '/context undo', doc: 'Nothing.' },
    { usage: '/cost', doc: 'Show what this conversation has cost.' },
    { usage: '/clear', doc: 'Begin a new session.' },
  ];
  const found = (query: string): string[] => matching(query, commands).map(({ usage }) => usage);

  it('may have names of the user’s own files', () => {
    expect(['/fix-issue 12', '/prüfe', '/front.end:all'].map(isCommand)).toEqual([
      true,
      true,
      true,
    ]);
    expect(['/etc/hosts', '//', '/ x', ' /x'].some(isCommand)).toBe(false);
    expect(commandAt('/fix-is', 7)).toBe('fix-is');
    expect(commandAt('/', 1)).toBe('');
    expect(commandAt('/etc/ho', 7)).toBeNull();
  });

  it('are found by their beginning, by a word of theirs, and by what they do', () => {
    expect(found('')).toHaveLength(4);
    expect(found('undo')).toEqual(['/undo', '/context undo']);
    expect(found('session')).toEqual(['/clear']);
    expect(found('co')).toEqual(['/context undo', '/cost']);
  });
});

describe('what went along with a prompt', () => {
  const entry = (kind: string, label: string) => ({
    key: `${kind}:${label}`,
    kind,
    label,
    tokens: 120,
  });
  const attachment = {
    kind: 'file' as const,
    label: 'src/a.py',
    path: 'src/a.py',
    uri: 'file:///ws/src/a.py',
    firstLine: 0,
    lastLine: 0,
    text: '',
  };
  const sentChips = (): HTMLElement[] => [
    ...root.querySelectorAll<HTMLElement>('[data-testid=sent-chip]'),
  ];
  const listed = (): (string | null)[] =>
    [...root.querySelectorAll('.sent-name')].map((one) => one.textContent);

  beforeEach(() => {
    const asked = message('m1', {
      role: 'user',
      groupId: 'g1',
      attached: [attachment],
      sent: [
        { kind: 'instructions', count: 1, label: 'AGENTS.md' },
        { kind: 'file', count: 1, label: 'src/b.py' },
        { kind: 'card', count: 2, label: '' },
      ],
    });
    receive({ type: 'state', state: state({ messages: [asked] }) });
  });

  it('is one chip of each kind, and a single one is opened as it was sent', async () => {
    expect(sentChips().map((one) => one.textContent)).toEqual([
      'AGENTS.md',
      'src/b.py',
      '2 pieces of code',
    ]);
    await act(async () => {
      sentChips()[1]?.click();
      expect(last('sentList').turnId).toBe('g1');
      const entries = [entry('file', 'src/a.py'), entry('file', 'src/b.py')];
      receive({ type: 'sentList', turnId: 'g1', entries });
    });
    expect(last('openSent')).toMatchObject({ turnId: 'g1', key: 'file:src/b.py' });
    expect(listed()).toEqual([]);
  });

  it('unfolds into a list where there are several, and folds again', async () => {
    const many = sentChips()[2] as HTMLElement;
    expect(many.getAttribute('aria-expanded')).toBe('false');
    await act(async () => {
      many.click();
      const entries = [entry('card', 'a.py#f'), entry('file', 'src/b.py'), entry('card', 'b.py#g')];
      receive({ type: 'sentList', turnId: 'g1', entries });
    });
    expect(many.getAttribute('aria-expanded')).toBe('true');
    expect(document.getElementById(many.getAttribute('aria-controls') ?? '')).not.toBeNull();
    expect(listed()).toEqual(['a.py#f', 'b.py#g']);
    click('.sent-list li:last-child button');
    expect(last('openSent').key).toBe('card:b.py#g');
    await act(async () => many.click());
    expect(listed()).toEqual([]);
  });

  it('stays folded where the request is no longer kept', async () => {
    await act(async () => {
      sentChips()[2]?.click();
      receive({ type: 'sentList', turnId: 'g1', entries: [] });
    });
    expect(sentChips()[2]?.getAttribute('aria-expanded')).toBe('false');
  });
});
