/** Writes the charts of the session's turns to a file that the user chooses. */
import * as vscode from 'vscode';
import { svgFile } from '../shared/charts';
import { csv, turnFigures } from '../shared/turns';
import * as notify from './notify';
import type { Session } from './session';

export type Format = 'svg' | 'csv';

export async function exportCharts(session: Session, format?: Format): Promise<void> {
  const t = vscode.l10n.t;
  const { requests, sessionId } = await session.server.request('tierline/stats/requests', {});
  if (requests.length === 0) {
    void notify.info(
      t('Nothing has been sent in this session yet, so there is nothing to export.'),
    );
    return;
  }
  const chosen = format ?? (await choose());
  if (chosen === undefined) return;
  const turns = turnFigures(requests);
  const name = `tierline-${sessionId.slice(-8)}.${chosen}`;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    title: t('Export Charts'),
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    filters: chosen === 'svg' ? { SVG: ['svg'] } : { CSV: ['csv'] },
  });
  if (target === undefined) return;
  const text =
    chosen === 'svg' ? svgFile(turns, `Tierline · ${turns.at(-1)?.model ?? ''}`) : csv(turns);
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  const open = t('Open');
  const pressed = await notify.info(
    t('Exported {0} turns to {1}.', turns.length, vscode.workspace.asRelativePath(target)),
    open,
  );
  if (pressed === open) await vscode.commands.executeCommand('vscode.open', target);
}

async function choose(): Promise<Format | undefined> {
  const t = vscode.l10n.t;
  const items: (vscode.QuickPickItem & { format: Format })[] = [
    { label: 'SVG', description: t('the charts, for documents'), format: 'svg' },
    { label: 'CSV', description: t('the figures, for a spreadsheet'), format: 'csv' },
  ];
  const found = await vscode.window.showQuickPick(items, { title: t('Export Charts') });
  return found?.format;
}
