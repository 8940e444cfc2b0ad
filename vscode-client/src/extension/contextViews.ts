/** Looking into the context: the exact text, why a file is in or out, and the budget's parts. */
import * as vscode from 'vscode';
import { exact, percent, rows, summary } from '../shared/budget';
import { openAt } from './contextTree';
import type { VirtualDocuments } from './documents';
import { activeFile, resources } from './files';
import * as notify from './notify';
import { describeError } from './server/errors';
import type { Session } from './session';
import { accuracy } from './statusBar';

export class ContextViews {
  constructor(
    private readonly session: Session,
    private readonly documents: VirtualDocuments,
  ) {}

  /** "Show exact context": a read-only document, fetched anew each time. */
  async showContext(): Promise<void> {
    await this.documents.show('Exact context.md', async () => {
      const { text } = await this.session.server.request('tierline/plan/show', {});
      return text;
    });
  }

  async explain(uri?: unknown, uris?: unknown): Promise<void> {
    const t = vscode.l10n.t;
    const target = resources(uri, uris)[0];
    const key = target === undefined ? await this.chooseKey() : this.keyOf(target);
    if (key === undefined) return;
    try {
      const { sentence } = await this.session.server.request('tierline/plan/explain', { key });
      const show = t('Show Exact Context');
      if ((await notify.info(sentence, show)) === show) {
        await this.showContext();
      }
    } catch (error) {
      const { message, advice } = describeError(error);
      void notify.warning(`${message} ${advice}`.trim());
    }
  }

  /** The context of one prompt: items found for it, with reasons, and those left out. */
  async showTurn(turnId: string): Promise<void> {
    const t = vscode.l10n.t;
    const { server } = this.session;
    const found = await server.request('tierline/retrieval/get', { turnId }).catch(() => null);
    if (found === null) {
      await this.showBudget();
      return;
    }
    const items: (vscode.QuickPickItem & { run?: () => Promise<void> })[] = [];
    for (const included of [true, false]) {
      const group = found.candidates.filter((one) => one.included === included);
      if (group.length === 0) continue;
      const kind = vscode.QuickPickItemKind.Separator;
      items.push({ label: included ? t('Sent with it') : t('Found, but left out'), kind });
      for (const one of group) {
        items.push({
          label: `$(${one.symbol === '' ? 'file' : 'symbol-method'}) ${one.symbol || one.path}`,
          description: [
            one.tokens > 0 ? t('{0} tokens', exact(one.tokens)) : '',
            one.symbol === '' ? '' : `${one.path}:${one.line}`,
          ]
            .filter((part) => part !== '')
            .join(' · '),
          // For what was sent the reason would only repeat that.
          detail: (one.included ? [one.why || one.reason] : [one.reason, one.why])
            .filter((part) => part !== '')
            .join(' · '),
          run: () => openAt(one.uri, one.line),
        });
      }
    }
    if (items.length === 0) {
      items.push({ label: `$(info) ${found.note || t('Nothing was retrieved for this prompt.')}` });
    }
    const command = (id: string) => async (): Promise<void> => {
      await vscode.commands.executeCommand(id);
    };
    items.push(
      { label: '', kind: vscode.QuickPickItemKind.Separator },
      { label: `$(layers) ${t('Token budget')}`, run: command('tierline.showBudget') },
      { label: `$(open-preview) ${t('Show exact context')}`, run: command('tierline.showContext') },
    );
    const title = found.line || t('Context mode {0}', found.mode);
    const chosen = await vscode.window.showQuickPick(items, {
      title,
      placeHolder: found.changes.join(' '),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    await chosen?.run?.();
  }

  async showBudget(): Promise<void> {
    const t = vscode.l10n.t;
    const budget = await this.session.server.request('tierline/budget/get', {});
    const widest = exact(budget.used).length;
    const message = (id: string): string => this.session.firstWords(id);
    const items: (vscode.QuickPickItem & { run?: string })[] = rows(budget, message).map((row) => ({
      label: `${aligned(exact(row.tokens), widest)}  ${row.name}`,
      description: percent(row.share),
      detail: row.detail,
    }));
    items.push(
      { label: '', kind: vscode.QuickPickItemKind.Separator },
      {
        label: `${exact(budget.used)}  ${t('Total')}`,
        description: t('of {0}, {1}', exact(budget.maxInputTokens), percent(budget.percent)),
        detail: accuracy(budget),
      },
      { label: '', kind: vscode.QuickPickItemKind.Separator },
      { label: `$(open-preview) ${t('Show exact context')}`, run: 'tierline.showContext' },
      { label: `$(question) ${t('Why is a file in or out?')}`, run: 'tierline.explainContext' },
      { label: `$(layers) ${t('Change the context mode')}`, run: 'tierline.cycleMode' },
    );
    const chosen = await vscode.window.showQuickPick(items, {
      title: t('Next request: {0} tokens ({1})', summary(budget), budget.model),
      matchOnDetail: true,
    });
    if (chosen?.run !== undefined) await vscode.commands.executeCommand(chosen.run);
  }

  /** Name messages by their first words instead of their ids. */
  private label(key: string): string {
    const id = /^history:(.+)$/.exec(key)?.[1];
    const words = id === undefined ? '' : this.session.firstWords(id, 70);
    return words === '' ? key.replace(/^file:/, '') : `$(comment) ${words}`;
  }

  private keyOf(uri: vscode.Uri): string {
    return this.session.file(uri)?.path ?? vscode.workspace.asRelativePath(uri);
  }

  private async chooseKey(): Promise<string | undefined> {
    const t = vscode.l10n.t;
    const active = activeFile();
    const items = new Map<string, vscode.QuickPickItem & { key: string }>();
    const add = (key: string, label: string, description: string): void => {
      if (!items.has(key)) items.set(key, { label, description, key });
    };
    if (active !== undefined) {
      const path = this.keyOf(active);
      add(`file:${path}`, path, t('the active editor'));
    }
    for (const file of this.session.model?.files ?? []) {
      add(`file:${file.path}`, file.path, file.state === 'ok' ? '' : file.state);
    }
    try {
      const plan = await this.session.server.request('tierline/plan/get', {});
      for (const entry of plan.entries) {
        add(
          entry.key,
          this.label(entry.key),
          `${entry.section} · ${entry.included ? t('in') : t('out')}`,
        );
      }
    } catch {
      // Before the first request there is no plan.
    }
    const chosen = await vscode.window.showQuickPick([...items.values()], {
      title: t('Why is it in or out of the context?'),
      matchOnDescription: true,
    });
    return chosen?.key;
  }
}

/** Padded on the left with spaces as wide as the missing digits and marks. */
function aligned(figure: string, width: number): string {
  const missing = width - figure.length;
  const blanks = Array.from({ length: missing }, (_, place) =>
    (width - place) % 4 === 0 ? '\u2008' : '\u2007',
  );
  return blanks.join('') + figure;
}
