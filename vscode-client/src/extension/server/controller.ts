/** The life of the server: one client for all folders, started again a bounded number of times. */
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  TransportKind,
} from 'vscode-languageclient/node';
import { EVENT, type Event, type Requests } from '../../protocol';
import { type Connection, parseEvent } from '../../shared/messages';
import * as notify from '../notify';
import { serverSettings } from '../settings';
import { NotConnectedError } from './errors';
import { addModel, forgetEnvironment, type LaunchContext, resolveLaunch } from './launch';
import { LaunchError } from './launchError';
import { logStream } from './logLines';
import { RestartBudget } from './restarts';

/** Without the library's own notifications: the controller reports a failure once, with advice. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export class ServerController implements vscode.Disposable {
  private readonly connectionChanged = new vscode.EventEmitter<Connection>();
  private readonly received = new vscode.EventEmitter<Event>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private readonly restarts = new RestartBudget();
  private client: LanguageClient | null = null;
  private current: Connection = { kind: 'starting', text: '', advice: '' };
  /** Starts, stops and restarts happen one after the other. */
  private queue: Promise<void> = Promise.resolve();
  private retryTimer: NodeJS.Timeout | undefined;
  private disposed = false;
  /** Ends a setup that is under way when the window closes. */
  private readonly closing = new AbortController();

  readonly onConnection = this.connectionChanged.event;
  readonly onEvent = this.received.event;
  /** Runs between the connection and the first request, for example to hand over keys. */
  beforeReady: () => Promise<void> = async () => {};
  /** Called with each new client before it starts. */
  onClient: (client: LanguageClient) => void = () => {};

  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions.push(
      this.connectionChanged,
      this.received,
      vscode.workspace.onDidChangeConfiguration((change) => this.configurationChanged(change)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
    );
  }

  get connection(): Connection {
    return this.current;
  }

  get ready(): boolean {
    return this.current.kind === 'ready';
  }

  start(): Promise<void> {
    return this.enqueue(() => this.open());
  }

  /** Restart at the user's request; the count of crashes starts from zero. */
  restart(): Promise<void> {
    clearTimeout(this.retryTimer);
    this.restarts.reset();
    return this.enqueue(async () => {
      await this.close();
      await this.open();
    });
  }

  /** Make the environment again, because the server crashes in it. */
  async setUpAnew(): Promise<void> {
    await forgetEnvironment(this.launchContext());
    await this.restart();
  }

  /**
   * The embedded model, which a package for one platform leaves out. The server goes on meanwhile.
   */
  async installModel(): Promise<void> {
    await addModel({ ...this.launchContext(), installing: () => {} });
    await this.restart();
  }

  /** Resolves when requests can be made; rejects when the server cannot be started. */
  async whenReady(): Promise<void> {
    const settled = (connection: Connection): boolean =>
      ['ready', 'failed', 'noPython', 'noServer', 'stopped'].includes(connection.kind);
    if (!settled(this.current)) {
      await new Promise<void>((resolve) => {
        const waiting = this.onConnection((connection) => {
          if (!settled(connection)) return;
          waiting.dispose();
          resolve();
        });
      });
    }
    if (!this.ready) {
      throw new NotConnectedError(this.current.text, this.current.advice);
    }
  }

  async request<M extends keyof Requests>(
    method: M,
    params: Requests[M][0],
    token?: vscode.CancellationToken,
  ): Promise<Requests[M][1]> {
    return await this.raw(method, params, token);
  }

  /** A request that the generated protocol does not declare (yet). */
  async raw<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    const client = this.client;
    if (client === null) {
      throw new NotConnectedError(
        vscode.l10n.t('The Tierline server is not running.'),
        this.current.advice,
      );
    }
    return token === undefined
      ? await client.sendRequest<R>(method, params)
      : await client.sendRequest<R>(method, params, token);
  }

  dispose(): void {
    this.disposed = true;
    this.closing.abort();
    clearTimeout(this.retryTimer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** For ``deactivate``: lets the server write what it has in memory. */
  stop(): Promise<void> {
    this.disposed = true;
    this.closing.abort();
    clearTimeout(this.retryTimer);
    return this.enqueue(() => this.close());
  }

  private enqueue(task: () => Promise<void>): Promise<void> {
    const run = this.queue.then(task);
    this.queue = run.catch((error) => this.log.error(String(error)));
    return this.queue;
  }

  private async open(): Promise<void> {
    if (this.disposed || this.client !== null) return;
    this.set({ kind: 'starting', text: '', advice: '' });
    let client: LanguageClient | null = null;
    try {
      const launch = await resolveLaunch(this.launchContext());
      this.set({ kind: 'starting', text: '', advice: '' });
      this.log.info(`Starting ${[launch.command, ...launch.args].join(' ')}`);
      const opened: LanguageClient = new QuietClient(
        'tierline',
        'Tierline',
        {
          command: launch.command,
          args: launch.args,
          transport: TransportKind.stdio,
          options: { cwd: launch.cwd, env: launch.env },
        },
        this.clientOptions(() => this.crashed(opened)),
      );
      client = opened;
      client.onNotification(EVENT, (value: unknown) => {
        const event = parseEvent(value);
        if (event === null) this.log.warn('The server sent an event that is not understood.');
        else this.received.fire(event);
      });
      this.onClient(client);
      this.client = client;
      await client.start();
      await this.beforeReady();
      this.set({ kind: 'ready', text: '', advice: '' });
    } catch (error) {
      // ``crashed`` has handled a crash while starting.
      if (client !== null && this.client !== client) return;
      this.client = null;
      this.failed(error);
    }
  }

  private async close(): Promise<void> {
    const client = this.client;
    this.client = null;
    if (client === null) return;
    try {
      await client.dispose(2_000);
    } catch (error) {
      this.log.warn(`While stopping the server: ${String(error)}`);
    }
  }

  private crashed(client: LanguageClient): void {
    if (this.disposed || this.client !== client) return;
    this.client = null;
    const wait = this.restarts.next(Date.now());
    if (wait === null) {
      this.report(
        new LaunchError(
          'failed',
          vscode.l10n.t('The Tierline server crashed repeatedly and is not started again.'),
          vscode.l10n.t('The log says why. Your conversation is saved.'),
        ),
        true,
      );
      return;
    }
    this.log.warn(`The server ended unexpectedly; it is started again in ${wait} ms.`);
    this.set({
      kind: 'restarting',
      text: vscode.l10n.t('The server ended unexpectedly and is being started again.'),
      advice: '',
    });
    this.retryTimer = setTimeout(() => void this.start(), wait);
  }

  private failed(error: unknown): void {
    if (this.disposed) return;
    if (error instanceof LaunchError) {
      this.report(error);
      return;
    }
    this.log.error(error instanceof Error ? error : String(error));
    this.report(
      new LaunchError(
        'failed',
        vscode.l10n.t('The Tierline server did not start: {0}', String(error)),
        vscode.l10n.t('The log says why. Restart the server when that is fixed.'),
      ),
    );
  }

  private report(error: LaunchError, crashed = false): void {
    this.log.error(`${error.message} ${error.advice}`);
    this.set({ kind: error.kind, text: error.message, advice: error.advice });
    if (error.kind === 'stopped') return;
    void this.offer(error, crashed);
  }

  private async offer(error: LaunchError, crashed: boolean): Promise<void> {
    const t = vscode.l10n.t;
    const [settings, restart, showLog, download, anew] = [
      t('Open Settings'),
      error.kind === 'noServer' ? t('Try Again') : t('Restart'),
      t('Show Log'),
      t('Get Python'),
      t('Set Up Anew'),
    ];
    const buttons = error.kind === 'noPython' ? [settings, restart] : [restart, showLog];
    if (error.download !== '') buttons.unshift(download);
    if (crashed) buttons.push(anew);
    const chosen = await notify.error(`${error.message} ${error.advice}`, ...buttons);
    if (chosen === settings) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'tierline.python');
    } else if (chosen === restart) await this.restart();
    else if (chosen === anew) await this.setUpAnew();
    else if (chosen === showLog) this.log.show();
    else if (chosen === download) await vscode.env.openExternal(vscode.Uri.parse(error.download));
  }

  private set(connection: Connection): void {
    this.current = connection;
    if (!this.disposed) this.connectionChanged.fire(connection);
  }

  private launchContext(): LaunchContext {
    return {
      storage: this.extension.globalStorageUri,
      extension: this.extension.extensionUri,
      version: String(this.extension.extension.packageJSON.version),
      log: this.log,
      closing: this.closing.signal,
      installing: (text) => this.set({ kind: 'installing', text, advice: '' }),
    };
  }

  private clientOptions(closed: () => void): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      outputChannel: this.log,
      traceOutputChannel: this.log,
      stdioOptions: {
        stdout: (stream) => logStream(stream, this.log),
        stderr: (stream) => logStream(stream, this.log),
      },
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: () => ({
        settings: serverSettings(),
      }),
      initializationFailedHandler: () => false,
      middleware: {
        // The editor's own actions for this take the selection into the chat, too
        // (code/actions.ts).
        provideCodeActions: async (document, range, context, token, next) =>
          (await next(document, range, context, token))?.filter(
            (one) => !ASKING.has(commandOf(one)),
          ),
        workspace: {
          configuration: (params) =>
            params.items.map((item) => (item.section === 'tierline' ? serverSettings() : null)),
        },
      },
      errorHandler: {
        error: (_error, _message, count) => ({
          action: (count ?? 0) <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown,
          handled: true,
        }),
        closed: () => {
          closed();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  private configurationChanged(change: vscode.ConfigurationChangeEvent): void {
    if (
      change.affectsConfiguration('tierline.python') ||
      change.affectsConfiguration('tierline.serverPath')
    ) {
      void this.restart();
    } else if (
      (change.affectsConfiguration('tierline') || change.affectsConfiguration('http')) &&
      this.ready
    ) {
      void this.client?.sendNotification('workspace/didChangeConfiguration', {
        settings: { tierline: serverSettings() },
      });
    }
  }
}

/** Commands of the server's code actions that ask the model. */
const ASKING = new Set(['tierline.chat.ask', 'tierline.ask']);

function commandOf(action: vscode.Command | vscode.CodeAction): string {
  return typeof action.command === 'string' ? action.command : (action.command?.command ?? '');
}
