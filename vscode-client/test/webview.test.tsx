// @vitest-environment jsdom
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { EditInfo, EventBody, State } from '../src/protocol';
import { complete as completeMention, mentionAt } from '../src/shared/mentions';
import { parseToHost, type ToHost, type ToWebview } from '../src/shared/messages';
import { complete, plain } from '../src/webview/announcer';
import { attach, droppedUris, splitDataUri } from '../src/webview/attachments';
import { App } from '../src/webview/components/app';
import type { Saved } from '../src/webview/host';
import { Store } from '../src/webview/store';
import {
  budget,
  call,
  delta,
  edit,
  event,
  file,
  finished,
  message,
  started,
  state,
  took,
} from './fake/state';

class Observer {
  observe(): void {}
  disconnect(): void {}
}
vi.stubGlobal('ResizeObserver', Observer);

// jsdom has no layout.
Element.prototype.scrollIntoView = () => {};

/** The chat in a document, with a host that only listens. */
class Page {
  readonly sent: ToHost[] = [];
  readonly root = document.createElement('div');
  saved: unknown = null;
  private listen: (message: ToWebview) => void = () => {};
  private seq = 10;
  readonly store: Store;

  constructor(saved: Saved = { draft: '', images: [] }) {
    document.body.append(this.root);
    this.store = new Store(
      (listen) => {
        this.listen = listen;
        return {
          post: (one) => {
            // What the host would refuse must not be sent.
            expect(parseToHost(one)).toEqual(one);
            this.sent.push(one);
          },
          load: () => saved,
          save: (value) => {
            this.saved = value;
          },
        };
      },
      () => this.draw(),
    );
    this.draw();
  }

  receive(one: ToWebview): void {
    act(() => this.listen(one));
  }

  ready(changes: Partial<State> = {}): void {
    this.receive({ type: 'connection', connection: { kind: 'ready', text: '', advice: '' } });
    this.receive({ type: 'state', state: state({ seq: this.seq, ...changes }) });
  }

  emit(...bodies: EventBody[]): void {
    for (const body of bodies) this.receive({ type: 'event', event: event(++this.seq, body) });
  }

  get(selector: string): HTMLElement {
    const found = this.root.querySelector<HTMLElement>(selector);
    if (found === null) throw new Error(`no ${selector} in ${this.root.innerHTML}`);
    return found;
  }

  has(selector: string): boolean {
    return this.root.querySelector(selector) !== null;
  }

  get input(): HTMLTextAreaElement {
    return this.get('[data-testid=chat-input]') as HTMLTextAreaElement;
  }

  type(text: string): void {
    act(() => {
      this.input.value = text;
      this.input.setSelectionRange(text.length, text.length);
      this.input.dispatchEvent(new Event('input', { bubbles: true }));
    });
  }

  press(key: string, init: KeyboardEventInit = {}): void {
    act(() => {
      this.input.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init }),
      );
    });
  }

  click(selector: string): void {
    act(() => this.get(selector).click());
  }

  last<T extends ToHost['type']>(type: T): Extract<ToHost, { type: T }> {
    const found = this.sent.findLast((one) => one.type === type);
    if (found === undefined) throw new Error(`no ${type} was sent`);
    return found as Extract<ToHost, { type: T }>;
  }

  private draw(): void {
    if (this.store !== undefined) {
      act(() => render(<App view={this.store.view} store={this.store} />, this.root));
    }
  }
}

let page: Page;
beforeEach(() => {
  document.body.replaceChildren();
  page = new Page();
});

describe('the place of the workspace', () => {
  it('is explained while it is not trusted, with a way to change that', () => {
    page.ready();
    expect(page.has('[data-testid=place]')).toBe(false);
    page.receive({ type: 'place', place: { trusted: false, virtual: false, roots: [] } });
    expect(page.get('[data-testid=place]').textContent).toContain('Restricted mode');
    page.click('[data-testid=place] button');
    expect(page.last('manageTrust')).toEqual({ type: 'manageTrust' });
    page.receive({ type: 'place', place: { trusted: true, virtual: true, roots: [] } });
    const text = page.get('[data-testid=place]').textContent;
    expect(text).toContain('on no disk');
    expect(text).not.toContain('Restricted');
  });
});

describe('a long conversation', () => {
  const many = Array.from({ length: 200 }, (_, n) => message(`m${n}`, { text: `text ${n}` }));
  const shown = (): number => page.root.querySelectorAll('[data-testid=message]').length;

  it('draws its newest messages, and older ones as they come near', () => {
    let near: (entries: { isIntersecting: boolean }[]) => void = () => {};
    vi.stubGlobal(
      'IntersectionObserver',
      class {
        constructor(seen: typeof near) {
          near = seen;
        }
        observe(): void {}
        disconnect(): void {}
      },
    );
    page.ready({ messages: many });
    expect(shown()).toBe(60);
    act(() => near([{ isIntersecting: false }]));
    expect(shown()).toBe(60);
    act(() => near([{ isIntersecting: true }]));
    expect(shown()).toBe(120);
    page.click('.earlier');
    act(() => near([{ isIntersecting: true }]));
    expect(shown()).toBe(200);
    vi.unstubAllGlobals();
    vi.stubGlobal('ResizeObserver', Observer);
  });

  it('comes back to where it was read, as far back as that is', () => {
    vi.stubGlobal('CSS', { escape: (text: string) => text });
    const scroll = { session: state().sessionId, message: 'm20', above: 7 };
    page = new Page({ draft: '', images: [], scroll });
    page.ready({ messages: many });
    expect(shown()).toBe(180);
    expect(page.has('.jump')).toBe(true);
    page.click('.jump');
    page = new Page({ draft: '', images: [], scroll: { ...scroll, session: 'another' } });
    page.ready({ messages: many });
    expect(shown()).toBe(60);
  });
});

describe('the end of a conversation', () => {
  /** jsdom lays nothing out: sizes as a browser would say them. */
  const sized = (height: number, top: number): void => {
    const view = page.get('.transcript');
    Object.defineProperty(view, 'scrollHeight', { configurable: true, value: height });
    Object.defineProperty(view, 'clientHeight', { configurable: true, value: 300 });
    view.scrollTop = top;
    act(() => {
      view.dispatchEvent(new Event('scroll'));
    });
  };

  it('stays in view when it moves away by itself, and not when the user goes up', () => {
    page = new Page();
    page.ready();
    page.emit(started('t1', 'u1'));
    sized(1_000, 700);
    // What came into view is taller than was thought, or the sidebar was made narrow.
    sized(1_500, 700);
    expect(page.get('.transcript').scrollTop).toBe(1_500);
    expect(page.has('.jump')).toBe(false);
    sized(1_500, 900);
    expect(page.has('.jump')).toBe(true);
    sized(1_900, 900);
    expect(page.get('.transcript').scrollTop).toBe(900);
    page.click('.jump');
    expect(page.get('.transcript').scrollTop).toBe(1_900);
  });

  it('is not sought where there is nothing but the greeting', () => {
    page = new Page();
    page.ready();
    sized(900, 200);
    expect(page.get('.transcript').scrollTop).toBe(0);
    expect(page.has('.jump')).toBe(false);
  });
});

