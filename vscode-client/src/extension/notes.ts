/** STATE and scratchpad as documents: the one to read, the other to edit and save. */
import * as vscode from 'vscode';
import type { VirtualDocuments } from './documents';
import { FlatFiles } from './flatFiles';
import { describeError } from './server/errors';
import type { Session } from './session';

const SCHEME = 'tierline-notes';
const STATE_NAME = 'STATE.md';

/** The scratchpad as a file of its own scheme. Each session has its own. */
export class Notes extends FlatFiles implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly subscriptions: vscode.Disposable[] = [this.changed];
  private version = '';
  private size = 0;
  private modified = 0;
  private stateShown = false;

  readonly onDidChangeFile = this.changed.event;

  constructor(
    private readonly session: Session,
    private readonly documents: VirtualDocuments,
  ) {
    super();
    this.subscriptions.push(
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true }),
      session.onChange(({ event }) => {
        const body = event?.body;
        if (body?.kind === 'notesChanged' && body.which === 'scratchpad') this.fire();
        if (event === null || body?.kind === 'notesChanged' || body?.kind === 'turnFinished') {
          if (this.stateShown) this.documents.refresh(STATE_NAME);
        }
      }),
    );
  }

  async openScratchpad(): Promise<void> {
    const session = this.session.model?.sessionId ?? '';
    if (session === '') await this.session.server.whenReady();
    const uri = vscode.Uri.from({
      scheme: SCHEME,
      path: `/${this.session.model?.sessionId ?? 'session'}/Scratchpad.md`,
    });
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false });
  }

  async openState(): Promise<void> {
    this.stateShown = true;
    await this.documents.show(STATE_NAME, async () => {
      const anchor = await this.session.server.request('tierline/history/anchor', {});
      if (anchor.text !== '') return `${anchor.text}\n`;
      return anchor.enabled
        ? vscode.l10n.t('There is no STATE yet: the model writes it at the end of its replies.')
        : vscode.l10n.t('STATE is off for this model (setting tierline.stateAnchor).');
    });
  }

  async rebuild(): Promise<void> {
    await vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: vscode.l10n.t('Deriving STATE from the conversation…'),
      },
      () => this.session.server.request('tierline/history/rebuild', {}),
    );
    await this.openState();
  }

  // --- the file system: one file ------------------------------------------------------------------

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    await this.known();
    this.ours(uri);
    await this.fetch();
    return { type: vscode.FileType.File, ctime: 0, mtime: this.modified, size: this.size };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    await this.known();
    this.ours(uri);
    return new TextEncoder().encode(await this.fetch());
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    this.ours(uri);
    try {
      const saved = await this.session.server.request('tierline/scratchpad/set', {
        text: new TextDecoder().decode(content),
        version: this.version,
      });
      this.keep(saved.text, saved.version);
    } catch (error) {
      const { code, message, advice } = describeError(error);
      if (code === 'conflict') this.fire();
      throw new vscode.FileSystemError(`${message} ${advice}`.trim());
    }
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** VS Code reads a restored tab before the server runs. */
  private async known(): Promise<void> {
    await this.session.server.whenReady();
    if (this.session.model === null) await this.session.refresh();
  }

  /** Each session's scratchpad is its own: that of another session cannot be written from here. */
  private ours(uri: vscode.Uri): void {
    const session = this.session.model?.sessionId ?? '';
    if (session !== '' && !uri.path.startsWith(`/${session}/`)) {
      throw vscode.FileSystemError.Unavailable(
        vscode.l10n.t('This scratchpad belongs to another session; open that session first.'),
      );
    }
  }

  private async fetch(): Promise<string> {
    const { text, version } = await this.session.server.request('tierline/scratchpad/get', {});
    this.keep(text, version);
    return text;
  }

  private keep(text: string, version: string): void {
    if (version !== this.version) this.modified = Math.max(Date.now(), this.modified + 1);
    this.version = version;
    this.size = new TextEncoder().encode(text).length;
  }

  private fire(): void {
    const session = this.session.model?.sessionId ?? 'session';
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${session}/Scratchpad.md` });
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }
}
