/** The cache viewer: a panel beside the editor, and "Why did the cache miss?". */
import * as vscode from 'vscode';
import type { CacheItem, CacheReport, CacheTiers } from '../protocol';
import type { Which } from '../shared/cache';
import { type CacheToHost, type CacheToView, explanation, parseCacheToHost } from '../shared/cache';
import { firstWords } from '../shared/words';
import { exportCharts } from './chartExport';
import type { VirtualDocuments } from './documents';
import * as notify from './notify';
import { openFileLink } from './openFile';
import { describeError } from './server/errors';
import type { Change, Session } from './session';
import { webviewPage } from './webviewPage';

/** Events after which the tiers may have changed. */
const CHANGES = new Set(['turnFinished', 'filesChanged', 'stateChanged', 'providerChanged']);
const QUIET_MS = 250;
const MAX_LABEL = 80;

export class CacheView implements vscode.Disposable {
  static readonly type = 'tierline.cacheViewer';

  private panel: vscode.WebviewPanel | null = null;
  private which: Which = 'next';
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly session: Session,
    private readonly documents: VirtualDocuments,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscription = session.onChange((change) => this.changed(change));
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscription.dispose();
    this.panel?.dispose();
  }

  show(): void {
    if (this.panel !== null) {
      this.panel.reveal();
      void this.refresh();
      return;
    }
    const dist = vscode.Uri.joinPath(this.extension, 'dist');
    const title = vscode.l10n.t('Prompt Cache');
    const panel = vscode.window.createWebviewPanel(
      CacheView.type,
      title,
      vscode.ViewColumn.Active,
      { enableScripts: true, localResourceRoots: [dist] },
    );
    const icon = (theme: string): vscode.Uri =>
      vscode.Uri.joinPath(this.extension, 'media', `tierline-${theme}.svg`);
    panel.iconPath = { light: icon('light'), dark: icon('dark') };
    panel.webview.html = webviewPage(panel.webview, dist, 'cacheView', title);
    panel.webview.onDidReceiveMessage((value: unknown) => {
      const message = parseCacheToHost(value);
      if (message === null) this.log.warn('The cache viewer sent what is not understood.');
      else void this.handle(message);
    });
    panel.onDidChangeViewState(() => {
      if (panel.visible) void this.refresh();
    });
    panel.onDidDispose(() => {
      this.panel = null;
    });
    this.panel = panel;
  }

  /** One sentence about the newest request, with links to details. */
  async explain(): Promise<void> {
    const t = vscode.l10n.t;
    const { sentence, report, lastMiss } = await this.session.server.request(
      'tierline/cache/explain',
      {},
    );
    const [details, viewer] = [t('Show Details'), t('Show Prompt Cache')];
    const choices = report === null ? [viewer] : [details, viewer];
    const chosen = await notify.info(
      report === null ? sentence : told(report, lastMiss),
      ...choices,
    );
    if (chosen === viewer) this.show();
    if (chosen === details && report !== null) {
      await this.documents.show('Prompt cache.md', async () => explanation(report, lastMiss));
    }
  }

  private changed({ event }: Change): void {
    if (this.panel?.visible !== true) return;
    if (event !== null && !CHANGES.has(event.body.kind)) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), QUIET_MS);
  }

  private async handle(message: CacheToHost): Promise<void> {
    try {
      if (message.type === 'show') {
        this.which = message.which;
        await this.refresh();
      } else if (message.type === 'explain') {
        await this.explain();
      } else if (message.type === 'export') {
        await exportCharts(this.session, message.format);
      } else {
        await openFileLink({ kind: 'file', path: message.path, line: null, column: null });
      }
    } catch (error) {
      const { message: text, advice } = describeError(error);
      this.log.warn(`cache viewer: ${text}`);
      this.post({ type: 'error', text: `${text} ${advice}`.trim() });
    }
  }

  private async refresh(): Promise<void> {
    const { server } = this.session;
    try {
      const [tiers, stats, sent] = await Promise.all([
        server.request('tierline/cache/tiers', { which: this.which }),
        server.request('tierline/stats/get', {}),
        server.request('tierline/stats/requests', {}),
      ]);
      this.post({
        type: 'tiers',
        tiers: this.named(tiers),
        stats: stats.sessions[0] ?? null,
        requests: sent.requests,
      });
    } catch (error) {
      const { message, advice } = describeError(error);
      this.post({ type: 'error', text: `${message} ${advice}`.trim() });
    }
  }

  /** Name messages by their first words. */
  private named(tiers: CacheTiers): CacheTiers {
    const messages = new Map<string, string>();
    for (const { id, groupId, text } of this.session.model?.messages ?? []) {
      const words = firstWords(text, MAX_LABEL);
      messages.set(`history:${id}`, words);
      if (!messages.has(`history:${groupId}`)) messages.set(`history:${groupId}`, words);
    }
    const name = (item: CacheItem): CacheItem => ({
      ...item,
      label: messages.get(item.key) || item.label,
    });
    return {
      ...tiers,
      tiers: tiers.tiers.map((tier) => ({ ...tier, items: tier.items.map(name) })),
    };
  }

  private post(message: CacheToView): void {
    void this.panel?.webview.postMessage(message);
  }
}

/** The text for a request; if it did not miss, with the last one that did. */
function told(report: CacheReport, lastMiss: CacheReport | null): string {
  const t = vscode.l10n.t;
  if (report.outcome !== 'hit') return report.sentence;
  const miss = lastMiss === null ? '' : ` ${t('The last miss: {0}', lastMiss.sentence)}`;
  return `${t('It did not miss.')} ${report.sentence}${miss}`;
}
