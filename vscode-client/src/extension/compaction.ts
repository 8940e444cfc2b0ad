/** *Compact Conversation Now*: asks what the summary is to hold; the chat shows progress and result. */
import * as vscode from 'vscode';
import * as notify from './notify';
import type { Session } from './session';

export async function compactNow(session: Session): Promise<void> {
  const instructions = await vscode.window.showInputBox({
    title: vscode.l10n.t('Compact the conversation'),
    prompt: vscode.l10n.t('What the summary should keep, in your own words (optional)'),
    ignoreFocusOut: true,
  });
  if (instructions === undefined) return;
  const params = { instructions: instructions.trim() };
  const result = await session.server.request('tierline/compaction/run', params);
  if (result.case === 'none') {
    void notify.info(vscode.l10n.t('Nothing was compacted. {0}', result.reason));
  }
}
