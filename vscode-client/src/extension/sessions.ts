/** Sessions, their turns and branches: browsing, searching, previewing, going back. */
import * as vscode from 'vscode';
import type { ChatMessage, NewSessionFiles, SearchHit, SessionInfo } from '../protocol';
import { tokens } from '../shared/budget';
import { money } from '../shared/cache';
import { firstWords } from '../shared/words';
import { confirmed } from './confirm';
import type { VirtualDocuments } from './documents';
import * as notify from './notify';
import { describeError } from './server/errors';
import type { Session } from './session';

interface Item extends vscode.QuickPickItem {
  sessionId: string;
  title: string;
  /** A damaged log, to be recovered; empty for a session. */
  file?: string;
}

const SEARCH_DELAY_MS = 200;
/** Longest title of a session or message in a list, in characters. */
const LABEL = 70;
function button(icon: string, tooltip: string): vscode.QuickInputButton {
  return { iconPath: new vscode.ThemeIcon(icon), tooltip };
}

const PREVIEW = button('preview', vscode.l10n.t('Read without opening'));
const RENAME = button('edit', vscode.l10n.t('Rename'));
const ARCHIVE = button('archive', vscode.l10n.t('Archive: out of the list, kept as it is'));
const UNARCHIVE = button('inbox', vscode.l10n.t('Back into the list'));
const SHOW_ARCHIVE = button('archive', vscode.l10n.t('Show the archive'));
const SHOW_LIST = button('list-unordered', vscode.l10n.t('Show the usual list'));
const DELETE = button('trash', vscode.l10n.t('Delete'));

export class Sessions {
  constructor(
    private readonly session: Session,
    private readonly documents: VirtualDocuments,
  ) {}

  /**
   * The old conversation stays in the list. The user is asked whether the files stay, with their
   * cost; Esc begins nothing. False if nothing was begun.
   */
  async create(given: '' | 'keep' | 'drop' = ''): Promise<boolean> {
    const files = given === '' ? await this.whatStays() : given;
    if (files === undefined) return false;
    await this.session.server.request('tierline/history/newSession', { files });
    return true;
  }

  private async whatStays(): Promise<'' | 'keep' | 'drop' | undefined> {
    const found = await this.session.server.request('tierline/history/newSessionFiles', {});
    if (!found.ask) return '';
    const chosen = await vscode.window.showQuickPick(keepingItems(found), {
      title: vscode.l10n.t('Do the files stay for the new session?'),
      placeHolder: cost(found),
    });
    if (chosen?.remember) {
      await vscode.workspace
        .getConfiguration('tierline')
        .update('newSessionFiles', chosen.files, vscode.ConfigurationTarget.Global);
    }
    return chosen?.files;
  }

  /** All sessions; what is typed also searches their messages. */
  async browse(): Promise<void> {
    const pick = vscode.window.createQuickPick<Item>();
    let archived = false;
    const dress = (): void => {
      pick.title = archived ? vscode.l10n.t('Archived Sessions') : vscode.l10n.t('Sessions');
      pick.buttons = [archived ? SHOW_LIST : SHOW_ARCHIVE];
    };
    dress();
    pick.placeholder = vscode.l10n.t('Choose a session, or type to search all messages');
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    let timer: NodeJS.Timeout | undefined;
    const list = async (): Promise<void> => {
      pick.busy = true;
      pick.items = await this.list(pick.value, archived);
      pick.busy = false;
    };
    const reload = (): void => void list().catch((error) => report(error));
    pick.onDidChangeValue(() => {
      clearTimeout(timer);
      timer = setTimeout(reload, SEARCH_DELAY_MS);
    });
    pick.onDidAccept(() => {
      const chosen = pick.selectedItems[0];
      pick.hide();
      if (chosen?.file) void this.recover(chosen.file).catch(report);
      else if (chosen?.sessionId) void this.load(chosen.sessionId).catch(report);
    });
    pick.onDidTriggerItemButton(({ item, button }) => {
      void this.act(item, button).then(reload, report);
    });
    pick.onDidTriggerButton((button) => {
      archived = button === SHOW_ARCHIVE;
      dress();
      reload();
    });
    pick.onDidHide(() => {
      clearTimeout(timer);
      pick.dispose();
    });
    pick.show();
    await list();
  }

