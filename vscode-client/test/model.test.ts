import { describe, expect, it } from 'vitest';
import type { Event, EventBody } from '../src/protocol';
import { EventStream } from '../src/shared/eventStream';
import { apply, fromState, type Model, retryGroup, turnKey } from '../src/shared/model';
import { budget, delta, event, file, finished, message, started, state, took } from './fake/state';

function run(model: Model, ...bodies: EventBody[]): Model {
  let current = model;
  for (const body of bodies) {
    const step = apply(current, event(current.seq + 1, body));
    expect(step.resync).toBe(false);
    current = step.model;
  }
  return current;
}

describe('reducing events', () => {
  it('takes figures from the state, and keeps those that an older server does not repeat', () => {
    const usage = took({ requests: 2 });
    const reply = message('a1', { role: 'assistant', usage, last: took(), cacheOutcome: 'hit' });
    const fresh = fromState(state({ messages: [reply] })).messages.at(-1);
    expect(fresh).toMatchObject({ usage, last: took(), cacheOutcome: 'hit', cache: null });
    const { usage: _, last: __, cacheOutcome: ___, ...old } = reply;
    const live = run(
      fromState(state()),
      started('t1', 'u1'),
      finished('t1', { message: old as typeof reply, usage, last: took() }),
    );
    expect(live.messages.at(-1)).toMatchObject({ usage, last: took(), cacheOutcome: null });
    const again = fromState(state({ messages: [old as typeof reply] }), live);
    expect(again.messages.at(-1)).toMatchObject({ usage, last: took() });
    const bare = fromState(state({ messages: [old as typeof reply] }));
    expect(bare.messages.at(-1)).toMatchObject({ usage: null, last: null, cacheOutcome: null });
  });

  it('streams a reply and keeps its key when it is finished', () => {
    const streaming = run(
      fromState(state()),
      started('t1', 'u1'),
      delta('t1', 'Hel'),
      delta('t1', 'lo'),
    );
    expect(streaming.turn?.text).toBe('Hello');
    expect(streaming.messages.map((one) => one.contextLine)).toEqual(['1 file']);
    const reply = message('a1', { role: 'assistant', text: 'Hello' });
    const done = run(streaming, finished('t1', { message: reply }));
    expect(done.turn).toBeNull();
    expect(done.messages.map((one) => [one.role, one.text])).toEqual([
      ['user', 'text of u1'],
      ['assistant', 'Hello'],
    ]);
    expect(done.messages.at(-1)?.key).toBe(turnKey('t1'));
  });

  it('keeps what had streamed when a turn fails without a message', () => {
    const failed = run(
      fromState(state()),
      started('t1', 'u1'),
      delta('t1', 'Half'),
      finished('t1', { outcome: 'error', error: 'It broke.', advice: 'Try again.' }),
    );
    const last = failed.messages.at(-1);
    expect(last).toMatchObject({
      text: 'Half',
      status: 'error',
      error: 'It broke.',
      advice: 'Try again.',
    });
    expect(retryGroup(failed)).toBe('g-u1');
  });

  it('shows why nothing streams, until something does', () => {
    const waiting = run(fromState(state()), started('t1', 'u1'), {
      kind: 'waiting',
      turnId: 't1',
      text: 'Overloaded; next attempt in 4 s',
      seconds: 4,
    });
    expect(waiting.turn?.waiting).toBe('Overloaded; next attempt in 4 s');
    expect(run(waiting, delta('t1', 'x')).turn?.waiting).toBe('');
  });

  it('replaces files, budget, mode and provider', () => {
    const model = run(
      fromState(state()),
      { kind: 'filesChanged', files: [file('a.py')] },
      { kind: 'budgetChanged', budget: budget({ used: 5 }) },
      { kind: 'modeChanged', mode: 'heavy' },
      { kind: 'providerChanged', provider: { ...state().provider, name: 'openai' } },
    );
    expect([model.files.length, model.budget.used, model.mode, model.provider.name]).toEqual([
      1,
      5,
      'heavy',
      'openai',
    ]);
  });

  it('places a notice after the message that it came with, and says nothing twice in a row', () => {
    const notice: EventBody = {
      kind: 'notice',
      level: 'warning',
      text: 'b.py was left out',
      code: '',
      turnId: 't1',
    };
    const model = run(fromState(state()), started('t1', 'u1'), notice, notice);
    expect(model.notices).toHaveLength(1);
    expect(model.notices[0]?.after).toBe('u1');
  });

  it('ignores an event that the state contains already', () => {
    const model = fromState(state({ seq: 10 }));
    expect(apply(model, event(10, delta('t', 'again')))).toEqual({ model, resync: false });
  });

  it('asks for the state after a gap, after a replacement and for another session', () => {
    const model = fromState(state({ seq: 10 }));
    expect(apply(model, event(12, delta('t', 'x'))).resync).toBe(true);
    expect(apply(model, event(11, { kind: 'stateChanged', reason: 'undo' })).resync).toBe(true);
    expect(apply(model, event(11, delta('t', 'x'), 's2')).resync).toBe(true);
  });

  it('passes over an event of a kind that it does not know', () => {
    const model = fromState(state({ seq: 10 }));
    const step = apply(model, event(11, { kind: 'somethingNew' } as unknown as EventBody));
    expect(step).toEqual({ model: { ...model, seq: 11 }, resync: false });
  });
});

