import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { ServerController } from '../src/extension/server/controller';
import { addModel, forgetEnvironment, resolveLaunch } from '../src/extension/server/launch';
import { LaunchError } from '../src/extension/server/launchError';
import * as fake from './fake/vscode';

interface Options {
  errorHandler: { closed(): { action: number } };
  initializationOptions: () => unknown;
}

/** Stands for the library's client; the tests decide when it starts, fails and crashes. */
const Client = vi.hoisted(() => {
  class FakeClient {
    static all: FakeClient[] = [];
    static start: () => Promise<void> = async () => {};
    readonly notified: unknown[][] = [];
    readonly handlers = new Map<string, (value: unknown) => void>();
    disposed = false;

    constructor(
      _id: string,
      _name: string,
      readonly server: { command: string; args: string[] },
      readonly options: Options,
    ) {
      FakeClient.all.push(this);
    }
    start(): Promise<void> {
      return FakeClient.start();
    }
    error(): void {}
    onNotification(method: string, handler: (value: unknown) => void): void {
      this.handlers.set(method, handler);
    }
    async sendNotification(...values: unknown[]): Promise<void> {
      this.notified.push(values);
    }
    async sendRequest(method: string): Promise<string> {
      return `answer to ${method}`;
    }
    async dispose(): Promise<void> {
      this.disposed = true;
    }
    crash(): void {
      this.options.errorHandler.closed();
    }
  }
  return FakeClient;
});
type Client = InstanceType<typeof Client>;

vi.mock('vscode-languageclient/node', () => ({
  CloseAction: { DoNotRestart: 1, Restart: 2 },
  ErrorAction: { Continue: 1, Shutdown: 2 },
  RevealOutputChannelOn: { Never: 4 },
  TransportKind: { stdio: 0 },
  LanguageClient: Client,
}));
vi.mock(import('../src/extension/server/launch'), async (original) => ({
  ...(await original()),
  resolveLaunch: vi.fn(),
  addModel: vi.fn(),
  forgetEnvironment: vi.fn(),
}));

const launch = vi.mocked(resolveLaunch);
const log = fake.fakeLog() as unknown as vscode.LogOutputChannel;
const context = {
  globalStorageUri: fake.Uri.file('/storage'),
  extensionUri: fake.Uri.file('/ext'),
  extension: { packageJSON: { version: '0.1.0' } },
} as unknown as vscode.ExtensionContext;

let controller: ServerController;
let kinds: string[];
beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
  Client.all = [];
  Client.start = async () => {};
  launch.mockResolvedValue({
    command: 'python',
    args: ['-m', 'tierline', 'serve'],
    cwd: '/',
    env: {},
  });
  controller = new ServerController(context, log);
  kinds = [];
  controller.onConnection(({ kind }) => kinds.push(kind));
});
afterEach(() => {
  controller.dispose();
  vi.useRealTimers();
});

const newest = (): Client => {
  const client = Client.all.at(-1);
  if (client === undefined) throw new Error('no client was made');
  return client;
};