  async rename(sessionId = '', title = ''): Promise<void> {
    const chosen = await vscode.window.showInputBox({
      title: vscode.l10n.t('Title of the session'),
      value: title,
    });
    if (!chosen?.trim()) return;
    await this.session.server.request('tierline/history/renameSession', {
      sessionId,
      title: chosen.trim(),
    });
  }

  async undo(): Promise<void> {
    await this.session.server.request('tierline/history/undo', {});
    await this.offerAfterUndo(vscode.l10n.t('The last turn was taken back.'));
  }

  /** STATE returns to that of the turn before; the model can be asked to derive a better one. */
  async offerAfterUndo(said: string): Promise<void> {
    const { server } = this.session;
    const back = vscode.l10n.t('Bring It Back');
    const rebuild = vscode.l10n.t('Rebuild STATE');
    try {
      const { enabled } = await server.request('tierline/history/anchor', {});
      const left = this.session.model?.messages.length ?? 0;
      const answers = enabled && left > 0 ? [back, rebuild] : [back];
      const answer = await notify.info(said, ...answers);
      if (answer === back) await server.request('tierline/history/restore', {});
      if (answer === rebuild) await vscode.commands.executeCommand('tierline.rebuildState');
    } catch (error) {
      report(error);
    }
  }

  /** Choose among the turns that were hidden. */
  async restore(): Promise<void> {
    const { groups } = await this.session.server.request('tierline/history/list', { hidden: true });
    const hidden = groups.filter((group) => group.hidden !== '' && group.hidden !== 'remove');
    if (hidden.length === 0) {
      void notify.info(vscode.l10n.t('No turn is hidden.'));
      return;
    }
    const chosen = await vscode.window.showQuickPick(
      hidden.toReversed().map((group) => ({
        label: group.prompt || group.groupId,
        description: `${group.hidden} · ${tokens(group.tokens)}`,
        groupId: group.groupId,
      })),
      { title: vscode.l10n.t('Turn to bring back') },
    );
    if (chosen === undefined) return;
    await this.session.server.request('tierline/history/restore', { groupId: chosen.groupId });
  }

  async turn(
    verb: 'fork' | 'drop' | 'restore' | 'remove',
    groupId: string,
    messageId: string,
  ): Promise<void> {
    const { server } = this.session;
    if (verb === 'fork') await server.request('tierline/branch/fork', { messageId });
    else if (verb === 'remove') {
      const sure = await confirmed(
        vscode.l10n.t('Remove this turn from the conversation?'),
        vscode.l10n.t(
          'It is no longer sent, shown or found. To leave it out for a while, hide it instead.',
        ),
        vscode.l10n.t('Remove'),
        vscode.l10n.t('Keep Turn'),
      );
      if (sure) await server.request('tierline/history/remove', { groupId });
    } else await server.request(`tierline/history/${verb}`, { groupId });
  }

  /** What only the current or only the other branch has, and how their last requests differ. */
  async compare(): Promise<void> {
    const { branches, current } = await this.session.server.request('tierline/branch/list', {});
    const others = branches.filter((branch) => !branch.current).map((branch) => branch.branch);
    if (others.length === 0) {
      void notify.info(
        vscode.l10n.t('There is only one branch. A branch begins at a message: “{0}”.', 'Fork'),
      );
      return;
    }
    const other =
      others.length === 1
        ? others[0]
        : await vscode.window.showQuickPick(others, {
            title: vscode.l10n.t('Compare {0} with', current),
          });
    if (other === undefined) return;
    await this.documents.show(`${current} and ${other}.md`, async () => {
      const params = { a: current, b: other };
      return (await this.session.server.request('tierline/branch/compare', params)).text;
    });
  }

