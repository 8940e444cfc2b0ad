/**
 * Mentions with `@`: completing and resolving them, and content of the editor for the next prompt.
 */
import * as vscode from 'vscode';
import type { EditorContent, MentionInfo } from '../../protocol';
import type { Completion, Mentioned, ToHost, ToWebview } from '../../shared/messages';
import type { VirtualDocuments } from '../documents';
import { openFileLink } from '../openFile';
import type { Session } from '../session';

const SHOWN = 60;
/** How many files and folders of a list have their sizes looked up. */
const SIZED = 12;
const QUIET_MS = 150;
/** How often, and after how many milliseconds, an incomplete list is requested again. */
const AGAIN = 5;
const AGAIN_MS = 300;

type Handled = Extract<
  ToHost,
  { type: 'mentions' | 'pasted' | 'openMention' | 'capture' | 'dropped' }
>;

export class Mentions implements vscode.Disposable {
  private readonly said = new vscode.EventEmitter<ToWebview>();
  private readonly captured: EditorContent[] = [];
  private draft = '';
  private timer: NodeJS.Timeout | undefined;
  private query = 0;

  /** For the webview. */
  readonly onSay = this.said.event;

  constructor(
    private readonly session: Session,
    private readonly documents: Pick<VirtualDocuments, 'show'>,
  ) {}

  dispose(): void {
    clearTimeout(this.timer);
    this.said.dispose();
  }

  /** Content for the next prompt without a mention. */
  get given(): EditorContent[] {
    return [...this.captured];
  }

  /** The prompt with these has been sent. */
  sent(given: readonly EditorContent[]): void {
    for (const one of given) {
      const at = this.captured.indexOf(one);
      if (at >= 0) this.captured.splice(at, 1);
    }
    if (given.length > 0) this.soon(0);
  }

  /** Attach content of the editor to the next prompt. */
  capture(...given: EditorContent[]): void {
    for (const one of given) {
      const same = this.captured.some((other) => JSON.stringify(other) === JSON.stringify(one));
      if (!same) this.captured.push(one);
    }
    this.soon(0);
  }

  /**
   * The completions of the letters after an `@`. ``show`` is called again when sizes are known, and
   * when the server has more: it answers with what there is.
   */
  async complete(query: string, show: (items: Completion[]) => void): Promise<void> {
    this.query += 1;
    const mine = this.query;
    for (let left = AGAIN; left >= 0; left -= 1) {
      const more = await this.listed(query, show);
      if (!more || left === 0) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      if (mine !== this.query) return;
    }
  }

  /** Fetch one list; true if it is incomplete. */
  private async listed(query: string, show: (items: Completion[]) => void): Promise<boolean> {
    const { server } = this.session;
    if (!server.ready) {
      show([]);
      return false;
    }
    const asked = { query, limit: SHOWN };
    const { items, incomplete } = await server.request('tierline/mention/complete', asked);
    const more = incomplete && items.length < SHOWN;
    const shown = items.map(({ text, kind, label, detail, tokens, why, expands }) => ({
      ...{ path: text, kind, label, tokens, expands },
      detail: why || detail,
    }));
    show(shown);
    const unsized = shown.filter(
      ({ kind, tokens }) => tokens === null && (kind === 'file' || kind === 'folder'),
    );
    if (unsized.length === 0) return more;
    const text = unsized
      .slice(0, SIZED)
      .map(({ path }) => path)
      .join(' ');
    const { mentions } = await server.request('tierline/mention/resolve', { text, given: [] });
    const sizes = new Map(mentions.map((one) => [one.text, one.tokens]));
    show(shown.map((one) => ({ ...one, tokens: one.tokens ?? sizes.get(one.path) ?? null })));
    return more;
  }

  async handle(message: Handled): Promise<void> {
    switch (message.type) {
      case 'mentions':
        this.draft = message.text;
        this.soon();
        return;
      case 'pasted': {
        const mention = await mentionOfPath(message.text.trim());
        if (mention !== null) {
          this.said.fire({ type: 'located', text: message.text.trim(), mention });
        }
        return;
      }
      case 'dropped':
        await this.add(message.uris.map((uri) => vscode.Uri.parse(uri)));
        return;
      case 'capture':
        if (message.verb === 'open') await this.open(message.index);
        else {
          this.captured.splice(message.index, 1);
          this.soon(0);
        }
        return;
      case 'openMention':
        await openMention(message.kind, message.text);
    }
  }

  /** Put a mention into the draft. */
  mention(text: string): void {
    this.said.fire({ type: 'mention', text });
  }

  /** Mention files and folders in the draft. */
  async add(uris: readonly vscode.Uri[]): Promise<void> {
    const outside: string[] = [];
    for (const uri of uris.slice(0, 20)) {
      const text = await mentionOfUri(uri);
      if (text === null) outside.push(vscode.workspace.asRelativePath(uri));
      else this.mention(text);
    }
    if (outside.length === 0) return;
    this.said.fire({
      type: 'hint',
      level: 'warning',
      text: vscode.l10n.t('{0} is not in the workspace.', outside.join(', ')),
    });
  }

