/** The Context view: what is pinned, selected, suggested and retrieved, and the web pages. */
import * as vscode from 'vscode';
import { exact } from '../shared/budget';
import { type Entry, type Group, type GroupName, groups } from '../shared/contextTree';
import { shownName } from '../shared/names';
import { tierTip, tierWords } from '../shared/tierWords';
import type { VirtualDocuments } from './documents';
import * as notify from './notify';
import { describeError } from './server/errors';
import type { Session } from './session';

const SCHEME = 'tierline-context';
const VIEW = 'tierline.context';
const DELAY_MS = 150;
const CHANGES = new Set([
  'filesChanged',
  'pinsChanged',
  'urlsChanged',
  'turnStarted',
  'turnFinished',
  'modeChanged',
  'stateChanged',
  'symbolsChanged',
]);
const ICONS: Record<GroupName, string> = {
  instructions: 'law',
  pinned: 'pinned',
  selected: 'files',
  suggested: 'lightbulb',
  retrieved: 'search',
  urls: 'globe',
};

type Node = Group | Entry;
type Verb = 'pin' | 'unpin' | 'remove' | 'accept' | 'dismiss' | 'refresh';

export class ContextTree
  implements vscode.TreeDataProvider<Node>, vscode.FileDecorationProvider, vscode.Disposable
{
  private readonly changed = new vscode.EventEmitter<undefined>();
  private readonly view: vscode.TreeView<Node>;
  private readonly subscriptions: vscode.Disposable[] = [this.changed];
  private timer: NodeJS.Timeout | undefined;
  /** The groups that the view shows; null before it has asked. */
  private shown: Group[] | null = null;
  private asked = 0;

  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly session: Session,
    private readonly documents: VirtualDocuments,
  ) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
    this.subscriptions.push(
      this.view,
      vscode.window.registerFileDecorationProvider(this),
      this.view.onDidChangeCheckboxState(({ items }) => {
        for (const [node, state] of items) {
          void this.use(node, state === vscode.TreeItemCheckboxState.Checked);
        }
      }),
      session.onChange(({ event }) => {
        if (event === null || CHANGES.has(event.body.kind)) this.soon();
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  // --- the tree
  // -----------------------------------------------------------------------------------

  async getChildren(node?: Node): Promise<Node[]> {
    if (node !== undefined) return isGroup(node) ? node.entries : [];
    if (!this.session.server.ready) return [];
    this.shown ??= groups(await this.sources());
    return this.shown;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return isGroup(node) ? groupItem(node) : entryItem(node);
  }

  /**
   * Suggestions are dimmed: nothing is pinned yet. Entries that are not sent look like warnings.
   */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== SCHEME || uri.query === '') return undefined;
    const color = uri.query === 'dim' ? 'disabledForeground' : 'list.warningForeground';
    return { color: new vscode.ThemeColor(color) };
  }

  // --- commands
  // -----------------------------------------------------------------------------------

  async act(verb: Verb, node?: unknown): Promise<void> {
    const entry = entryOf(node) ?? this.view.selection.map(entryOf)[0];
    if (entry === undefined) {
      void notify.info(vscode.l10n.t('Select an entry of the Context view first.'));
      return;
    }
    const { server } = this.session;
    const { key, path, symbol, uri } = entry;
    const card = symbol !== '';
    switch (verb) {
      case 'pin':
        if (card) await server.request('tierline/pins/add', { path, symbol });
        else await server.request('tierline/files/pin', { path });
        break;
      case 'unpin':
        await server.request('tierline/pins/remove', { key });
        break;
      case 'accept':
        await server.request('tierline/pins/accept', { key });
        break;
      case 'dismiss':
        await server.request('tierline/pins/dismiss', { key });
        break;
      case 'refresh':
        await reading(() => server.request('tierline/urls/refresh', { url: uri }));
        break;
      case 'remove':
        if (entry.kind === 'page') await server.request('tierline/urls/remove', { url: uri });
        else if (card) await server.request('tierline/pins/remove', { key });
        else await server.request('tierline/files/remove', { path });
    }
    this.soon();
  }

  /** Follow a file of instructions, or leave it out, from now on. */
  private async use(node: Node, enabled: boolean): Promise<void> {
    if (isGroup(node) || node.used === null) return;
    try {
      await this.session.server.request('tierline/instructions/set', { key: node.key, enabled });
    } catch (error) {
      void notify.error(describeError(error).message);
      this.shown = null;
      this.changed.fire(undefined);
    }
    this.soon();
  }

  /** Open an entry's file at its line, or the text that is sent of a page. */
  async reveal(node?: unknown): Promise<void> {
    const entry = entryOf(node) ?? this.view.selection.map(entryOf)[0];
    if (entry === undefined) return;
    if (entry.kind === 'page') {
      const name = `${entry.label.slice(0, 60)}.md`;
      await this.documents.show(name, async () => {
        const found = await this.session.server.request('tierline/urls/show', { url: entry.uri });
        const read = vscode.l10n.t('Read on {0}', found.info.fetched.slice(0, 10));
        return `<!-- ${found.info.url} · ${read} -->\n\n${found.text}`;
      });
      return;
    }
    await openAt(entry.uri, entry.line);
  }

  /** Ask for an address and have the page read. */
  async addPage(): Promise<void> {
    const url = await vscode.window.showInputBox({
      title: vscode.l10n.t('Add a web page to the context'),
      prompt: vscode.l10n.t('Its text is read now and sent with your prompts until you remove it.'),
      placeHolder: 'https://example.org/guide',
    });
    if (!url?.trim()) return;
    const { added, notices } = await reading(() =>
      this.session.server.request('tierline/urls/add', { url: url.trim() }),
    );
    for (const notice of notices) void notify.info(notice);
    if (added != null) {
      void vscode.window.setStatusBarMessage(
        vscode.l10n.t('Added {0}: {1} tokens', added.title || added.url, exact(added.tokens)),
        5000,
      );
    }
  }

  // --- helpers
  // ------------------------------------------------------------------------------------

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), DELAY_MS);
  }

  /** Redraw only changed rows: a redrawn row swallows a click and loses the hover. */
  private async refresh(): Promise<void> {
    const mine = ++this.asked;
    const now = this.session.server.ready ? await this.sources().then(groups, () => null) : null;
    if (mine !== this.asked) return;
    if (now !== null && JSON.stringify(now) === JSON.stringify(this.shown)) return;
    this.shown = now;
    this.changed.fire(undefined);
  }

  private async sources(): Promise<Parameters<typeof groups>[0]> {
    const { server } = this.session;
    const [files, pins, urls, retrieval, plan, instructions] = await Promise.all([
      server.request('tierline/files/list', {}),
      server.request('tierline/pins/list', {}),
      server.request('tierline/urls/list', {}),
      // Before the first prompt nothing was retrieved.
      server.request('tierline/retrieval/get', {}).catch(() => null),
      server.request('tierline/plan/get', {}).catch(() => null),
      // An older server knows none.
      server.request('tierline/instructions/list', {}).catch(() => ({ files: [] })),
    ]);
    return {
      ...{ files: files.files, pins, retrieval, urls: urls.urls, plan },
      instructions: instructions.files,
    };
  }
}