  /** Go to another branch, or begin one here. */
  async branches(): Promise<void> {
    const { branches } = await this.session.server.request('tierline/branch/list', {});
    const items: (vscode.QuickPickItem & { branch: string | null; run?: 'compare' })[] =
      branches.map((branch) => ({
        label: `$(${branch.current ? 'check' : 'git-branch'}) ${branch.branch}`,
        description:
          branch.parent === '' ? '' : vscode.l10n.t('from {0}', this.words(branch.forkMessage)),
        branch: branch.branch,
      }));
    items.push(
      { label: '', kind: vscode.QuickPickItemKind.Separator, branch: null },
      { label: `$(repo-forked) ${vscode.l10n.t('Begin a branch here')}`, branch: null },
    );
    if (branches.length > 1) {
      items.push({
        label: `$(git-compare) ${vscode.l10n.t('Compare two branches')}`,
        branch: null,
        run: 'compare',
      });
    }
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Branches of this session'),
    });
    if (chosen === undefined) return;
    if (chosen.run === 'compare') await this.compare();
    else if (chosen.branch === null) await this.session.server.request('tierline/branch/fork', {});
    else await this.session.server.request('tierline/branch/switch', { branch: chosen.branch });
  }

  private words(messageId: string): string {
    const message = this.session.model?.messages.find((known) => known.id === messageId);
    return message === undefined
      ? messageId
      : vscode.l10n.t('“{0}”', firstWords(message.text, LABEL));
  }

  private async recover(file: string): Promise<void> {
    const { added } = await this.session.server.request('tierline/history/recover', { file });
    void notify.info(
      vscode.l10n.t('{0} records of {1} were taken over. The file is as it was.', added, file),
    );
  }

  private async load(sessionId: string): Promise<void> {
    await this.session.server.request('tierline/history/loadSession', { sessionId });
  }

  /** In the archive, messages of archived and of usual sessions are searched. */
  private async list(query: string, archived: boolean): Promise<Item[]> {
    const { server } = this.session;
    const { sessions, damaged, more } = await server.request('tierline/history/listSessions', {
      limit: 0,
      archived,
    });
    const typed = query.trim();
    if (more && typed.length >= 2) {
      const older = await server.request('tierline/history/listSessions', {
        query: typed,
        archived,
      });
      const known = new Set(sessions.map((one) => one.sessionId));
      sessions.push(...older.sessions.filter((one) => !known.has(one.sessionId)));
    }
    const items = sessions.map(sessionItem);
    for (const file of archived ? [] : damaged) {
      items.push({
        label: `$(warning) ${file}`,
        description: vscode.l10n.t('damaged log: choose it to take over what is good in it'),
        sessionId: '',
        title: file,
        file,
      });
    }
    if (typed.length < 2) return items;
    const { hits } = await server.request('tierline/history/search', {
      query,
      limit: 50,
      archived,
    });
    const titles = new Map(items.map((item) => [item.sessionId, item.title]));
    const found = hits.map((hit) => hitItem(hit, titles.get(hit.sessionId) ?? ''));
    return found.length === 0
      ? items
      : [
          ...items,
          {
            label: vscode.l10n.t('messages'),
            kind: vscode.QuickPickItemKind.Separator,
            sessionId: '',
            title: '',
          },
          ...found,
        ];
  }

  private async act(item: Item, button: vscode.QuickInputButton): Promise<void> {
    const { sessionId, title } = item;
    if (button === PREVIEW) await this.preview(sessionId, title);
    else if (button === RENAME) await this.rename(sessionId, title);
    else if (button === ARCHIVE || button === UNARCHIVE) {
      const away = button === ARCHIVE;
      await this.session.server.request('tierline/history/archiveSession', { sessionId, away });
    } else if (button === DELETE) {
      const sure = await confirmed(
        vscode.l10n.t('Delete the session “{0}”?', title),
        vscode.l10n.t('It is no longer listed or found.'),
        vscode.l10n.t('Delete'),
        vscode.l10n.t('Keep Session'),
      );
      if (sure) {
        await this.session.server.request('tierline/history/deleteSession', { sessionId });
      }
    }
  }

  private async preview(sessionId: string, title: string): Promise<void> {
    const { messages } = await this.session.server.request('tierline/history/getSession', {
      sessionId,
    });
    await this.documents.show(`${title || sessionId}.md`, async () => transcript(title, messages));
  }
}