  private soon(quiet = QUIET_MS): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.resolve(), quiet);
  }

  private async resolve(): Promise<void> {
    const { draft } = this;
    const given = this.given;
    const none = draft === '' && given.length === 0;
    if (!none && !this.session.server.ready) return;
    try {
      const found = none
        ? { mentions: [], given: [] }
        : await this.session.server.request('tierline/mention/resolve', { text: draft, given });
      // Look up next what was typed meanwhile.
      if (draft !== this.draft || given.length !== this.captured.length) return;
      this.said.fire({
        type: 'mentioned',
        mentions: distinct(found.mentions.map(chip)),
        given: found.given.map((one) => ({ ...chip(one), text: '' })),
      });
    } catch {
      // Without chips the prompt can still be sent: the server asks about it then.
    }
  }

  private async open(index: number): Promise<void> {
    const one = this.captured[index];
    if (one === undefined) return;
    const name = one.label || vscode.l10n.t('Sent with the prompt');
    const problems = (one.problems ?? []).map(
      ({ uri, line, severity, message, source, code }) =>
        `${vscode.workspace.asRelativePath(vscode.Uri.parse(uri))}:${line}: ${severity}: ` +
        [message, source, code].filter((part) => part).join(' '),
    );
    await this.documents.show(name, async () => one.text || problems.join('\n'));
  }
}

function chip(info: MentionInfo): Mentioned {
  const { text, kind, label, detail, tokens, state, why } = info;
  return { text, kind, label, detail: why || detail, tokens, state };
}

function distinct(found: Mentioned[]): Mentioned[] {
  return [...new Map(found.map((one) => [one.text, one])).values()];
}

/** Open what a mention stands for. */
export async function openMention(kind: string, text: string): Promise<void> {
  const name = text.replace(/^@/, '').replace(/^"(.*)"$/, '$1');
  if (kind === 'file' || kind === 'excerpt')
    await openFileLink({ kind: 'file', path: name, line: null, column: null });
  else if (kind === 'folder') {
    const uri = await located(name);
    if (uri !== null) await vscode.commands.executeCommand('revealInExplorer', uri);
  } else if (kind === 'web') await vscode.env.openExternal(vscode.Uri.parse(name, true));
  else if (kind === 'problems') {
    await vscode.commands.executeCommand('workbench.actions.view.problems');
  } else if (kind === 'terminal') {
    await vscode.commands.executeCommand('workbench.action.terminal.focus');
  } else if (kind === 'git') await vscode.commands.executeCommand('workbench.view.scm');
  else if (kind === 'symbol') {
    const query = `#${name.replace(/^symbol:/, '')}`;
    await vscode.commands.executeCommand('workbench.action.quickOpen', query);
  } else if (kind === 'memo') await vscode.commands.executeCommand('tierline.memos.focus');
  else if (kind === 'session') await vscode.commands.executeCommand('tierline.sessions');
}

/** A path as it is pasted, absolute or of the workspace, as a mention; null if it names nothing. */
async function mentionOfPath(text: string): Promise<string | null> {
  const uri = /^file:/i.test(text) ? vscode.Uri.parse(text) : await located(text);
  return uri === null ? null : await mentionOfUri(uri);
}

async function located(path: string): Promise<vscode.Uri | null> {
  const absolute = /^(?:[a-z]:)?[\\/]/i.test(path);
  const folders = vscode.workspace.workspaceFolders ?? [];
  const uris = absolute
    ? [vscode.Uri.file(path)]
    : folders.flatMap((folder) => [
        vscode.Uri.joinPath(folder.uri, path),
        ...(path.startsWith(`${folder.name}/`)
          ? [vscode.Uri.joinPath(folder.uri, path.slice(folder.name.length + 1))]
          : []),
      ]);
  for (const uri of uris) {
    if (vscode.workspace.getWorkspaceFolder(uri) === undefined) continue;
    if ((await typeOf(uri)) !== null) return uri;
  }
  return null;
}

/** As it is written in a prompt: `@src/a.py`, `@"My Docs/"`; null if it lies outside. */
async function mentionOfUri(uri: vscode.Uri): Promise<string | null> {
  if (vscode.workspace.getWorkspaceFolder(uri) === undefined) return null;
  const type = await typeOf(uri);
  if (type === null) return null;
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  const path = vscode.workspace.asRelativePath(uri, several);
  const name = type === vscode.FileType.Directory ? `${path}/` : path;
  return /[\s'"`]/.test(name) ? `@"${name.replace(/"/g, '\\"')}"` : `@${name}`;
}

async function typeOf(uri: vscode.Uri): Promise<vscode.FileType | null> {
  try {
    const { type } = await vscode.workspace.fs.stat(uri);
    return (type & vscode.FileType.Directory) !== 0 ? vscode.FileType.Directory : type;
  } catch {
    return null;
  }
}
