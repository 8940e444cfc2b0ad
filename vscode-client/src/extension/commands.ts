/** Commands that are little more than one request. */
import * as vscode from 'vscode';
import type { Session } from './session';

export async function cycleMode(session: Session): Promise<void> {
  const { mode } = await session.server.request('tierline/mode/set', {});
  const names = {
    off: vscode.l10n.t('Off'),
    light: vscode.l10n.t('Light'),
    heavy: vscode.l10n.t('Heavy'),
  };
  vscode.window.setStatusBarMessage(vscode.l10n.t('Context mode: {0}', names[mode]), 3_000);
}