describe('a conversation', () => {
  it('teaches in three lines while it is empty', () => {
    page.ready({ provider: { ...state().provider, origin: 'service' } });
    expect(page.root.querySelectorAll('[data-testid=empty] li')).toHaveLength(3);
  });

  it('begins with the ways to a model while only the embedded one could answer', () => {
    page.ready();
    expect(page.last('ways')).toBeDefined();
    page.receive({
      type: 'ways',
      ways: {
        servers: [{ name: 'Ollama', baseUrl: 'http://127.0.0.1:11434/v1', model: 'qwen', more: 2 }],
        editor: ['copilot/gpt'],
        embedded: false,
      },
    });
    const titles = [...page.root.querySelectorAll('.way-title')].map((one) => one.textContent);
    expect(titles).toEqual([
      'Paste an API key',
      'Use Ollama on this machine',
      'Use copilot/gpt of the editor',
      'Try without a key',
    ]);
    expect(page.get('[data-testid=way-embedded]').textContent).toContain('132 MB');
    page.click('[data-testid=way-server]');
    const server = { type: 'way', way: 'server', name: 'http://127.0.0.1:11434/v1' };
    expect(page.last('way')).toEqual(server);
    page.click('[data-testid=way-key]');
    expect(page.last('way')).toEqual({ type: 'way', way: 'key', name: '' });
    page.emit({
      kind: 'providerChanged',
      provider: { ...state().provider, name: 'openai', origin: 'service' },
    });
    expect(page.has('[data-testid=start]')).toBe(false);
  });

  it('finds words in all of it, from the newest upwards, and counts them', () => {
    page.ready({
      messages: [
        message('a', { text: 'tier and Tier' }),
        message('b', { role: 'assistant', text: 'no such word' }),
        message('c', { text: 'one more tier' }),
      ],
    });
    page.click('[data-testid=find-button]');
    const input = page.get('[data-testid=find-input]') as HTMLInputElement;
    act(() => {
      input.value = 'TIER';
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    expect(page.get('[data-testid=find-count]').textContent).toBe('3 of 3');
    act(() => {
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    });
    expect(page.get('[data-testid=find-count]').textContent).toBe('2 of 3');
    act(() => {
      input.value = 'nothing';
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    expect(page.get('[data-testid=find-count]').textContent).toBe('0 of 0');
    act(() => {
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    });
    expect(page.has('[data-testid=find]')).toBe(false);
  });

  it('shows code that the user took out of a reply as an edit under it', () => {
    page.ready({
      messages: [message('u'), message('a', { role: 'assistant', text: '```py\nx = 1\n```' })],
    });
    page.click('[data-action=apply]');
    expect(page.last('code')).toEqual({
      ...{ type: 'code', verb: 'apply', text: 'x = 1', path: '', language: 'py', messageId: 'a' },
    });
    page.emit({ kind: 'editChanged', edit: edit({ messageId: 'a', callId: '' }) });
    expect(page.get('[data-testid=edit]').closest('[data-role=assistant]')).not.toBeNull();
  });

  it('says of each answer of the embedded model whose it is, and leads to better ones', () => {
    page.ready({
      messages: [
        message('u'),
        message('a', { role: 'assistant', text: 'Hm.', embedded: true }),
        message('b', { role: 'assistant', text: 'Well.' }),
      ],
    });
    expect(page.root.querySelectorAll('[data-testid=embedded-line]')).toHaveLength(1);
    page.click('[data-testid=embedded-line] button');
    expect(page.has('[data-testid=way-key]')).toBe(true);
    expect(page.has('[data-testid=message]')).toBe(false);
    page.emit({
      kind: 'providerChanged',
      provider: { ...state().provider, name: 'openai', origin: 'service' },
    });
    expect(page.root.querySelectorAll('[data-testid=message]')).toHaveLength(3);
  });

  it('shows what a reply took, and leads from there to the prompt cache', () => {
    const usage = took({
      inputTokens: 617,
      outputTokens: 170,
      cacheReadTokens: 412,
      cost: 0.0021,
      saved: 0.001,
    });
    page.ready();
    page.emit(started('t1', 'u1'));
    page.emit(
      finished('t1', { message: message('a1', { role: 'assistant', text: 'Done.' }), usage }),
    );
    const line = page.get('[data-testid=usage]');
    expect(line.textContent).toBe('617 in (412 cached) · 170 out · $0.0021');
    page.click('[data-testid=usage]');
    page.last('showCache');
  });

  it('shows the sum of a turn of several requests, and the last one on hover', () => {
    const last = took();
    const usage = took({ inputTokens: 1300, outputTokens: 55, cost: 0.006, requests: 3 });
    page.ready();
    page.emit(started('t1', 'u1'));
    const reply = message('a1', { role: 'assistant', text: 'Done.' });
    page.emit(finished('t1', { message: reply, usage, last }));
    const line = page.get('[data-testid=usage]');
    expect(line.textContent).toBe('3 requests · 1.3k in · 55 out · $0.0060');
    expect(line.title).toContain('The last request alone: 400 in · 5 out · $0.0020.');
  });

  it('shows after a reload what it showed when the reply came', () => {
    const usage = took({ inputTokens: 1300, outputTokens: 55, cost: 0.006, requests: 3 });
    const told = { usage, last: took(), cacheOutcome: 'miss' as const };
    const reply = message('a1', { role: 'assistant', text: 'Done.', ...told });
    page.ready();
    page.emit(started('t1', 'u1'), finished('t1', { message: reply, usage, last: took() }));
    const before = page.get('[data-testid=usage]');
    const seen = [before.textContent, before.title, before.dataset.outcome];
    expect(seen[0]).toBe('3 requests · 1.3k in · 55 out · $0.0060 ·  cache miss');
    expect(seen[2]).toBe('miss');

    const again = new Page();
    again.ready({ messages: [message('u1'), reply] });
    const after = again.get('[data-testid=usage]');
    expect([after.textContent, after.title, after.dataset.outcome]).toEqual(seen);
    again.click('[data-testid=usage]');
    again.last('showCache');
  });

  it('shows no figures where none are known, and those of a turn without a last reply', () => {
    const halted = { status: 'tool_call', usage: took({ inputTokens: 70 }) } as const;
    page.ready({
      messages: [
        message('u1'),
        message('a1', { role: 'assistant' }),
        message('u2', { usage: took({ inputTokens: 60 }) }),
        message('u3'),
        message('a3', { role: 'assistant', status: 'tool_call' }),
        message('a4', { role: 'assistant', ...halted }),
      ],
    });
    const lines = [...page.root.querySelectorAll('[data-testid=usage]')];
    expect(lines.map((line) => line.closest('article')?.dataset.id)).toEqual(['u2', 'a4']);
    expect(lines.map((line) => line.textContent)).toEqual([
      '60 in · 5 out · $0.0020',
      '70 in · 5 out · $0.0020',
    ]);
  });

  it('shows a prompt, its context line and a streaming reply', () => {
    page.ready();
    page.emit(started('t1', 'u1'), delta('t1', 'Hello **you**'));
    expect(page.get('[data-role=user] .prompt-text').textContent).toBe('text of u1');
    expect(page.get('[data-testid=budget-line]').textContent).toBe('1 file');
    page.click('[data-testid=budget-line]');
    expect(page.last('showTurn')).toEqual({ type: 'showTurn', groupId: 'g-u1' });
    expect(page.get('[data-role=assistant]').dataset.status).toBe('streaming');
    expect(page.get('[data-role=assistant] strong').textContent).toBe('you');
    expect(page.has('[data-testid=stop-button]')).toBe(true);
  });

  it('shows why it waits and what the model thinks', () => {
    page.ready();
    page.emit(
      started('t1', 'u1'),
      { kind: 'waiting', turnId: 't1', text: 'Loading the model…', seconds: 2 },
      { kind: 'reasoningDelta', turnId: 't1', text: 'Hm.', wasText: false },
      { kind: 'waiting', turnId: 't1', text: 'Next attempt in 4 s', seconds: 4 },
    );
    expect(page.get('[data-testid=turn-status]').textContent).toBe('Next attempt in 4 s');
    expect(page.get('.reasoning').textContent).toContain('Hm.');
    expect(page.get('.reasoning summary').textContent).toBe('Thinking');
  });

  it('keeps what the model thought, folded to one line, after the reply and a reload', () => {
    const thought = { role: 'assistant', thinking: 'Hm.\n\nWell.' } as const;
    page.ready({ messages: [message('u0'), message('a0', { ...thought, thinkingSeconds: 12.4 })] });
    const details = page.get('[data-testid=thinking]');
    expect(details.hasAttribute('open')).toBe(false);
    expect(details.querySelector('summary')?.textContent).toBe('Thought for 12 s');
    expect(details.textContent).toContain('Well.');
    page.ready({ messages: [message('u0'), message('a1', { ...thought, thinkingSeconds: 0.3 })] });
    expect(page.get('[data-testid=thinking] summary').textContent).toBe('Thought');
  });

  it('offers to try again after a failure, and only on the last message', () => {
    page.ready({
      messages: [message('u0'), message('a0', { role: 'assistant', status: 'interrupted' })],
    });
    page.emit(
      started('t1', 'u1'),
      finished('t1', { outcome: 'error', error: 'It broke.', advice: 'Do this.' }),
    );
    expect(page.root.querySelectorAll('[data-testid=retry]')).toHaveLength(1);
    expect(page.get('[data-status=error] [role=alert]').textContent).toBe('It broke.Do this.');
    expect(page.get('[data-testid=retry]').textContent?.trim()).toBe('Retry');
    page.click('[data-testid=retry]');
    expect(page.last('retry').groupId).toBe('g-u1');
  });

  it('leads to the key where the provider did not accept it', () => {
    const page = new Page();
    page.ready({ messages: [] });
    page.emit(started('t1', 'u1'), finished('t1', { outcome: 'error', error: 'No.' }));
    expect(page.has('[role=alert] button')).toBe(false);
    const refused = { outcome: 'error', error: 'Not accepted.', code: 'auth' } as const;
    page.emit(started('t2', 'u2'), finished('t2', refused));
    page.click('[role=alert] button');
    expect(page.last('setApiKey')).toEqual({ type: 'setApiKey' });
  });

  it('offers to try again when a prompt has no reply after a restart', () => {
    page.ready({ messages: [message('u1')] });
    page.click('[data-role=user] [data-testid=retry]');
    expect(page.last('retry').groupId).toBe('g-u1');
  });

  it('places notices where they came up', () => {
    page.ready({ messages: [message('u0'), message('a0', { role: 'assistant' })] });
    page.emit({
      kind: 'notice',
      level: 'warning',
      text: 'b.py was left out.',
      code: '',
      turnId: '',
    });
    expect(page.get('[data-testid=notice]').textContent).toBe('b.py was left out.');
    expect(page.get('[data-testid=notice]').previousElementSibling).toBe(
      page.get('[data-role=assistant]'),
    );
  });

  it('draws only the newest of very many messages, and more on demand', () => {
    page.ready({ messages: Array.from({ length: 150 }, (_, index) => message(`u${index}`)) });
    expect(page.root.querySelectorAll('[data-testid=message]')).toHaveLength(60);
    page.click('.earlier');
    expect(page.root.querySelectorAll('[data-testid=message]')).toHaveLength(120);
  });

  it('asks for the state after a gap and shows it', () => {
    page.ready();
    page.receive({ type: 'event', event: event(14, delta('t1', 'x')) });
    expect(page.last('resync')).toEqual({ type: 'resync' });
    page.receive({ type: 'state', state: state({ seq: 14, messages: [message('u7')] }) });
    expect(page.get('[data-role=user]').dataset.id).toBe('u7');
  });

  it('shows only pictures of the known types', () => {
    page.ready({
      messages: [
        message('u1', {
          images: [
            'data:image/png;base64,AAAA',
            'https://evil.example/x.png',
            'data:image/svg+xml;base64,AAAA',
          ],
        }),
      ],
    });
    expect(page.root.querySelectorAll('img')).toHaveLength(1);
  });
});

describe('the input', () => {
  it('sends with Enter, not with Shift+Enter and not while composing', () => {
    page.ready();
    page.type('hello');
    page.press('Enter', { shiftKey: true });
    page.press('Enter', { isComposing: true });
    expect(page.sent.some((one) => one.type === 'send')).toBe(false);
    page.press('Enter');
    expect(page.last('send')).toMatchObject({ text: 'hello', images: [] });
    expect(page.input.value).toBe('');
    expect(page.get('[data-testid=pending]').textContent).toContain('hello');
  });

  it('sends nothing that is only blank', () => {
    page.ready();
    page.type('  \n ');
    page.press('Enter');
    expect(page.sent.some((one) => one.type === 'send')).toBe(false);
    expect((page.get('[data-testid=send-button]') as HTMLButtonElement).disabled).toBe(true);
  });

  it('shows a prompt as pending until it comes back as a message', () => {
    page.ready();
    page.type('hello');
    page.press('Enter');
    const { ticket } = page.last('send');
    page.receive({
      type: 'sent',
      ticket,
      turnId: 't1',
      messageId: 'u1',
      queued: true,
      notices: [],
    });
    expect(page.get('[data-testid=pending]').textContent).toContain('Waiting for what is running');
    page.emit(started('t1', 'u1'));
    expect(page.has('[data-testid=pending]')).toBe(false);
  });

  const waits = (...names: string[]): EventBody => ({
    kind: 'queueChanged',
    prompts: names.map((text) => ({
      turnId: `t-${text}`,
      messageId: `u-${text}`,
      text,
      images: 0,
      steer: text === 'two',
    })),
  });

  it('lists what waits; each can be changed, moved, taken back, said to the running turn', () => {
    page.ready();
    page.emit(started('t1', 'u1'));
    page.type('two');
    page.press('Enter');
    const { ticket } = page.last('send');
    const sent = { ticket, turnId: 't-two', messageId: 'u-two', queued: true, notices: [] };
    page.receive({ type: 'sent', ...sent });
    page.emit(waits('one', 'two'));
    expect(page.has('[data-testid=pending]')).toBe(false);
    const rows = (): string[] =>
      [...page.root.querySelectorAll('.waiting-text')].map((row) => row.textContent ?? '');
    expect(rows()).toEqual(['one', 'two']);
    expect(page.get('[data-testid=queue]').textContent).toContain('2 prompts wait');
    expect(page.get('[data-steer=true]').textContent).toContain('with the next request');
    const empty = { text: '', to: 0 };
    page.click('[data-testid=waiting-steer]');
    expect(page.last('queue')).toEqual({ type: 'queue', verb: 'steer', turnId: 't-one', ...empty });
    page.click('[data-steer=true] [data-testid=waiting-steer]');
    expect(page.last('queue').verb).toBe('wait');
    page.click('[data-steer=true] [data-testid=waiting-up]');
    expect(page.last('queue')).toMatchObject({ verb: 'move', turnId: 't-two', to: 0 });
    page.click('[data-steer=true] [data-testid=waiting-remove]');
    expect(page.last('queue')).toMatchObject({ verb: 'remove', turnId: 't-two' });
    page.click('[data-testid=waiting-edit]');
    const field = page.get('[data-testid=waiting-text]') as HTMLTextAreaElement;
    expect(document.activeElement).toBe(field);
    act(() => {
      field.value = 'one, better';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    });
    act(() => {
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    });
    expect(page.last('queue')).toMatchObject({ verb: 'change', text: 'one, better' });
    // What waits is not shown twice, and begins in the conversation when its turn comes.
    page.ready({ messages: [message('u1'), message('u-one', { groupId: 't-one' })] });
    expect(page.root.querySelectorAll('[data-role=user]')).toHaveLength(2);
    page.emit(waits('one'));
    expect(page.root.querySelectorAll('[data-role=user]')).toHaveLength(1);
    page.emit(waits(), started('t-one', 'u-one'));
    expect(page.has('[data-testid=queue]')).toBe(false);
  });

  it('says a prompt to the running turn with Ctrl+Enter or its button', () => {
    page.ready();
    expect(page.has('[data-testid=steer-button]')).toBe(false);
    page.type('now');
    page.press('Enter', { ctrlKey: true });
    expect(page.last('send').steer).toBe(false);
    page.emit(started('t1', 'u1'));
    page.type('only b.py');
    page.press('Enter', { ctrlKey: true });
    expect(page.last('send')).toMatchObject({ text: 'only b.py', steer: true, editing: '' });
    page.type('and c.py');
    page.click('[data-testid=steer-button]');
    expect(page.last('send')).toMatchObject({ text: 'and c.py', steer: true });
  });

  it('changes an earlier prompt in the input; given up, what stood there comes back', () => {
    page.ready({ messages: [message('u1', { text: 'old words', groupId: 'g1' })] });
    page.type('half a thought');
    page.click('[data-testid=edit-prompt]');
    expect(page.input.value).toBe('old words');
    expect(page.get('[data-testid=editing]').textContent).toContain('new branch');
    page.press('Escape');
    expect(page.input.value).toBe('half a thought');
    expect(page.has('[data-testid=editing]')).toBe(false);
    page.click('[data-testid=edit-prompt]');
    page.type('/new words'); // no command: it is a prompt that is changed
    page.press('Enter');
    expect(page.last('send')).toMatchObject({ text: '/new words', editing: 'g1', steer: false });
    expect(page.input.value).toBe('half a thought');
    expect(page.has('[data-testid=editing]')).toBe(false);
  });

  it('gives a refused prompt back, before what has been typed since', () => {
    page.ready();
    page.type('first');
    page.press('Enter');
    const { ticket } = page.last('send');
    page.type('second');
    page.receive({
      type: 'refused',
      ticket,
      code: 'no_provider',
      error: 'No model.',
      advice: 'Get one.',
    });
    expect(page.input.value).toBe('first\nsecond');
    expect(page.get('[data-testid=notice]').textContent).toBe('No model. Get one.');
  });

  it('gives a prompt back that a crashed server had not taken', () => {
    page.ready();
    page.type('first');
    page.press('Enter');
    page.receive({ type: 'connection', connection: { kind: 'restarting', text: '…', advice: '' } });
    expect(page.input.value).toBe('first');
    expect(page.has('[data-testid=pending]')).toBe(false);
  });

  it('stops with Escape and with the button while a reply runs', () => {
    page.ready();
    page.press('Escape');
    expect(page.sent.some((one) => one.type === 'stop')).toBe(false);
    page.emit(started('t1', 'u1'));
    page.press('Escape');
    page.click('[data-testid=stop-button]');
    expect(page.sent.filter((one) => one.type === 'stop')).toHaveLength(2);
  });

  it('stops with Escape from anywhere in the view, unless that closes something', () => {
    page.ready();
    page.emit(started('t1', 'u1'));
    const pressed = (): KeyboardEvent =>
      new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true });
    act(() => {
      page.get('.transcript').dispatchEvent(pressed());
    });
    expect(page.sent.filter((one) => one.type === 'stop')).toHaveLength(1);
    page.type('@a');
    page.receive({
      type: 'completions',
      ticket: page.last('complete').ticket,
      items: [{ path: 'a.py', detail: '' }],
    });
    page.press('Escape');
    expect(page.sent.filter((one) => one.type === 'stop')).toHaveLength(1);
  });

  it('recalls earlier prompts with the arrow, from an empty input only', () => {
    page.ready({ messages: [message('u1', { text: 'one' }), message('u2', { text: 'two' })] });
    page.press('ArrowUp');
    expect(page.input.value).toBe('two');
    page.press('ArrowUp');
    expect(page.input.value).toBe('one');
    page.press('ArrowUp');
    expect(page.input.value).toBe('one');
    page.press('ArrowDown');
    page.press('ArrowDown');
    expect(page.input.value).toBe('');
    page.type('typed');
    page.press('ArrowUp');
    expect(page.input.value).toBe('typed');
  });

  it('keeps the draft, and what is on its way, for when the view is hidden', () => {
    page.ready();
    page.type('draft');
    expect(page.saved).toEqual({ draft: 'draft', images: [], scroll: null });
    page = new Page({ draft: 'restored', images: ['data:image/png;base64,AAAA', 'nonsense'] });
    expect(page.input.value).toBe('restored');
    expect(page.store.view.images).toHaveLength(1);
  });

  it('completes mentions by keyboard', () => {
    page.ready();
    page.type('see @bu');
    const { ticket, query } = page.last('complete');
    expect(query).toBe('bu');
    page.receive({
      type: 'completions',
      ticket: ticket - 1,
      items: [{ path: 'old.py', detail: '' }],
    });
    expect(page.has('[role=listbox]')).toBe(false);
    page.receive({
      type: 'completions',
      ticket,
      items: [
        { path: '@src/budget.ts', kind: 'file', label: 'budget.ts', detail: 'src', tokens: 1_234 },
        { path: '@"a b/bu.py"', kind: 'file', label: 'bu.py', detail: 'a b' },
      ],
    });
    page.press('ArrowDown');
    expect(page.get('[aria-selected=true]').textContent).toContain('bu.py');
    page.press('ArrowUp');
    page.press('Enter');
    expect(page.input.value).toBe('see @src/budget.ts ');
    expect(page.has('[role=listbox]')).toBe(false);
    expect(page.sent.some((one) => one.type === 'send')).toBe(false);
  });

  it('completes commands and carries them out', () => {
    page.ready();
    page.type('/con');
    const { ticket, query } = page.last('complete');
    expect(query).toBe('/con');
    const items = [{ path: '/context window <N>', detail: 'Send only the last N turns' }];
    page.receive({ type: 'completions', ticket, items });
    expect(page.get('[role=listbox]').getAttribute('aria-label')).toBe('Commands');
    page.press('Enter');
    expect(page.input.value).toBe('/context window ');
    page.type('/context window 3');
    page.press('Enter');
    expect(page.last('command')).toMatchObject({ text: '/context window 3' });
    expect(page.input.value).toBe('');
    page.receive({ type: 'commandDone', ticket: page.last('command').ticket, text: '3 turns' });
    expect(page.root.textContent).toContain('3 turns');
    expect(page.sent.some((one) => one.type === 'send')).toBe(false);
  });

  it('carries out a complete command at once and gives a refused one back', () => {
    page.ready();
    page.type('/undo');
    const items = [{ path: '/undo [GID]', detail: '' }];
    page.receive({ type: 'completions', ticket: page.last('complete').ticket, items });
    page.press('Enter');
    const { ticket, text } = page.last('command');
    expect(text).toBe('/undo');
    const error = 'There is nothing to undo.';
    page.receive({ type: 'refused', ticket, code: 'not_found', error, advice: '' });
    expect(page.input.value).toBe('/undo');
    expect(page.root.textContent).toContain(error);
    page.receive({ type: 'hint', level: 'info', text: 'A new session.' });
    page.ready();
    expect(page.root.textContent, 'the same session').toContain(error);
    page.ready({ sessionId: 's2' });
    expect(page.root.textContent).not.toContain(error);
    expect(page.root.textContent).toContain('A new session.');
  });

  it('sends what only looks like a command', () => {
    page.ready();
    for (const text of ['/etc/hosts is what?', '// a comment', ' /undo']) {
      page.type(text);
      page.press('Enter');
      expect(page.last('send').text).toBe(text);
    }
  });

  it('folds STATE away and shows what the conversation weighs', () => {
    page.ready({
      messages: [
        message('u1'),
        message('a1', { role: 'assistant', state: 'Goal: mend it', tokens: 12_300 }),
      ],
    });
    const block = page.get('[data-testid=state-block]') as HTMLDetailsElement;
    expect(block.open).toBe(false);
    expect(block.textContent).toContain('Goal: mend it');
    expect(page.get('[data-testid=weight]').textContent).toContain('12.3k tokens');
    page.click('[aria-label="Ask again: this reply is replaced"]');
    expect(page.last('retry').groupId).toBe('g-a1');
  });

  it('announces the list to assistive technology', () => {
    page.ready();
    page.type('@b');
    page.receive({
      type: 'completions',
      ticket: page.last('complete').ticket,
      items: [{ path: 'b.py', detail: '' }],
    });
    const id = page.input.getAttribute('aria-activedescendant') ?? '';
    expect(document.getElementById(id)?.getAttribute('role')).toBe('option');
    expect(page.input.getAttribute('aria-controls')).toBe(page.get('[role=listbox]').id);
  });

  it('sends pictures as base64 with their type', () => {
    page = new Page({ draft: '', images: ['data:image/png;base64,AAAA'] });
    page.ready();
    page.press('Enter');
    expect(page.last('send').images).toEqual([{ mediaType: 'image/png', data: 'AAAA' }]);
  });
});

describe('what surrounds the conversation', () => {
  it('asks for a model where there is none, and says why', () => {
    const why = 'There is no language model to ask. Set a key.';
    page.ready({
      provider: { ...state().provider, name: 'none', available: false, model: '', why },
    });
    const chip = page.get('[data-testid=provider-chip]');
    expect(chip.textContent).toBe('Choose a model');
    expect(chip.title).toContain(why);
    expect(chip.classList).toContain('missing');
  });

  it('names the folder of files that are not in the first one', () => {
    page.ready({ files: [file('src/a.py'), file('second/src/b.py')] });
    const names = (): (string | null)[] =>
      [...page.root.querySelectorAll('.chip-name')].map((chip) => chip.textContent);
    expect(names()).toEqual(['a.py', 'b.py']);
    page.receive({ type: 'place', place: { trusted: true, virtual: false, roots: ['second'] } });
    expect(names()).toEqual(['a.py', 'second/…/b.py']);
  });

  it('shows files with pins and troubles, and acts on them', () => {
    page.ready({
      files: [
        file('src/a.py', { pin: 'sticky' }),
        file('b.py', { state: 'missing', reason: 'It was deleted.' }),
        file('big.py', { reason: 'Only the first 5 of its 9 tokens are sent.', code: 'cut' }),
      ],
    });
    const [first, second, third] =
      page.root.querySelectorAll<HTMLElement>('[data-testid=file-chip]');
    expect([first?.dataset.path, first?.dataset.pin, second?.dataset.state]).toEqual([
      'src/a.py',
      'sticky',
      'missing',
    ]);
    expect(second?.querySelector('.chip-name')?.getAttribute('title')).toContain('It was deleted.');
    expect(third?.querySelector('.chip-name')?.getAttribute('title')).toContain('Only the first 5');
    const warned = [first, second, third].map((chip) => chip?.querySelector('.codicon-warning'));
    expect(warned.map((icon) => icon != null)).toEqual([false, true, true]);
    act(() => first?.querySelector<HTMLElement>('[aria-label^=Unpin]')?.click());
    act(() => second?.querySelector<HTMLElement>('[aria-label^=Remove]')?.click());
    expect(page.sent.filter((one) => one.type === 'file')).toEqual([
      { type: 'file', verb: 'unpin', path: 'src/a.py' },
      { type: 'file', verb: 'remove', path: 'b.py' },
    ]);
  });

  it('shows mode, budget and model, which lead on', () => {
    page.ready({ budget: budget({ used: 920, percent: 92 }) });
    expect(page.get('[data-testid=context-mode]').textContent).toBe('CTX: Light');
    expect(page.get('[data-testid=budget-summary]').textContent).toBe('920 / 1k92 %');
    expect(page.get('[data-testid=budget-summary]').className).toContain('error');
    expect(page.get('[data-testid=provider-chip]').textContent).toBe('Local · small');
    for (const id of ['context-mode', 'budget-summary', 'provider-chip', 'new-session'])
      page.click(`[data-testid=${id}]`);
    expect(page.sent.slice(-4).map((one) => one.type)).toEqual([
      'cycleMode',
      'showBudget',
      'selectModel',
      'newSession',
    ]);
  });

  it('shows the selection that goes along, and lets it be taken away', () => {
    page.ready();
    page.receive({ type: 'selection', selection: { label: 'a.py:1-3', characters: 40 } });
    expect(page.get('[data-testid=selection-chip]').textContent).toBe('a.py:1-3');
    page.click('[data-testid=selection-chip] button');
    expect(page.last('dropSelection')).toEqual({ type: 'dropSelection' });
  });

  it('shows what the user looks at; one click takes it off', () => {
    page.ready();
    const active = { label: 'a.py', path: 'src/a.py', selected: false, on: true };
    page.receive({ type: 'active', active });
    expect(page.get('[data-testid=active-chip]').textContent).toBe('a.py');
    expect(page.get('[data-testid=active-chip]').getAttribute('aria-pressed')).toBe('true');
    page.click('[data-testid=active-chip]');
    expect(page.last('toggleActive')).toEqual({ type: 'toggleActive' });
    page.receive({ type: 'active', active: { ...active, on: false } });
    expect(page.get('[data-testid=active-chip]').classList.contains('off')).toBe(true);
  });

  it('says what is wrong with the server and what to do', () => {
    page.receive({
      type: 'connection',
      connection: { kind: 'installing', text: 'downloading attrs', advice: '' },
    });
    expect(page.get('[data-testid=connection]').textContent).toContain('downloading attrs');
    page.receive({
      type: 'connection',
      connection: { kind: 'noPython', text: 'No Python.', advice: 'Install it.' },
    });
    const box = page.get('[data-testid=connection] [role=alert]');
    expect(box.textContent).toContain('No Python.Install it.');
    act(() => [...box.querySelectorAll('button')].at(-1)?.click());
    expect(page.last('openSettings')).toEqual({ type: 'openSettings' });
    page.type('hello');
    page.press('Enter');
    expect(page.input.value).toBe('hello');
  });

  it('has a name for every button', () => {
    page.ready({
      files: [file('a.py')],
      messages: [message('u1'), message('a1', { role: 'assistant', text: '```\nx\n```' })],
    });
    for (const button of page.root.querySelectorAll('button')) {
      expect(`${button.getAttribute('aria-label') ?? ''}${button.textContent}`).not.toBe('');
    }
  });
});

describe('for screen readers', () => {
  const said = (): string[] =>
    [...page.root.querySelectorAll('[aria-live=polite] p')].map((one) => one.textContent ?? '');

  it('a reply is read by paragraphs, not by tokens', () => {
    page.ready();
    page.emit(started('t1', 'u1'), delta('t1', 'First **par'), delta('t1', 'agraph**.'));
    expect(said()).toEqual(['Tierline is answering.']);
    page.emit(delta('t1', '\n\nSecond'));
    expect(said().at(-1)).toBe('First paragraph.');
    const reply = message('a1', { role: 'assistant', text: 'First **paragraph**.\n\nSecond' });
    page.emit(finished('t1', { message: reply }));
    expect(said().slice(-2)).toEqual(['Second', 'The reply is complete.']);
  });

  it('code is mentioned, not spelled out, and never cut in the middle', () => {
    const text = 'Look:\n\n```py\na\n\nb\n```\n\nDone.';
    const first = complete(text.slice(0, text.indexOf('b')), 0);
    expect(first.said).toBe('Look:');
    expect(complete(text, first.next).said).toBe('Code block.');
    expect(plain('# A [link](x) with `code`')).toBe('A link with code');
  });
});

describe('attachments and mentions', () => {
  it('refuses what is no picture, too large or too many', async () => {
    const png = new File([new Uint8Array(10)], 'a.png', { type: 'image/png' });
    const large = new File([new Uint8Array(4_000_000)], 'big.png', { type: 'image/png' });
    const other = new File(['<svg/>'], 'x.svg', { type: 'image/svg+xml' });
    const { dataUris, problems } = await attach([png, large, other], 9);
    expect(dataUris).toHaveLength(1);
    expect(problems).toEqual([
      expect.stringContaining('big.png'),
      expect.stringContaining('x.svg'),
    ]);
    expect((await attach([png, png], 9)).problems).toEqual([expect.stringContaining('10')]);
  });

  it('names a picture that is empty, damaged or cannot be read, and takes the others', async () => {
    const png = (name: string, size = 10): File =>
      new File([new Uint8Array(size)], name, { type: 'image/png' });
    const gone = png('gone.png');
    const reading = vi.spyOn(FileReader.prototype, 'readAsDataURL').mockImplementation(function (
      this: FileReader,
      blob: Blob,
    ) {
      Object.defineProperty(this, 'result', { value: 'data:image/png;base64,AAAA' });
      const event = new ProgressEvent('done') as ProgressEvent<FileReader>;
      if (blob === gone) this.onerror?.(event);
      else this.onload?.(event);
    });
    vi.stubGlobal('createImageBitmap', async (one: File) => {
      if (one.name === 'damaged.png') throw new Error('no picture');
      return { close: () => {} };
    });
    page = new Page();
    await page.store.addImages([png('empty.png', 0), png('damaged.png'), gone, png('good.png')]);
    reading.mockRestore();
    vi.stubGlobal('createImageBitmap', undefined);
    expect(page.store.view.images).toHaveLength(1);
    expect(page.store.view.hints.map(({ text }) => text)).toEqual(
      ['empty.png', 'damaged.png', 'gone.png'].map((name) => expect.stringContaining(name)),
    );
  });

  it('gives a prompt back whose picture the server cannot send', () => {
    page = new Page({ draft: 'What is it?', images: ['data:image/png;base64,AAAA'] });
    page.ready();
    page.store.send();
    expect(page.store.view.images).toEqual([]);
    const { ticket } = page.last('send');
    const error = 'Nothing was sent. The picture is damaged.';
    page.receive({
      type: 'refused',
      ticket,
      code: 'not_sendable',
      error,
      advice: 'Attach another.',
    });
    expect(page.store.view).toMatchObject({
      pending: [],
      draft: 'What is it?',
      images: ['data:image/png;base64,AAAA'],
      hints: [{ level: 'error', text: `${error} Attach another.` }],
    });
  });

  it('reads data URIs of the known types only', () => {
    expect(splitDataUri('data:image/png;base64,AAAA')).toEqual({
      mediaType: 'image/png',
      data: 'AAAA',
    });
    expect(splitDataUri('data:text/html;base64,AAAA')).toBeNull();
    expect(splitDataUri('https://example.org/a.png')).toBeNull();
  });

  it('finds file URIs in what the explorer drops', () => {
    const data: Record<string, string> = {
      'text/uri-list': 'file:///ws/a.py\r\nhttps://example.org/x',
      resourceurls: '["file:///ws/b.py","file:///ws/a.py"]',
    };
    expect(droppedUris({ getData: (type) => data[type] ?? '' })).toEqual([
      'file:///ws/a.py',
      'file:///ws/b.py',
    ]);
  });

  it('finds what is dropped in a window whose files are on another machine', () => {
    const data = 'vscode-remote://ssh-remote%2Bhost/ws/a.py\r\nhttps://example.org/b.py';
    const getData = (type: string): string => (type === 'text/uri-list' ? data : '');
    expect(droppedUris({ getData })).toEqual(['file:///ws/a.py']);
  });

  it.each([
    ['@a', 2, { from: 0, to: 2, query: 'a' }],
    ['see @src/x', 10, { from: 4, to: 10, query: 'src/x' }],
    ['see (@x', 7, { from: 5, to: 7, query: 'x' }],
    ['see @a b', 8, null],
    ['me@host', 7, null],
    ['no', 2, null],
  ])('mention in %j at %d', (text, caret, found) => {
    expect(mentionAt(text, caret)).toEqual(found);
  });

  it('puts what was chosen in place of what was typed, as the server writes it', () => {
    const mention = { from: 4, to: 6, query: 'a' };
    expect(completeMention('see @a now', mention, '@"my dir/a.py"')).toEqual({
      text: 'see @"my dir/a.py" now',
      caret: 19,
    });
  });
});

describe('what the model does', () => {
  const consent = {
    id: 'q1',
    turnId: 't1',
    callId: 'c1',
    kind: 'command' as const,
    title: 'Run this command?',
    text: 'make test',
    detail: 'In /w, for 120 s at most.',
    canRemember: true,
  };
  const withCall = (page: Page, ...ids: string[]): void => {
    page.ready();
    page.emit(started('t1', 'u1'), delta('t1', 'Looking.'), {
      kind: 'messageAdded',
      turnId: 't1',
      message: message('m1', {
        role: 'assistant',
        status: 'tool_call',
        text: 'Looking.',
        calls: ids.map((id) => call(id, { status: 'waiting' })),
      }),
    });
  };

  it('is a row for each call, and the turn goes on in a new message', () => {
    const page = new Page();
    withCall(page, 'c1', 'c2');
    expect(page.root.querySelectorAll('[data-testid=call]')).toHaveLength(2);
    page.emit(
      { kind: 'toolChanged', turnId: 't1', call: call('c1') },
      {
        kind: 'toolChanged',
        turnId: 't1',
        call: call('c2', { status: 'error', note: 'not found', result: 'src/b.py does not exist' }),
      },
      delta('t1', 'It says one.'),
    );
    const statuses = [...page.root.querySelectorAll('[data-testid=call]')].map((row) =>
      row.getAttribute('data-status'),
    );
    expect(statuses).toEqual(['running', 'error']);
    expect(page.get('.calls').textContent).toContain('not found');
    const replies = [...page.root.querySelectorAll('[data-role=assistant]')];
    expect(replies.map((reply) => reply.querySelector('.markdown')?.textContent?.trim())).toEqual([
      'Looking.',
      'It says one.',
    ]);
  });

  it('asks before a command runs, by mouse and by keyboard', () => {
    const page = new Page();
    withCall(page, 'c1');
    page.emit({ kind: 'consentAsked', consent });
    expect(page.get('[data-testid=consent-command]').textContent).toBe('make test');
    expect(page.root.querySelector('[aria-live]')?.textContent).toContain('make test');
    page.click('[data-testid=consent-always]');
    expect(page.last('consent')).toEqual({ type: 'consent', id: 'q1', answer: 'always' });
    act(() => {
      page
        .get('[data-testid=consent-once]')
        .dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    });
    expect(page.last('consent').answer).toBe('deny');
    (page.get('[data-testid=consent-once]') as HTMLElement).focus();
    page.emit({ kind: 'consentClosed', id: 'q1', answer: 'deny' });
    expect(page.has('[data-testid=consent]')).toBe(false);
    // The button that had the focus is gone: the keyboard is not left with nothing.
    expect(document.activeElement).toBe(page.get('[data-testid=chat-input]'));
    // A question about pasted links comes before the turn has any message of its own.
    const pages = { ...consent, id: 'q2', callId: '', kind: 'url' as const, canRemember: false };
    page.emit({
      kind: 'consentAsked',
      consent: { ...pages, text: 'https://example.org/a//b/guide -c --d=e/f\n g/' },
    });
    // Word by word and part by part, and still the very text.
    const address = 'https://example.org/a//b/guide -c --d=e/f\n g/';
    expect(page.get('[data-testid=consent-command]').textContent).toBe(address);
    const pieces = [...page.root.querySelectorAll('.piece')].map((one) => one.textContent);
    expect(pieces).toEqual(['https://example.org/', 'a//b/', 'guide', '-c', '--d=e/f', 'g/']);
    expect(page.get('[data-testid=consent-once]').textContent).toBe('Read');
    page.emit(finished('t1'));
    act(() => {
      page
        .get('[data-testid=chat-input]')
        .dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    });
    expect(page.last('consent')).toEqual({ type: 'consent', id: 'q2', answer: 'deny' });
    page.click('[data-testid=consent-once]');
    expect(page.last('consent')).toEqual({ type: 'consent', id: 'q2', answer: 'once' });
    page.emit({ kind: 'consentClosed', id: 'q2', answer: 'once' });
    // A question about money says what it is about.
    const dear = { ...consent, id: 'q3', callId: '', kind: 'spending' as const, canRemember: true };
    page.emit({ kind: 'consentAsked', consent: dear });
    const words = [...page.root.querySelectorAll('.consent button')].map((one) => one.textContent);
    expect(words).toEqual(['Go on', 'Go on, do not ask again', 'Stop here (Esc)']);
    page.emit({ kind: 'consentClosed', id: 'q3', answer: 'once' });
  });

  it('accepts an edit and all that follow in this session', () => {
    const page = new Page();
    withCall(page, 'c1');
    page.emit({ kind: 'editChanged', edit: edit() });
    page.emit({ kind: 'toolChanged', turnId: 't1', call: call('c1', { editId: 'e1' }) });
    page.click('[data-testid=edit-accept-all]');
    expect(page.last('edit')).toMatchObject({ verb: 'acceptAll', id: 'e1', hunks: [] });
  });

  it('lets an edit that was applied first be kept or undone by part, file, turn and all', () => {
    const page = new Page();
    withCall(page, 'c1');
    const applied = edit({ state: 'applied', accepted: [0, 1], review: 'open' });
    page.emit({ kind: 'editChanged', edit: applied });
    const which = { id: '', hunks: [], turnId: '', path: '' };
    page.click('[data-testid=edit-keep]');
    expect(page.last('review')).toEqual({ ...which, type: 'review', verb: 'keep', id: 'e1' });
    page.click('[data-testid=part-undo]');
    expect(page.last('review')).toMatchObject({ verb: 'undo', id: 'e1', hunks: [0] });
    page.emit({ kind: 'editChanged', edit: { ...applied, id: 'e2', turnId: 't0', path: 'b.py' } });
    expect(page.get('[data-testid=review]').textContent).toContain('2 changed files');
    page.click('[data-testid=review-files]');
    page.click('[data-testid=row-undo]');
    expect(page.last('review')).toMatchObject({ verb: 'undo', turnId: 't0', path: '' });
    page.click('li:last-child [data-testid=row-keep]');
    expect(page.last('review')).toMatchObject({ verb: 'keep', path: 'b.py' });
    page.click('[data-testid=review-keep]');
    expect(page.last('review')).toEqual({ ...which, type: 'review', verb: 'keep' });
    page.emit(
      { kind: 'editChanged', edit: { ...applied, review: 'kept' } },
      { kind: 'editChanged', edit: { ...applied, id: 'e2', review: '', state: 'undone' } },
    );
    expect(page.has('[data-testid=review]')).toBe(false);
    expect(page.has('[data-testid=edit-keep]')).toBe(false);
  });

  it('shows no "always" where it may not be given', () => {
    const page = new Page();
    withCall(page, 'c1');
    page.emit({ kind: 'consentAsked', consent: { ...consent, canRemember: false } });
    expect(page.has('[data-testid=consent-always]')).toBe(false);
  });

  it('follows what another client chooses about the parts, live and from the state', () => {
    const page = new Page();
    withCall(page, 'c1');
    const chosen = (...choices: ('' | 'take' | 'leave')[]): EditInfo => {
      const hunks = edit().hunks.map((hunk, index) => ({ ...hunk, choice: choices[index] ?? '' }));
      return edit({ hunks });
    };
    const boxes = (): boolean[] =>
      [...page.root.querySelectorAll<HTMLInputElement>('[data-testid=hunk] input')].map(
        (box) => box.checked,
      );
    page.emit({ kind: 'editChanged', edit: chosen() });
    expect(boxes()).toEqual([true, true]);
    page.emit({ kind: 'editChanged', edit: chosen('leave') });
    expect(boxes()).toEqual([false, true]);
    page.click('[data-testid=edit-accept]');
    expect(page.last('edit')).toMatchObject({ verb: 'accept', hunks: [1] });
    // A tick that is set here counts until the next choice elsewhere.
    page.click('[data-testid=hunk] input');
    expect(boxes()).toEqual([true, true]);
    page.emit({ kind: 'editChanged', edit: chosen('leave', 'leave') });
    expect(boxes()).toEqual([true, false]);
    page.emit({ kind: 'editChanged', edit: chosen('take', 'leave') });
    page.emit({ kind: 'editChanged', edit: chosen('leave', 'take') });
    expect(boxes()).toEqual([false, true]);
    page.ready({
      messages: page.store.view.model?.messages.slice() ?? [],
      edits: [chosen('', 'leave')],
    });
    expect(boxes()).toEqual([true, false]);
  });

  it('shows an edit with its parts, each of which can be left out', () => {
    const page = new Page();
    withCall(page, 'c1');
    page.emit({ kind: 'editChanged', edit: edit() });
    expect(page.get('[data-testid=edit]').textContent).toContain('- old');
    page.click('[data-testid=edit-preview]');
    expect(page.last('edit')).toMatchObject({ verb: 'preview', id: 'e1' });
    page.click('[data-testid=edit-accept]');
    expect(page.last('edit')).toMatchObject({ verb: 'accept', hunks: [] });
    page.click('[data-testid=hunk] input');
    expect(page.get('[data-testid=edit-accept]').textContent).toBe('Accept 1 part');
    page.click('[data-testid=edit-accept]');
    expect(page.last('edit')).toMatchObject({ verb: 'accept', hunks: [1] });
    // With nothing left there is nothing to accept; an empty list would mean all of it.
    for (const box of page.root.querySelectorAll<HTMLInputElement>('[data-testid=hunk] input')) {
      if (box.checked) act(() => box.click());
    }
    expect((page.get('[data-testid=edit-accept]') as HTMLButtonElement).disabled).toBe(true);
    page.emit({ kind: 'editChanged', edit: edit({ state: 'partly', accepted: [1] }) });
    expect(page.has('[data-testid=edit-accept]')).toBe(false);
    expect(page.get('[data-testid=edit]').textContent).toContain('accepted in part');
  });

  it('ticks off no call whose edit was rejected', () => {
    const page = new Page();
    withCall(page, 'c1');
    page.emit(
      { kind: 'toolChanged', turnId: 't1', call: call('c1', { status: 'ok' }) },
      { kind: 'editChanged', edit: edit({ state: 'applied' }) },
    );
    expect(page.has('.call.ok .codicon-check')).toBe(true);
    for (const [state, icon] of [
      ['rejected', 'circle-slash'],
      ['expired', 'circle-slash'],
      ['undone', 'discard'],
    ] as const) {
      page.emit({ kind: 'editChanged', edit: edit({ state }) });
      expect(page.has('.call .codicon-check'), state).toBe(false);
      expect(page.has('.call.ok'), state).toBe(false);
      expect(page.has(`.call .codicon-${icon}`), state).toBe(true);
    }
  });

  it('takes a reason for a rejection', () => {
    const page = new Page();
    withCall(page, 'c1');
    page.emit({ kind: 'editChanged', edit: edit() });
    page.click('[data-testid=edit-reject]');
    const field = page.get('[data-testid=edit-reason]') as HTMLInputElement;
    act(() => {
      field.value = 'Use a constant.';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    });
    act(() => {
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    });
    expect(page.last('edit')).toMatchObject({ verb: 'reject', reason: 'Use a constant.' });
  });

  it('is whole again after a reconnect', () => {
    const page = new Page();
    page.ready({
      busyTurn: 't1',
      messages: [
        message('u1'),
        message('m1', { role: 'assistant', status: 'tool_call', calls: [call('c1')] }),
        message('r1', { role: 'tool', text: 'a result' }),
      ],
      consents: [consent],
      edits: [edit()],
    });
    expect(page.has('[data-testid=consent]')).toBe(true);
    expect(page.has('[data-testid=edit]')).toBe(true);
    expect(page.root.textContent).not.toContain('a result');
  });
});

describe('what can be done with a turn', () => {
  it('is asked for by its group and message', () => {
    page.ready({
      messages: [message('u1'), message('a1', { role: 'assistant', groupId: 'g-u1' })],
    });
    page.click('[data-role=user] .codicon-eye-closed');
    page.click('[data-role=assistant] .codicon-repo-forked');
    page.click('[data-role=user] .codicon-trash');
    expect(page.sent.filter((one) => one.type === 'turn')).toEqual([
      { type: 'turn', verb: 'drop', groupId: 'g-u1', messageId: 'u1' },
      { type: 'turn', verb: 'fork', groupId: 'g-u1', messageId: 'a1' },
      { type: 'turn', verb: 'remove', groupId: 'g-u1', messageId: 'u1' },
    ]);
  });

  it('is undone at a hidden one', () => {
    page.ready({ messages: [message('u1', { status: 'dropped' })] });
    page.click('[data-role=user] .codicon-eye');
    expect(page.last('turn').verb).toBe('restore');
  });

  it('shows the branch only where it is not the first one', () => {
    page.ready();
    expect(page.has('[data-testid=branch-chip]')).toBe(false);
    page.ready({ branch: 'idea' });
    page.click('[data-testid=branch-chip]');
    expect(page.last('switchBranch')).toEqual({ type: 'switchBranch' });
  });
});
