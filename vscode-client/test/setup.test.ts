/** What the user reads while the server is set up, and when it cannot be. */
import { beforeEach, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import type { Environment, Source } from '../src/extension/server/environment';
import { explain } from '../src/extension/server/launch';
import {
  CancelledError,
  type Cause,
  InstallError,
  PIP,
  type Progress,
  saysProgress,
  stepOf,
  withProgress,
} from '../src/extension/server/pip';
import type { Interpreter } from '../src/extension/server/python';
import { explainFailure, install, words } from '../src/extension/server/setup';
import * as fake from './fake/vscode';

const log = fake.fakeLog() as unknown as vscode.LogOutputChannel;
const source: Source = { wheel: null, libs: null, version: '0.1.0' };
beforeEach(() => vi.clearAllMocks());

function environment(create: (progress: Progress) => Promise<string>): Environment {
  return {
    create: (_base: Interpreter, _source: Source, progress: Progress) => create(progress),
  } as unknown as Environment;
}

it('shows each step in the notification and in the view, and can be cancelled', async () => {
  const steps: string[] = [];
  const closing = new AbortController();
  const making = environment(async (progress) => {
    progress.step({ code: 'creating' });
    progress.step({ code: 'package', name: 'attrs', size: '63 kB' });
    await new Promise((resolve) => progress.signal.addEventListener('abort', resolve));
    throw new CancelledError();
  });
  const context = { log, closing: closing.signal, installing: (text: string) => steps.push(text) };
  const done = install(making, {} as Interpreter, source, context);
  await vi.waitFor(() =>
    expect(steps).toEqual(['creating the environment', 'downloading attrs (63 kB)']),
  );
  expect(fake.window.withProgress.mock.calls[0]?.[0]).toMatchObject({
    title: 'Tierline: setting up its server (once)',
    cancellable: true,
  });
  closing.abort();
  await expect(done).rejects.toMatchObject({ kind: 'stopped' });
});

it.each([
  ['network', 'cannot be reached', 'PIP_INDEX_URL'],
  ['certificate', 'certificate', 'PIP_CERT'],
  ['disk', 'disk is full', '300 MB'],
  ['permission', 'it broke', 'written to'],
  ['other', 'it broke', 'The log says more'],
] as [Cause, string, string][])('explains a failure by its cause: %s', (cause, says, advice) => {
  const error = explainFailure(new InstallError('pip ended with 1', 'it broke', cause));
  expect(error.kind).toBe('noServer');
  expect(error.message).toContain(says);
  expect(error.advice).toContain(advice);
  expect(error.advice).toMatch(/try again/i);
});

it('says what is wrong with the Python that was found, or that there is none', () => {
  const none = explain({ code: 'noPython', tooOld: [] });
  expect(none.message).toBe('Tierline needs Python 3.11 or newer, and none was found.');
  expect(none.advice).toMatch(/Install it with .*tierline\.python/);
  expect(none.download).toMatch(/^https:/);
  expect(explain({ code: 'noPython', tooOld: ['3.9.2'] }).message).toContain(
    'only 3.9.2 was found',
  );
  expect(
    explain({ code: 'tooOld', origin: 'setting', command: '/old', version: '3.9.2' }),
  ).toMatchObject({ message: '/old is Python 3.9.2; Tierline needs 3.11 or newer.' });
  expect(explain({ code: 'noVenv', command: '/p', version: '3.11.2' }).advice).toContain(
    'apt install python3-venv',
  );
});

it('shows how far a download is, each per cent once', async () => {
  const steps: string[] = [];
  const context = {
    log,
    closing: new AbortController().signal,
    installing: (text: string) => steps.push(text),
  };
  const making = environment(async (progress) => {
    progress.step({ code: 'model' });
    for (const bytes of [0, 1, 50, 50, 100]) progress.step({ code: 'far', bytes, of: 100 });
    return 'python';
  });
  await install(making, {} as Interpreter, source, context);
  const model = 'downloading the embedded model (132 MB)';
  expect(steps).toEqual([model, ...[0, 1, 50, 100].map((percent) => `${model}: ${percent} %`)]);
  expect(stepOf('Progress 5 of 10')).toEqual({ code: 'far', bytes: 5, of: 10 });
  expect(['pip 24.1 from x', 'pip 25.0', 'pip 23.3.1', ''].map(saysProgress)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(withProgress(PIP)).toContain('raw');
});

it('has words for every step', () => {
  for (const code of [
    ...(['waiting', 'creating', 'server', 'model'] as const),
    ...(['installing', 'checking', 'retrying'] as const),
  ]) {
    expect(words({ code })).not.toBe('');
  }
  expect(words({ code: 'package', name: 'x', size: '' })).toBe('downloading x');
});
