/** *Compact Conversation Now*: what is asked first, and what is sent. */
import { beforeEach, expect, it, vi } from 'vitest';
import { compactNow } from '../src/extension/compaction';
import type { Session } from '../src/extension/session';
import * as fake from './fake/vscode';

const request = vi.fn(async () => ({ case: 'none', reason: 'It is short.' }));
const session = { server: { request } } as unknown as Session;

beforeEach(() => vi.clearAllMocks());

it.each([
  ['  Keep the names. ', 'Keep the names.'],
  ['', ''],
])('%j goes to the summariser', async (typed, sent) => {
  fake.window.showInputBox.mockResolvedValueOnce(typed as never);
  await compactNow(session);
  expect(request).toHaveBeenCalledExactlyOnceWith('tierline/compaction/run', {
    instructions: sent,
  });
  expect(fake.window.showInformationMessage).toHaveBeenCalledWith(
    'Nothing was compacted. It is short.',
  );
});

it('Escape leaves the conversation as it is', async () => {
  await compactNow(session);
  expect(request).not.toHaveBeenCalled();
});