/** Open a document at a line, from 1; 0 for its beginning. */
export async function openAt(uri: string, line: number): Promise<void> {
  const editor = await vscode.window.showTextDocument(vscode.Uri.parse(uri), { preview: true });
  const place = new vscode.Position(Math.max(0, line - 1), 0);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(
    new vscode.Range(place, place),
    vscode.TextEditorRevealType.InCenterIfOutsideViewport,
  );
}

async function reading<T>(run: () => Promise<T>): Promise<T> {
  const title = vscode.l10n.t('Reading the page…');
  return await vscode.window.withProgress(
    { location: { viewId: VIEW }, title },
    async () => await run(),
  );
}

function isGroup(node: Node): node is Group {
  return 'entries' in node;
}

function entryOf(node: unknown): Entry | undefined {
  const found = node as Node | undefined;
  return found !== undefined && 'kind' in found && 'key' in found ? found : undefined;
}

function groupItem(group: Group): vscode.TreeItem {
  const item = new vscode.TreeItem(groupName(group.name), vscode.TreeItemCollapsibleState.Expanded);
  item.id = `group:${group.name}`;
  item.iconPath = new vscode.ThemeIcon(ICONS[group.name]);
  item.contextValue = `group-${group.name}`;
  item.description =
    group.tokens > 0
      ? vscode.l10n.t('{0} · {1} tokens', group.entries.length, exact(group.tokens))
      : String(group.entries.length);
  return item;
}

