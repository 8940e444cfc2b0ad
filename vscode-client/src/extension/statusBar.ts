/** The token budget in the status bar. */
import * as vscode from 'vscode';
import type { Budget } from '../protocol';
import { exact, level, percent, rows, summary, tokens } from '../shared/budget';
import type { Connection } from '../shared/messages';
import type { Session } from './session';

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    'tierline.budget',
    vscode.StatusBarAlignment.Right,
    90,
  );
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(private readonly session: Session) {
    this.item.name = vscode.l10n.t('Tierline Token Budget');
    this.subscriptions.push(
      this.item,
      session.onChange(({ event }) => {
        const kind = event?.body.kind;
        if (kind !== 'textDelta' && kind !== 'reasoningDelta') this.draw();
      }),
      session.server.onConnection(() => this.draw()),
    );
    this.draw();
    this.item.show();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private draw(): void {
    const connection = this.session.server.connection;
    const budget = this.session.model?.budget;
    if (connection.kind === 'ready' && budget !== undefined) this.drawBudget(budget);
    else this.drawConnection(connection);
  }

  private drawBudget(budget: Budget): void {
    const now = level(budget.percent);
    this.item.text = `$(layers) ${summary(budget)}`;
    this.item.backgroundColor =
      now === 'normal' ? undefined : new vscode.ThemeColor(`statusBarItem.${now}Background`);
    this.item.command = 'tierline.showBudget';
    this.item.tooltip = new vscode.MarkdownString(
      breakdown(budget, (id) => this.session.firstWords(id)),
      true,
    );
    this.item.accessibilityInformation = {
      label: vscode.l10n.t(
        'Tierline: the next request uses {0} of {1} tokens, {2}',
        exact(budget.used),
        exact(budget.maxInputTokens),
        percent(budget.percent),
      ),
      role: 'button',
    };
  }

  private drawConnection(connection: Connection): void {
    const broken = ['failed', 'noPython', 'noServer', 'stopped'].includes(connection.kind);
    this.item.text = broken ? '$(error) Tierline' : '$(sync~spin) Tierline';
    this.item.backgroundColor = broken
      ? new vscode.ThemeColor('statusBarItem.errorBackground')
      : undefined;
    this.item.command = broken ? 'tierline.focusChat' : 'tierline.showLog';
    const text = connection.text || vscode.l10n.t('The server is starting.');
    this.item.tooltip = [text, connection.advice].filter((part) => part !== '').join(' ');
    this.item.accessibilityInformation = { label: `Tierline: ${text}`, role: 'button' };
  }
}

/** The hover: a table whose lines add up to its last one. Pure. */
export function breakdown(budget: Budget, message?: (id: string) => string): string {
  const t = vscode.l10n.t;
  const lines = [
    `**${t('Next request')}** · ${plainText(budget.provider)} ${plainText(budget.model)}`,
    '',
    `| ${t('Section')} | ${t('Tokens')} | &nbsp;&nbsp;${t('Share')} |`,
    '|:--|--:|--:|',
    ...rows(budget, message).map((row) => {
      const detail = row.detail === '' ? '' : ` (${plainText(row.detail)})`;
      return `| ${plainText(row.name)}${detail} | ${exact(row.tokens)} | ${percent(row.share)} |`;
    }),
    `| **${t('Total')}** | **${exact(budget.used)}** | **${percent(budget.percent)}** |`,
    '',
    t('Window: {0} tokens, {1} left', exact(budget.maxInputTokens), tokens(budget.remaining)),
    '',
    accuracy(budget),
  ];
  const reported = budget.lastReported;
  if (reported !== null && reported !== undefined) {
    lines.push(
      '',
      t(
        'Last request, as the provider counted it: {0} in ({1} read from cache, {2} written), {3} out',
        exact(reported.inputTokens),
        known(reported.cacheReadTokens),
        known(reported.cacheWriteTokens),
        exact(reported.outputTokens),
      ),
    );
  }
  return lines.join('\n');
}

/** A figure of the provider's; a dash where it says nothing. */
function known(figure: number | null): string {
  return figure === null ? '–' : exact(figure);
}

/** How exact the figures are, in a sentence. */
export function accuracy(budget: Budget): string {
  const t = vscode.l10n.t;
  const margin = String(Math.round(budget.marginPercent * 10) / 10);
  switch (budget.accuracy) {
    case 'exact':
      return t('Counted exactly.');
    case 'calibrated':
      return t(
        'Counted and calibrated with the provider’s own figures; limits keep {0} % margin.',
        margin,
      );
    default:
      return t('Estimated; limits keep {0} % margin.', margin);
  }
}

function plainText(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+!|<>~$-]/g, '\\$&').replace(/\s+/g, ' ');
}