/** A session as a document to read. */
export function transcript(title: string, messages: readonly ChatMessage[]): string {
  const who = {
    user: vscode.l10n.t('You'),
    assistant: 'Tierline',
    tool: vscode.l10n.t('Tool'),
    system: vscode.l10n.t('System'),
  };
  const parts = messages.map((message) =>
    [`## ${who[message.role]} · ${moment(message.timestamp)}`, message.text].join('\n\n'),
  );
  return `${[`# ${title}`, ...parts].join('\n\n')}\n`;
}

interface Keeping extends vscode.QuickPickItem {
  files: 'keep' | 'drop';
  remember?: boolean;
}

/** Named entries of the files that could stay; the others are counted. */
const NAMED = 4;

function keepingItems(found: NewSessionFiles): Keeping[] {
  const names = found.entries.slice(0, NAMED).map(({ name, files, tokens: weight }) => {
    const size = tokens(weight);
    return files > 1
      ? vscode.l10n.t('{0} ({1} files, {2})', name, files, size)
      : vscode.l10n.t('{0} ({1})', name, size);
  });
  const more = found.entries.length - names.length;
  if (more > 0) names.push(vscode.l10n.t('{0} more', more));
  return [
    { label: vscode.l10n.t('Keep them'), detail: names.join(', '), files: 'keep' },
    {
      label: vscode.l10n.t('Begin without them'),
      detail: vscode.l10n.t('The earlier session still has them.'),
      files: 'drop',
    },
    { label: vscode.l10n.t('Always keep them'), files: 'keep', remember: true },
    { label: vscode.l10n.t('Always begin without them'), files: 'drop', remember: true },
  ];
}

function cost({ tokens: weight, cost: dollars }: NewSessionFiles): string {
  return dollars > 0
    ? vscode.l10n.t('{0} tokens with the first prompt, about {1}', tokens(weight), money(dollars))
    : vscode.l10n.t('{0} tokens with the first prompt', tokens(weight));
}

function sessionItem(info: SessionInfo): Item {
  const title = info.title || firstWords(info.preview, LABEL) || vscode.l10n.t('Empty session');
  const item: Item = {
    sessionId: info.sessionId,
    title,
    label: `$(${info.current ? 'check' : 'comment-discussion'}) ${title}`,
    description: [
      moment(info.timestamp),
      info.messageCount === 1
        ? vscode.l10n.t('1 message')
        : vscode.l10n.t('{0} messages', info.messageCount),
      ...(info.current ? [vscode.l10n.t('open')] : []),
    ].join(' · '),
    buttons: [PREVIEW, RENAME, info.archived ? UNARCHIVE : ARCHIVE, DELETE],
  };
  if (info.title !== '' && info.preview !== '') item.detail = firstWords(info.preview, LABEL);
  return item;
}

function hitItem(hit: SearchHit, title: string): Item {
  return {
    sessionId: hit.sessionId,
    title,
    label: `$(search) ${firstWords(hit.snippet, 200)}`,
    detail: `${title} · ${moment(hit.timestamp)}`,
    // The pick filters by what is typed; the snippet need not contain it word for word.
    alwaysShow: true,
    buttons: [PREVIEW],
  };
}

function moment(timestamp: string): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime())
    ? timestamp
    : date.toLocaleString(vscode.env.language, { dateStyle: 'medium', timeStyle: 'short' });
}

function report(error: unknown): void {
  const { message, advice } = describeError(error);
  void notify.error(`${message} ${advice}`.trim());
}