function entryItem(entry: Entry): vscode.TreeItem {
  const t = vscode.l10n.t;
  const parts = entry.label.split('/');
  const item = new vscode.TreeItem(
    shownName(entry.kind === 'page' ? entry.label : (parts.at(-1) ?? '')),
  );
  const where = entry.symbol !== '' ? entry.path : parts.slice(0, -1).join('/');
  const size = entry.tokens > 0 ? t('{0} tokens', exact(entry.tokens)) : '';
  const state = entry.problem !== '' ? t('not sent') : size;
  const dimmed = entry.kind === 'suggestion' || entry.used === false;
  item.id = `${entry.group}:${entry.key}`;
  const cut = entry.cut !== '' ? t('cut') : '';
  item.description = [cut, state, entry.problem === '' ? tierWords(entry.tier) : '', where]
    .filter((part) => part !== '')
    .map(shownName)
    .join(' · ');
  item.tooltip = tooltip(entry, size);
  if (entry.used !== null) {
    item.checkboxState = {
      state: entry.used
        ? vscode.TreeItemCheckboxState.Checked
        : vscode.TreeItemCheckboxState.Unchecked,
      tooltip: entry.used
        ? t('Is followed. Untick to leave it out')
        : t('Is left out. Tick to follow it'),
    };
  }
  item.contextValue = entry.kind;
  // The URI also gives a file the icon of its language, as in the explorer.
  const query = dimmed ? 'dim' : entry.problem === '' ? '' : 'problem';
  if (query !== '' || (entry.symbol === '' && entry.kind !== 'page')) {
    const path = `/${entry.path || entry.key}`;
    item.resourceUri = vscode.Uri.from({ scheme: SCHEME, path, query });
  }
  const color = dimmed ? new vscode.ThemeColor('disabledForeground') : undefined;
  item.iconPath = new vscode.ThemeIcon(icon(entry), color);
  item.command = {
    command: 'tierline.revealItem',
    title: t('Open'),
    arguments: [entry],
  };
  item.accessibilityInformation = {
    label: `${item.label}, ${item.description}, ${entry.cut || entry.why}`,
  };
  return item;
}

function tooltip(entry: Entry, size: string): string {
  const t = vscode.l10n.t;
  const name = entry.symbol === '' ? entry.path : `${entry.path}#${entry.symbol}`;
  const lines = [
    entry.kind === 'page' ? entry.uri : name,
    entry.problem,
    entry.cut,
    entry.why === '' ? '' : t('Why: {0}', entry.why),
    size,
    entry.tier === '' ? '' : tierTip(entry.tier),
    entry.kind === 'suggestion' ? t('A suggestion: nothing is held until you accept it.') : '',
  ];
  // Plain text, never a MarkdownString: a name could be a link that runs a command.
  return lines
    .filter((line) => line !== '')
    .map(shownName)
    .join('\n');
}

function icon(entry: Entry): string {
  if (entry.problem !== '' || entry.cut !== '') return 'warning';
  if (entry.kind === 'page') return 'globe';
  return entry.symbol === '' ? 'file' : 'symbol-method';
}

function groupName(name: GroupName): string {
  const names: Record<GroupName, string> = {
    instructions: vscode.l10n.t('Instructions'),
    pinned: vscode.l10n.t('Pinned'),
    selected: vscode.l10n.t('Selected'),
    suggested: vscode.l10n.t('Suggested'),
    retrieved: vscode.l10n.t('Retrieved'),
    urls: vscode.l10n.t('Web pages'),
  };
  return names[name];
}
