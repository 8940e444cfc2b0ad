// @vitest-environment jsdom
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { describe, expect, it, vi } from 'vitest';
import type { EventBody } from '../src/protocol';
import { parseToHost, type ToHost, type ToWebview } from '../src/shared/messages';
import { apply, fromState, retryGroup } from '../src/shared/model';
import { App } from '../src/webview/components/app';
import { spaced } from '../src/webview/components/compaction';
import { Store } from '../src/webview/store';
import { event, finished, message, state } from './fake/state';

vi.stubGlobal(
  'ResizeObserver',
  class {
    observe(): void {}
    disconnect(): void {}
  },
);

const before = [message('m1'), message('m2', { role: 'assistant' }), message('m3')];
const after = [
  { ...before[0], covered: 's1' },
  { ...before[1], covered: 's1' },
  message('s1', { role: 'system', text: 'Open: pears', note: '2 are', compaction: 'summarize' }),
  before[2],
] as typeof before;
const complete: EventBody = {
  kind: 'compactionComplete',
  result: {
    case: 'summarize',
    reason: '',
    compactionId: 's1',
    summary: 'Open: pears',
    messages: 2,
    tokensBefore: 10,
    tokensAfter: 5,
  },
  messages: after,
};

describe('compaction events', () => {
  it('show progress, then the new list', () => {
    const model = fromState(state({ messages: before }));
    const begun = apply(model, event(model.seq + 1, { kind: 'compactionStart' })).model;
    expect(begun.compacting).toBe(true);
    const done = apply(begun, event(begun.seq + 1, complete)).model;
    expect(done.compacting).toBe(false);
    expect(done.messages.map((one) => one.id)).toEqual(['m1', 'm2', 's1', 'm3']);
  });

  it('let no prompt that waited look unanswered before its reply begins', () => {
    const waits = message('m4', { groupId: 'g4', text: 'And now?' });
    const prompt = { turnId: 'g4', messageId: 'm4', text: 'And now?', images: 0, steer: false };
    const model = fromState(
      state({ messages: [...before, waits], queue: [prompt], compacting: true }),
    );
    const done = apply(model, event(model.seq + 1, { ...complete, messages: [...after, waits] }));
    const left = apply(
      done.model,
      event(done.model.seq + 1, { kind: 'queueChanged', prompts: [] }),
    );
    expect(retryGroup(left.model)).toBeNull();
    const stopped = finished('g4', { outcome: 'interrupted' });
    const over = apply(left.model, event(left.model.seq + 1, stopped)).model;
    expect(retryGroup(over)).toBe('g4');
  });

  it('say a failure as a notice and leave the messages', () => {
    const model = fromState(state({ messages: before, compacting: true }));
    const failed = apply(
      model,
      event(model.seq + 1, {
        kind: 'compactionError',
        code: 'empty',
        message: 'The summary was empty.',
        advice: 'The conversation is as it was.',
      }),
    ).model;
    expect(failed.compacting).toBe(false);
    expect(failed.messages).toHaveLength(3);
    expect(failed.notices.map((one) => one.text)).toEqual([
      'The summary was empty. The conversation is as it was.',
    ]);
  });

  it('take the progress away silently', () => {
    const model = fromState(state({ messages: before, compacting: true }));
    const none: EventBody = { kind: 'compactionNone', reason: 'nothing' };
    const done = apply(model, event(model.seq + 1, none)).model;
    expect([done.compacting, done.notices]).toEqual([false, []]);
  });
});

describe('the chat', () => {
  it('keeps headings of a summary apart from the list before them', () => {
    expect(spaced('Done:\n- a\n- b\nOpen:\n- c\n  more')).toBe(
      'Done:\n- a\n- b\n\nOpen:\n- c\n  more',
    );
  });

  it('folds what is covered, shows the summary and undoes it; the input stays usable', () => {
    const root = document.createElement('div');
    document.body.append(root);
    const sent: ToHost[] = [];
    let listen: (one: ToWebview) => void = () => {};
    const store: Store = new Store(
      (hear) => {
        listen = hear;
        return {
          post: (one) => {
            expect(parseToHost(one)).toEqual(one);
            sent.push(one);
          },
          load: () => ({ draft: '', images: [] }),
          save: () => {},
        };
      },
      () => draw(),
    );
    const draw = (): void => {
      act(() => render(<App view={store.view} store={store} />, root));
    };
    draw();
    const find = (id: string): HTMLElement | null => root.querySelector(`[data-testid="${id}"]`);
    const snapshot = state({ messages: before, compacting: true });
    const receive = (one: ToWebview): void => {
      act(() => listen(one));
    };
    receive({ type: 'connection', connection: { kind: 'ready', text: '', advice: '' } });
    receive({ type: 'state', state: snapshot });
    expect(find('compacting')?.textContent).toContain('Compacting…');
    expect(root.querySelector('textarea')?.disabled).toBe(false);
    receive({ type: 'event', event: event(snapshot.seq + 1, complete) });
    expect(find('compacting')).toBeNull();
    expect(find('covered')?.querySelectorAll('[data-testid="message"]')).toHaveLength(2);
    expect(find('history-summary')?.textContent).toContain('Open: pears');
    expect(root.querySelectorAll('[data-testid="message"]')).toHaveLength(3);
    act(() => find('undo-compaction')?.click());
    expect(sent.at(-1)).toEqual({ type: 'undoCompaction', id: 's1' });
  });
});
