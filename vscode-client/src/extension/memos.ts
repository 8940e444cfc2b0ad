/** Memos: a tree of what is known, each memo as a document to edit, search, and commands. */
import * as vscode from 'vscode';
import type { MemoInfo } from '../protocol';
import { fileName, memoText, parseMemo, title } from '../shared/memos';
import { confirmed } from './confirm';
import { FlatFiles } from './flatFiles';
import * as notify from './notify';
import { describeError } from './server/errors';
import type { Session } from './session';

const SCHEME = 'tierline-memo';
const SEARCH_DELAY_MS = 200;

type Scope = MemoInfo['scope'];
type Node = { kind: 'scope'; scope: Scope; memos: MemoInfo[] } | { kind: 'memo'; memo: MemoInfo };

interface Pick extends vscode.QuickPickItem {
  memo?: MemoInfo;
}

/** The tree's data, and a file system whose files are memos. */
export class Memos
  extends FlatFiles
  implements vscode.TreeDataProvider<Node>, vscode.FileSystemProvider, vscode.Disposable
{
  private readonly treeChanged = new vscode.EventEmitter<undefined>();
  private readonly filesChanged = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly subscriptions: vscode.Disposable[] = [this.treeChanged, this.filesChanged];
  private readonly known = new Map<string, MemoInfo>();
  private readonly names = new Map<string, string>();

  readonly onDidChangeTreeData = this.treeChanged.event;
  readonly onDidChangeFile = this.filesChanged.event;

  constructor(private readonly session: Session) {
    super();
    this.subscriptions.push(
      vscode.window.registerTreeDataProvider('tierline.memos', this),
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true }),
      session.onChange(({ event }) => {
        if (event === null || event.body.kind === 'memosChanged') this.treeChanged.fire(undefined);
      }),
    );
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  // --- the tree -----------------------------------------------------------------------------------

  async getChildren(node?: Node): Promise<Node[]> {
    if (node?.kind === 'scope') return node.memos.map((memo) => ({ kind: 'memo', memo }));
    if (node !== undefined || !this.session.server.ready) return [];
    const memos = await this.list();
    const scopes: Scope[] = ['project', 'user'];
    return scopes
      .map((scope) => ({
        kind: 'scope' as const,
        scope,
        memos: memos.filter((memo) => memo.scope === scope),
      }))
      .filter((group) => group.memos.length > 0);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (node.kind === 'scope') {
      const item = new vscode.TreeItem(
        scopeName(node.scope),
        vscode.TreeItemCollapsibleState.Expanded,
      );
      item.id = `scope:${node.scope}`;
      item.iconPath = new vscode.ThemeIcon(node.scope === 'user' ? 'account' : 'root-folder');
      item.contextValue = 'scope';
      return item;
    }
    const { memo } = node;
    const item = new vscode.TreeItem(title(memo.content));
    item.id = memo.id;
    item.description = memo.tags.map((tag) => `#${tag}`).join(' ');
    item.tooltip = [memo.content, '', origin(memo)].join('\n');
    item.iconPath = new vscode.ThemeIcon(memo.source === 'model' ? 'sparkle' : 'note');
    item.contextValue = 'memo';
    item.command = {
      command: 'tierline.editMemo',
      title: vscode.l10n.t('Edit'),
      arguments: [node],
    };
    return item;
  }

  // --- commands -----------------------------------------------------------------------------------

  /** A new memo; what is selected in the editor is proposed as its text. */
  async create(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const selected = editor?.document.getText(editor.selection) ?? '';
    const content = await vscode.window.showInputBox({
      title: vscode.l10n.t('New memo: what should be remembered?'),
      prompt: vscode.l10n.t('A decision and its reason, a trap, how something is meant.'),
      value: selected.length < 2000 ? selected : '',
    });
    if (!content?.trim()) return;
    const tags = await vscode.window.showInputBox({
      title: vscode.l10n.t('Tags, separated by spaces (optional)'),
      placeHolder: 'arch-decision gotcha',
    });
    if (tags === undefined) return;
    const scope = await this.chooseScope();
    if (scope === undefined) return;
    await this.session.server.request('tierline/memo/save', {
      content,
      tags: tags.split(/[\s,]+/).filter((tag) => tag !== ''),
      scope,
    });
  }

  async edit(node?: unknown): Promise<void> {
    const memo = memoOf(node) ?? (await this.choose());
    if (memo === undefined) return;
    this.known.set(memo.id, memo);
    const document = await vscode.workspace.openTextDocument(this.uri(memo));
    await vscode.window.showTextDocument(document, { preview: true });
  }

  async remove(node?: unknown): Promise<void> {
    const memo = memoOf(node) ?? (await this.choose());
    if (memo === undefined) return;
    const sure = await confirmed(
      vscode.l10n.t('Delete this memo?'),
      memo.content.slice(0, 300),
      vscode.l10n.t('Delete'),
      vscode.l10n.t('Keep Memo'),
    );
    if (!sure) return;
    await this.session.server.request('tierline/memo/delete', { id: memo.id });
    this.known.delete(memo.id);
    this.filesChanged.fire([{ type: vscode.FileChangeType.Deleted, uri: this.uri(memo) }]);
    const back = vscode.l10n.t('Save It Again');
    void notify.info(vscode.l10n.t('The memo was deleted.'), back).then(async (chosen) => {
      if (chosen !== back) return;
      const { content, tags, scope } = memo;
      await this.session.server.request('tierline/memo/save', { content, tags, scope });
    });
  }

  /** Search and open. */
  async search(): Promise<void> {
    const memo = await this.choose();
    if (memo !== undefined) await this.edit({ kind: 'memo', memo });
  }

  // --- the file system: one file per memo ---------------------------------------------------------

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const memo = await this.find(uri);
    return {
      type: vscode.FileType.File,
      ctime: Date.parse(memo.created) || 0,
      mtime: Date.parse(memo.changed) || 0,
      size: new TextEncoder().encode(memoText(memo)).length,
    };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return new TextEncoder().encode(memoText(await this.find(uri)));
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const { id } = await this.find(uri);
    try {
      const saved = await this.session.server.request('tierline/memo/edit', {
        id,
        ...parseMemo(new TextDecoder().decode(content)),
      });
      this.known.set(id, saved);
    } catch (error) {
      const { message, advice } = describeError(error);
      throw new vscode.FileSystemError(`${message} ${advice}`.trim());
    }
  }

  // --- helpers ------------------------------------------------------------------------------------

  /** The tab shows how the memo began when it was first opened: a document keeps its name. */
  private uri({ id, content }: MemoInfo): vscode.Uri {
    const name = this.names.get(id) ?? fileName(content);
    this.names.set(id, name);
    return vscode.Uri.from({ scheme: SCHEME, path: `/${id}/${name}.md` });
  }

  private async list(): Promise<MemoInfo[]> {
    const { memos } = await this.session.server.request('tierline/memo/list', {});
    for (const memo of memos) this.known.set(memo.id, memo);
    return memos;
  }

  private async find(uri: vscode.Uri): Promise<MemoInfo> {
    const id = uri.path.split('/')[1]?.replace(/\.md$/, '') ?? '';
    if (!this.known.has(id)) {
      await this.session.server.whenReady(); // VS Code reads a restored tab before
      await this.list();
    }
    const memo = this.known.get(id);
    if (memo === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return memo;
  }

  private async chooseScope(): Promise<Scope | undefined> {
    const items: (vscode.QuickPickItem & { scope: Scope })[] = [
      { label: `$(root-folder) ${scopeName('project')}`, scope: 'project' },
      { label: `$(account) ${scopeName('user')}`, scope: 'user' },
    ];
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Where does it hold?'),
    });
    return chosen?.scope;
  }

  private choose(): Promise<MemoInfo | undefined> {
    return new Promise((resolve) => {
      const pick = vscode.window.createQuickPick<Pick>();
      pick.title = vscode.l10n.t('Memos');
      pick.placeholder = vscode.l10n.t('Words, or #tag');
      let timer: NodeJS.Timeout | undefined;
      const load = async (): Promise<void> => {
        pick.busy = true;
        const tags = [...pick.value.matchAll(/#([\p{L}\p{N}_-]+)/gu)].map(
          (match) => match[1] ?? '',
        );
        const query = pick.value.replace(/#[\p{L}\p{N}_-]+/gu, ' ').trim();
        const found = await this.session.server.request('tierline/memo/search', { query, tags });
        pick.items = found.memos.map((memo) => ({
          label: title(memo.content),
          description: memo.tags.map((tag) => `#${tag}`).join(' '),
          detail: origin(memo),
          alwaysShow: true,
          memo,
        }));
        pick.busy = false;
      };
      const reload = (): void => void load().catch(report);
      pick.onDidChangeValue(() => {
        clearTimeout(timer);
        timer = setTimeout(reload, SEARCH_DELAY_MS);
      });
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.memo);
        pick.hide();
      });
      pick.onDidHide(() => {
        clearTimeout(timer);
        resolve(undefined);
        pick.dispose();
      });
      pick.show();
      reload();
    });
  }
}

function memoOf(node: unknown): MemoInfo | undefined {
  const candidate = node as Node | undefined;
  return candidate?.kind === 'memo' ? candidate.memo : undefined;
}

function scopeName(scope: Scope): string {
  return scope === 'user' ? vscode.l10n.t('All my projects') : vscode.l10n.t('This project');
}

function origin(memo: MemoInfo): string {
  const when = new Date(memo.changed);
  const date = Number.isNaN(when.getTime())
    ? ''
    : when.toLocaleDateString(vscode.env.language, { dateStyle: 'medium' });
  const who =
    memo.source === 'model'
      ? vscode.l10n.t('written by the model')
      : vscode.l10n.t('written by you');
  return [scopeName(memo.scope), who, date].filter((part) => part !== '').join(' · ');
}

function report(error: unknown): void {
  const { message, advice } = describeError(error);
  void notify.error(`${message} ${advice}`.trim());
}
