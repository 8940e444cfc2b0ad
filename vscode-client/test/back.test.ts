/** Going back asks first, lists the files, and gives the prompt back. */
import { beforeEach, expect, it, vi } from 'vitest';
import { Back } from '../src/extension/back';
import type { Session } from '../src/extension/session';
import type { BackFile, BackPreview } from '../src/protocol';
import * as fake from './fake/vscode';

const file = (changes: Partial<BackFile>): BackFile => ({
  path: 'src/a.py',
  uri: '',
  change: 'restore',
  take: 'old',
  choices: ['old', 'mine'],
  yours: false,
  unsaved: false,
  added: 1,
  removed: 2,
  why: '',
  ...changes,
});
const preview: BackPreview = {
  groupId: 'g1',
  forward: false,
  prompt: 'Change a.',
  branch: '',
  files: [
    file({}),
    file({ path: 'gone.bin', take: 'mine', choices: ['mine'], why: 'It is no text.' }),
  ],
  notes: [],
  text: '',
};
const done = { prompt: 'Change a.', problems: [], changed: [], kept: [], text: '' };
const request = vi.fn();
const ask = vi.fn(async () => {});
const back = (): Back =>
  new Back({ server: { request }, model: null } as unknown as Session, { ask });
const answers = (seen: BackPreview): void => {
  request.mockImplementation(async (name: string) => (name.endsWith('preview') ? seen : done));
};

beforeEach(() => vi.clearAllMocks());

it('names every file in the question, and does nothing unless the user says so', async () => {
  answers(preview);
  fake.window.showWarningMessage.mockResolvedValueOnce('Stay Here');
  await back().toPrompt('g1');
  const [question, options, first] = fake.window.showWarningMessage.mock.calls[0] as unknown[];
  expect(question).toBe('Go back to the moment before this prompt?');
  expect(first, 'Enter changes nothing').toBe('Stay Here');
  const { detail } = options as { detail: string };
  expect(detail).toContain('src/a.py: changed back (+1 −2).');
  expect(detail).toContain('gone.bin: left as it is. It is no text.');
  expect(request).toHaveBeenCalledTimes(1);
});

it('goes back and puts the prompt into the input', async () => {
  answers(preview);
  fake.window.showWarningMessage.mockResolvedValueOnce('Go Back');
  await back().toPrompt('g1');
  expect(request).toHaveBeenLastCalledWith('tierline/back/go', { groupId: 'g1', choices: [] });
  expect(ask).toHaveBeenCalledWith('Change a.', false);
});

it('lets the user choose for each file that was changed since', async () => {
  answers({ ...preview, files: [file({ yours: true, take: 'mine', choices: ['mine', 'old'] })] });
  fake.window.showWarningMessage.mockResolvedValueOnce('Choose for Each File…');
  fake.window.showQuickPick.mockImplementationOnce(
    async (items: unknown) => (items as object[])[1],
  );
  await back().toPrompt('g1');
  const choices = [{ path: 'src/a.py', take: 'old' }];
  expect(request).toHaveBeenLastCalledWith('tierline/back/go', { groupId: 'g1', choices });
});