describe('taking over a state', () => {
  it('resumes a running turn with what it has streamed', () => {
    const model = fromState(state({ busyTurn: 't1', partialText: 'So far' }));
    expect(model.turn).toEqual({ id: 't1', text: 'So far', reasoning: '', waiting: '' });
    expect(run(model, delta('t1', ' so good')).turn?.text).toBe('So far so good');
  });

  it('keeps keys, errors and notices of messages that are still there', () => {
    const reply = message('a1', { role: 'assistant', status: 'error' });
    const before = run(
      fromState(state()),
      started('t1', 'u1'),
      finished('t1', { outcome: 'error', message: reply, error: 'It broke.' }),
      { kind: 'notice', level: 'info', text: 'n', code: '', turnId: '' },
    );
    const after = fromState(state({ seq: 40, messages: [message('u1'), reply] }), before);
    expect(after.messages[1]).toMatchObject({ key: turnKey('t1'), error: 'It broke.' });
    expect(after.messages[0]?.contextLine).toBe('1 file');
    expect(after.notices).toHaveLength(1);
    expect(fromState(state({ sessionId: 's2' }), before).notices).toHaveLength(0);
  });
});

describe('a snapshot of the host', () => {
  it('takes back text that turned out to be thinking', () => {
    const model = run(
      fromState(state()),
      started('t1', 'u1'),
      { kind: 'textDelta', turnId: 't1', text: 'Let me see.' },
      { kind: 'reasoningDelta', turnId: 't1', text: 'Let me see.', wasText: true },
      { kind: 'textDelta', turnId: 't1', text: 'Yes.' },
    );
    expect(model.turn).toMatchObject({ text: 'Yes.', reasoning: 'Let me see.' });
  });

  it('gives a new webview what the state of the server does not hold', () => {
    const host = run(
      fromState(state()),
      started('t0', 'u0'),
      finished('t0', { outcome: 'error', error: 'It broke.', advice: 'Try.' }),
      { kind: 'notice', level: 'info', text: 'n', code: '', turnId: '' },
      started('t1', 'u1'),
      { kind: 'reasoningDelta', turnId: 't1', text: 'Hm.', wasText: false },
      { kind: 'waiting', turnId: 't1', text: 'Soon', seconds: 1 },
    );
    const webview = fromState({
      ...host,
      messages: [...host.messages],
      files: [],
      consents: [],
      edits: [],
      queue: [],
      busyTurn: 't1',
      partialText: '',
    });
    expect(webview).toEqual({ ...host, turn: { ...host.turn, waiting: 'Soon' } });
  });
});

