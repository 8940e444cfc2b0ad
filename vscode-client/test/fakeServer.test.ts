import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { EVENT } from '../src/protocol';
import { EventStream } from '../src/shared/eventStream';
import { parseEvent, parseState } from '../src/shared/messages';

/** The stand-in server as a process of its own, with the client's own stream of events on it. */
let child: ChildProcess;
let connection: MessageConnection;
let stream: EventStream;

beforeEach(() => {
  child = spawn(process.execPath, [path.join(import.meta.dirname, 'fake/server.mjs')], {
    env: { ...process.env, FAKE_DELAY: '30', FAKE_REPLY: 'One two three four five.' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdout === null || child.stdin === null) throw new Error('no pipes');
  connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  const fetch = async (): Promise<void> => {
    const state = parseState(await connection.sendRequest('tierline/state/get', {}));
    if (state !== null) stream.reset(state);
  };
  stream = new EventStream({ changed: () => {}, stateNeeded: () => void fetch() });
  connection.onNotification(EVENT, (value: unknown) => {
    const event = parseEvent(value);
    if (event === null) throw new Error(`not an event: ${JSON.stringify(value)}`);
    stream.push(event);
  });
  connection.listen();
});
afterEach(() => {
  connection.dispose();
  child.kill();
});

describe('over a real pipe', () => {
  it('a client that comes in the middle of a reply has all of it in the end', async () => {
    await connection.sendRequest('tierline/chat/send', { text: 'hello' });
    await expect
      .poll(() => stream.model?.messages.map((message) => message.text))
      .toEqual(['hello', 'One two three four five.']);
    expect(stream.model?.turn).toBeNull();
    expect(stream.model?.budget.sections.reduce((sum, one) => sum + one.tokens, 0)).toBe(
      stream.model?.budget.used,
    );
  });

  it('a stopped reply keeps what has come, and a retry replaces it', async () => {
    await connection.sendRequest('tierline/chat/send', { text: 'hello' });
    await expect.poll(() => stream.model?.turn?.text).toBeTruthy();
    expect(await connection.sendRequest('tierline/chat/cancel', {})).toMatchObject({
      cancelled: true,
    });
    await expect.poll(() => stream.model?.messages.at(-1)?.status).toBe('interrupted');
    const stopped = stream.model?.messages.at(-1);
    expect('One two three four five.').toContain(stopped?.text);
    await connection.sendRequest('tierline/chat/retry', { groupId: stopped?.groupId });
    await expect.poll(() => stream.model?.messages.at(-1)?.text).toBe('One two three four five.');
    expect(stream.model?.messages).toHaveLength(2);
    expect(stream.model?.messages[0]?.contextLine).toContain('CTX light');
  });
});