describe('the life of the server', () => {
  it('begins with the keys, before anything else is asked', async () => {
    const before = vi.fn(async () => {
      expect(controller.ready).toBe(false);
    });
    controller.beforeReady = before;
    await controller.start();
    expect(before).toHaveBeenCalledOnce();
    expect(controller.ready).toBe(true);
    expect(newest().server).toMatchObject({ command: 'python', args: ['-m', 'tierline', 'serve'] });
    expect(newest().options.initializationOptions()).toEqual({
      settings: { tools: { workspaceTrusted: true } },
    });
  });

  it('goes on after a crash, four times in three minutes and no more', async () => {
    await controller.start();
    for (let crash = 1; crash <= 4; crash++) {
      newest().crash();
      expect(kinds.at(-1)).toBe('restarting');
      await vi.advanceTimersByTimeAsync(5_000);
      expect(controller.ready).toBe(true);
      expect(Client.all).toHaveLength(crash + 1);
    }
    newest().crash();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Client.all).toHaveLength(5);
    expect(kinds.at(-1)).toBe('failed');
    expect(vi.mocked(fake.window.showErrorMessage)).toHaveBeenCalledOnce();
    expect(fake.window.showErrorMessage.mock.calls[0]?.slice(1)).toEqual([
      'Restart',
      'Show Log',
      'Set Up Anew',
    ]);
  });

  it('can be set up anew where its environment is damaged', async () => {
    await controller.start();
    fake.window.showErrorMessage.mockResolvedValueOnce('Set Up Anew');
    for (let crash = 0; crash < 5; crash++) {
      newest().crash();
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(vi.mocked(forgetEnvironment)).toHaveBeenCalledOnce();
    expect(controller.ready).toBe(true);
  });

  it('begins anew when the user restarts it', async () => {
    await controller.start();
    for (let crash = 0; crash < 5; crash++) {
      newest().crash();
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(controller.ready).toBe(false);
    await controller.restart();
    expect(controller.ready).toBe(true);
    newest().crash();
    await vi.advanceTimersByTimeAsync(0);
    expect(controller.ready).toBe(true);
  });

  it('counts a crash while starting once, and says nothing until the end', async () => {
    Client.start = async () => {
      newest().crash();
      throw new Error('Pending response rejected since connection got disposed');
    };
    await controller.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Client.all).toHaveLength(5);
    expect(fake.window.showErrorMessage).toHaveBeenCalledOnce();
    expect(kinds.at(-1)).toBe('failed');
  });

  it('does not restart what was stopped on purpose', async () => {
    await controller.start();
    const client = newest();
    await controller.stop();
    expect(client.disposed).toBe(true);
    client.crash();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Client.all).toHaveLength(1);
  });

  it('says that Python is missing, with a button for where to get it', async () => {
    launch.mockRejectedValue(
      new LaunchError('noPython', 'No Python.', 'Install it.', 'https://python.example/'),
    );
    fake.window.showErrorMessage.mockResolvedValueOnce('Get Python');
    await controller.start();
    expect(controller.connection).toEqual({
      kind: 'noPython',
      text: 'No Python.',
      advice: 'Install it.',
    });
    expect(fake.window.showErrorMessage.mock.calls[0]).toEqual([
      'No Python. Install it.',
      'Get Python',
      'Open Settings',
      'Restart',
    ]);
    await vi.advanceTimersByTimeAsync(0);
    expect(String(fake.env.openExternal.mock.calls[0]?.[0])).toContain('https://');
    await expect(controller.request('tierline/state/get', {})).rejects.toThrow('not running');
  });

  it('offers another try when the server could not be downloaded, and takes it', async () => {
    launch.mockRejectedValueOnce(new LaunchError('noServer', 'No index.', 'Try again.'));
    fake.window.showErrorMessage.mockResolvedValueOnce('Try Again');
    await controller.start();
    expect(controller.connection).toMatchObject({ kind: 'noServer', text: 'No index.' });
    expect(fake.window.showErrorMessage.mock.calls[0]?.slice(1)).toEqual(['Try Again', 'Show Log']);
    await vi.advanceTimersByTimeAsync(0);
    expect(controller.ready).toBe(true);
  });

  it('ends a setup that is under way when the window closes', async () => {
    launch.mockImplementationOnce(
      (asked) =>
        new Promise((_resolve, reject) => {
          asked.closing.addEventListener('abort', () =>
            reject(new LaunchError('stopped', 'Cancelled.', '')),
          );
        }),
    );
    const started = controller.start();
    await vi.advanceTimersByTimeAsync(0);
    await controller.stop();
    await started;
    expect(Client.all).toHaveLength(0);
    expect(fake.window.showErrorMessage).not.toHaveBeenCalled();
  });

  it('installs the embedded model and starts again with it; a failure leaves the server', async () => {
    await controller.start();
    await controller.installModel();
    expect(vi.mocked(addModel)).toHaveBeenCalledOnce();
    expect(Client.all).toHaveLength(2);
    vi.mocked(addModel).mockRejectedValueOnce(new LaunchError('noServer', 'No index.', 'Later.'));
    await expect(controller.installModel()).rejects.toThrow('No index.');
    expect(controller.ready).toBe(true);
    expect(Client.all).toHaveLength(2);
  });

  it('lets a prompt wait for it, and refuses when it cannot be had', async () => {
    const waiting = controller.whenReady();
    await controller.start();
    await expect(waiting).resolves.toBeUndefined();
    launch.mockRejectedValue(new LaunchError('failed', 'It broke.', 'Mend it.'));
    await controller.restart();
    await expect(controller.whenReady()).rejects.toMatchObject({
      message: 'It broke.',
      data: { advice: 'Mend it.' },
    });
  });

  it('passes events on and drops what is none', async () => {
    const seen: unknown[] = [];
    controller.onEvent((event) => seen.push(event));
    await controller.start();
    const receive = newest().handlers.get('tierline/chat/event');
    receive?.({ seq: 1, sessionId: 's', body: { kind: 'textDelta', turnId: 't', text: 'x' } });
    receive?.({ seq: 'one' });
    expect(seen).toHaveLength(1);
    expect(log.warn).toHaveBeenCalled();
  });

  it('tells changed settings, and restarts for another Python', async () => {
    await controller.start();
    const changed = (name: string): void =>
      fake.configurationChanged.fire({
        affectsConfiguration: (asked) => name === asked || name.startsWith(`${asked}.`),
      });
    fake.configuration.contextMode = 'heavy';
    changed('tierline.contextMode');
    expect(newest().notified).toEqual([
      [
        'workspace/didChangeConfiguration',
        {
          settings: {
            tierline: { context: { mode: 'heavy' }, tools: { workspaceTrusted: true } },
          },
        },
      ],
    ]);
    delete fake.configuration.contextMode;
    changed('editor.fontSize');
    expect(newest().notified).toHaveLength(1);
    changed('tierline.python');
    await vi.advanceTimersByTimeAsync(0);
    expect(Client.all).toHaveLength(2);
  });
});