describe('what can be tried again', () => {
  it('is the last prompt without a complete reply, and nothing while a turn runs', () => {
    const asked = message('u1');
    const answered = message('a1', { role: 'assistant' });
    expect(retryGroup(fromState(state({ messages: [asked] })))).toBe('g-u1');
    expect(retryGroup(fromState(state({ messages: [asked, answered] })))).toBeNull();
    expect(retryGroup(fromState(state({ messages: [asked], busyTurn: 't' })))).toBeNull();
    expect(retryGroup(fromState(state()))).toBeNull();
  });
});

describe('the stream of events', () => {
  function stream(): { stream: EventStream; asked: () => number; seen: (Event | null)[] } {
    let asked = 0;
    const seen: (Event | null)[] = [];
    const made = new EventStream({
      changed: (_model, one) => seen.push(one),
      stateNeeded: () => {
        asked += 1;
      },
    });
    return { stream: made, asked: () => asked, seen };
  }

  it('asks once for the state and applies what arrived in the meantime', () => {
    const { stream: s, asked } = stream();
    s.push(event(11, started('t1', 'u1')));
    s.push(event(12, delta('t1', 'a')));
    expect(asked()).toBe(1);
    s.reset(state({ seq: 11, messages: [message('u1')], busyTurn: 't1' }));
    expect(s.model?.turn?.text).toBe('a');
    expect(asked()).toBe(1);
  });

  it('loses nothing over a gap', () => {
    const { stream: s, asked } = stream();
    s.reset(state({ seq: 10 }));
    s.push(event(11, started('t1', 'u1')));
    s.push(event(13, delta('t1', 'b')));
    s.push(event(14, delta('t1', 'c')));
    expect(asked()).toBe(1);
    s.reset(state({ seq: 13, busyTurn: 't1', partialText: 'ab', messages: [message('u1')] }));
    expect(s.model?.turn?.text).toBe('abc');
  });

  it('keeps what events say beyond a state that contains them', () => {
    const { stream: s } = stream();
    s.reset(state({ seq: 10 }));
    s.push(event(11, { kind: 'stateChanged', reason: 'retry' }));
    s.push(event(12, started('t1', 'u1')));
    s.push(event(13, { kind: 'waiting', turnId: 't1', text: 'Loading…', seconds: 1 }));
    s.push(event(14, { kind: 'notice', level: 'info', text: 'n', code: '', turnId: 't1' }));
    s.reset(state({ seq: 14, messages: [message('u1')], busyTurn: 't1' }));
    expect(s.model?.messages[0]?.contextLine).toBe('1 file');
    expect(s.model?.turn?.waiting).toBe('Loading…');
    expect(s.model?.notices.map((notice) => notice.text)).toEqual(['n']);
  });

  it('does not ask for ever when the state is of another session than an event', () => {
    const { stream: s, asked } = stream();
    s.reset(state({ seq: 10 }));
    s.push(event(11, delta('t9', 'x'), 'other'));
    s.reset(state({ seq: 11 }));
    s.push(event(12, delta('t9', 'y'), 'other'));
    s.push(event(13, started('t1', 'u1')));
    expect(asked()).toBe(1);
    expect(s.model?.messages).toHaveLength(1);
  });

  it('does not ask for ever when the state is older than the event that it was asked for', () => {
    const { stream: s, asked } = stream();
    s.reset(state({ seq: 10 }));
    s.push(event(15, started('t1', 'u1')));
    s.reset(state({ seq: 10 }));
    s.push(event(16, { kind: 'stateChanged', reason: 'undo' }));
    s.reset(state({ seq: 10 }));
    s.push(event(17, started('t2', 'u2')));
    expect(asked()).toBe(2);
    expect(s.model?.turn?.id).toBe('t2');
  });

  it('asks again after a state could not be had', () => {
    const { stream: s, asked } = stream();
    s.push(event(1, delta('t', 'x')));
    s.failed();
    s.push(event(2, delta('t', 'y')));
    expect(asked()).toBe(2);
  });
});
