/** The sidebar: carries messages between the webview and the session. */
import * as vscode from 'vscode';
import type { EditorPlace } from '../protocol';
import { parseLink } from '../shared/links';
import {
  type Completion,
  type Connection,
  parseToHost,
  type SentEntry,
  type ToHost,
  type ToWebview,
} from '../shared/messages';
import type { ActiveEditor } from './activeEditor';
import type { ContextViews } from './contextViews';
import type { VirtualDocuments } from './documents';
import type { Edits } from './edits';
import { activeFile, type Files } from './files';
import { insert } from './insert';
import { askedAboutMentions } from './mentions/asking';
import type { Mentions } from './mentions/mentions';
import { openFileLink } from './openFile';
import { Replies } from './replies';
import { describeError } from './server/errors';
import type { Session } from './session';
import type { Sessions } from './sessions';
import type { SlashCommands } from './slash';
import type { ModelWays } from './ways';
import { webviewPage } from './webviewPage';
import { WentAlong } from './wentAlong';

export interface Selection {
  text: string;
  label: string;
  uri: string;
  firstLine: number;
  lastLine: number;
}

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  static readonly id = 'tierline.chat';

  private view: vscode.WebviewView | null = null;
  /** True once the webview is drawn and takes messages. */
  private listening = false;
  private selection: Selection | null = null;
  private wantsFocus = false;
  /** Messages for the webview that came before it was drawn. */
  private readonly waiting: ToWebview[] = [];
  private readonly replies: Replies;
  private readonly along: WentAlong;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly session: Session,
    private readonly files: Files,
    private readonly sessions: Pick<Sessions, 'turn'>,
    private readonly mentions: Mentions,
    private readonly slash: Pick<SlashCommands, 'run' | 'complete'>,
    private readonly views: Pick<ContextViews, 'showTurn'>,
    private readonly active: ActiveEditor,
    documents: Pick<VirtualDocuments, 'show'>,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.replies = new Replies(session);
    this.along = new WentAlong(session, documents);
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(ChatView.id, this),
      session.server.onConnection((connection) => this.post({ type: 'connection', connection })),
      active.onDidChange(() => this.postActive()),
      mentions.onSay((message) => this.post(message)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.postPlace()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.postPlace()),
      session.onChange(({ event }) => {
        if (event === null) this.postState();
        else this.post({ type: 'event', event });
      }),
    ];
  }

  /** Edits, for actions in the chat; set before the chat is shown. */
  edits: Pick<Edits, 'act' | 'review'> = {
    act: () => Promise.resolve(),
    review: () => Promise.resolve(),
  };
  ways: Pick<ModelWays, 'list' | 'take'> | null = null;

  get visible(): boolean {
    return this.view?.visible === true;
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.listening = false;
    const dist = vscode.Uri.joinPath(this.extension, 'dist');
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.html = webviewPage(view.webview, dist, 'webview', 'Tierline');
    view.webview.onDidReceiveMessage((value: unknown) => {
      const message = parseToHost(value);
      if (message === null) this.log.warn('The chat view sent a message that is not understood.');
      else void this.handle(message);
    });
    view.onDidDispose(() => {
      this.view = null;
      this.listening = false;
    });
    view.onDidChangeVisibility(() => {
      // A hidden webview is disposed; it sends "ready" again when it is shown.
      if (!view.visible) this.listening = false;
    });
  }

  async focus(): Promise<void> {
    this.wantsFocus = true;
    await vscode.commands.executeCommand(`${ChatView.id}.focus`);
    this.post({ type: 'focusInput' });
  }

  /** Attach this text to the next prompt; the user sees it and can remove it. */
  async attach(selection: Selection): Promise<void> {
    this.selection = selection;
    this.postSelection();
    await this.focus();
  }

  /** A prompt from a menu or a code action: sent, or put into the input for the user to finish. */
  async ask(text: string, send: boolean): Promise<void> {
    await this.focus();
    this.post({ type: 'ask', text, send });
  }

  private post(message: ToWebview): void {
    if (this.listening) void this.view?.webview.postMessage(message);
    else if (message.type === 'ask' || message.type === 'mention') this.waiting.push(message);
  }

  private postConnection(connection: Connection): void {
    this.post({ type: 'connection', connection });
  }

  private postPlace(): void {
    const folders = vscode.workspace.workspaceFolders ?? [];
    this.post({
      type: 'place',
      place: {
        trusted: vscode.workspace.isTrusted,
        virtual: folders.length > 0 && folders.every(({ uri }) => uri.scheme !== 'file'),
        roots: folders.slice(1).map(({ name }) => name),
      },
    });
  }

  private postState(): void {
    const model = this.session.model;
    if (model === null) return;
    this.post({
      type: 'state',
      state: {
        ...model,
        messages: model.messages.map((message) => ({ ...message })),
        consents: [...model.consents],
        edits: [...model.edits],
        queue: [...model.queue],
        files: [...model.files],
        busyTurn: model.turn?.id ?? '',
        partialText: model.turn?.text ?? '',
      },
    });
  }

  private postSelection(): void {
    this.post({
      type: 'selection',
      selection:
        this.selection === null
          ? null
          : { label: this.selection.label, characters: this.selection.text.length },
    });
  }

  private postActive(): void {
    this.post({ type: 'active', active: this.active.chip() });
  }

  private async handle(message: ToHost): Promise<void> {
    try {
      await this.dispatch(message);
    } catch (error) {
      const { message: text, advice } = describeError(error);
      this.log.warn(`${message.type}: ${text}`);
      this.post({ type: 'hint', level: 'error', text: `${text} ${advice}`.trim() });
    }
  }

  private async dispatch(message: ToHost): Promise<void> {
    const { server } = this.session;
    switch (message.type) {
      case 'ready':
        this.listening = true;
        this.postConnection(server.connection);
        this.postState();
        this.postSelection();
        this.postActive();
        this.postPlace();
        if (this.wantsFocus) this.post({ type: 'focusInput' });
        this.wantsFocus = false;
        for (const waiting of this.waiting.splice(0)) this.post(waiting);
        return;
      case 'resync':
        await this.session.refresh();
        return;
      case 'send':
        await this.send(message);
        return;
      case 'command':
        await this.command(message.ticket, message.text);
        return;
      case 'queue':
        await this.queue(message);
        return;
      case 'stop':
        await server.request('tierline/chat/cancel', {});
        return;
      case 'retry':
        await server.request('tierline/chat/retry', { groupId: message.groupId });
        return;
      case 'file':
        await this.file(message.verb, message.path);
        return;
      case 'review':
        await this.edits.review(message.verb, message);
        return;
      case 'turn':
        if (message.verb === 'back') {
          await vscode.commands.executeCommand('tierline.goBack', message.groupId);
          return;
        }
        await this.sessions.turn(message.verb, message.groupId, message.messageId);
        return;
      case 'showTurn':
        await this.views.showTurn(message.groupId);
        return;
      case 'undoCompaction':
        await this.session.server.request('tierline/compaction/undo', {
          compactionId: message.id,
        });
        return;
      case 'consent':
        await server.request('tierline/consent/answer', {
          id: message.id,
          answer: message.answer,
        });
        return;
      case 'edit':
        await this.edits.act(message.verb, message.id, message.hunks, message.reason);
        return;
      case 'addCurrentFile': {
        const uri = activeFile();
        if (uri !== undefined) await this.files.apply('add', [{ uri: uri.toString() }]);
        else await this.files.command('add');
        return;
      }
      case 'dropped':
      case 'mentions':
      case 'pasted':
      case 'openMention':
      case 'capture':
        await this.mentions.handle(message);
        return;
      case 'dropSelection':
        this.selection = null;
        this.postSelection();
        return;
      case 'toggleActive':
        await this.active.toggle();
        return;
      case 'openAttached':
        await this.along.openAttached(message.messageId, message.index);
        return;
      case 'openSent':
        await this.along.open(message.turnId, message.key);
        return;
      case 'sentList': {
        const { turnId } = message;
        let entries: SentEntry[] = [];
        try {
          entries = (await this.along.list(turnId)).entries;
        } finally {
          this.post({ type: 'sentList', turnId, entries });
        }
        return;
      }
      case 'ways':
        if (this.ways !== null) this.post({ type: 'ways', ways: await this.ways.list() });
        return;
      case 'way':
        await this.ways?.take(message);
        if (this.ways !== null) this.post({ type: 'ways', ways: await this.ways.list() });
        return;
      case 'complete': {
        const show = (items: Completion[]): void =>
          this.post({ type: 'completions', ticket: message.ticket, items });
        if (message.query.startsWith('/')) show(await this.slash.complete(message.query.slice(1)));
        else await this.mentions.complete(message.query, show);
        return;
      }
      case 'copy':
        await vscode.env.clipboard.writeText(message.text);
        return;
      case 'insert':
        await insert(message.text);
        return;
      case 'openLink':
        await this.openLink(message.href);
        return;
      case 'paths':
        this.post({
          type: 'paths',
          asked: message.paths,
          found: await this.replies.existing(message.paths),
        });
        return;
      case 'code':
        await this.replies.code(message);
        return;
      case 'openSettings':
        await vscode.commands.executeCommand('workbench.action.openSettings', 'tierline');
        return;
      case 'manageTrust':
        await vscode.commands.executeCommand('workbench.trust.manage');
        return;
      default:
        // The rest are commands of the same name.
        await vscode.commands.executeCommand(`tierline.${message.type}`);
    }
  }

  private async send(message: Extract<ToHost, { type: 'send' }>): Promise<void> {
    const { ticket } = message;
    const selection = this.selection;
    const active = selection === null ? this.active.taken() : null;
    const chosen = selection === null ? null : editorPlace(selection);
    const { given } = this.mentions;
    try {
      await this.session.server.whenReady();
      const prompt = {
        text: message.text,
        images: message.images,
        activeUri: selection?.uri || (activeFile()?.toString() ?? ''),
        selection: selection?.text ?? active?.selection ?? '',
        editor: chosen ?? active?.editor ?? null,
        agreed: message.agreed,
        given,
      };
      const { editing, steer } = message;
      const { server } = this.session;
      const result = await askedAboutMentions((mentions) =>
        editing === ''
          ? server.request('tierline/chat/send', { ...prompt, steer, mentions })
          : server.request('tierline/chat/edit', {
              groupId: editing,
              prompt: { ...prompt, mentions },
            }),
      );
      if (this.selection === selection) this.selection = null;
      this.mentions.sent(given);
      this.postSelection();
      this.post({
        type: 'sent',
        ticket,
        turnId: result.turnId,
        messageId: result.messageId,
        queued: result.queued,
        notices: result.notices,
      });
    } catch (error) {
      const { code, message: text, advice } = describeError(error);
      this.post({ type: 'refused', ticket, code, error: text, advice });
    }
  }

  private async queue(message: Extract<ToHost, { type: 'queue' }>): Promise<void> {
    const { server } = this.session;
    const { verb, turnId, text, to } = message;
    if (verb === 'change') await server.request('tierline/queue/change', { turnId, text });
    else if (verb === 'move') await server.request('tierline/queue/move', { turnId, to });
    else if (verb === 'remove') await server.request('tierline/queue/remove', { turnId });
    else await server.request('tierline/queue/steer', { turnId, steer: verb === 'steer' });
  }

  private async command(ticket: number, line: string): Promise<void> {
    try {
      await this.session.server.whenReady();
      const text = await this.slash.run(line, (prompt) =>
        this.send({
          type: 'send',
          ticket,
          text: prompt,
          images: [],
          agreed: [],
          steer: false,
          editing: '',
        }),
      );
      this.post({ type: 'commandDone', ticket, text });
    } catch (error) {
      const { code, message: text, advice } = describeError(error);
      this.post({ type: 'refused', ticket, code, error: text, advice });
    }
  }

  private async file(verb: Extract<ToHost, { type: 'file' }>['verb'], path: string): Promise<void> {
    const known = this.session.model?.files.find((file) => file.path === path);
    if (verb === 'open' || verb === 'explain') {
      const uri = known === undefined ? null : vscode.Uri.parse(known.uri);
      if (uri === null) await openFileLink({ kind: 'file', path, line: null, column: null });
      else if (verb === 'open') await vscode.commands.executeCommand('vscode.open', uri);
      else await vscode.commands.executeCommand('tierline.explainContext', uri);
      return;
    }
    await this.files.apply(verb, [known === undefined ? { path } : { uri: known.uri }]);
  }

  private async openLink(href: string): Promise<void> {
    const link = parseLink(href);
    if (link === null) {
      this.post({
        type: 'hint',
        level: 'warning',
        text: vscode.l10n.t('This link is not opened: {0}', href.slice(0, 200)),
      });
    } else if (link.kind === 'external') {
      await vscode.env.openExternal(vscode.Uri.parse(link.url));
    } else if (!(await openFileLink(link))) {
      this.post({
        type: 'hint',
        level: 'warning',
        text: vscode.l10n.t('{0} is not in the workspace.', link.path),
      });
    }
  }
}

function editorPlace(selection: Selection): EditorPlace {
  const { uri, firstLine, lastLine } = selection;
  return { uri, firstLine, lastLine, cursorLine: firstLine };
}
