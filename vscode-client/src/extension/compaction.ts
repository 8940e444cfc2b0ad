/** *Compact Conversation Now*: the chat shows the progress and the result. */
import * as vscode from 'vscode';
import * as notify from './notify';
import type { Session } from './session';

export async function compactNow(session: Session): Promise<void> {
  const result = await session.server.request('tierline/compaction/run', {});
  if (result.case === 'none') {
    void notify.info(vscode.l10n.t('Nothing was compacted. {0}', result.reason));
  }
}
