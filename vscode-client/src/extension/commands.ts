/** Commands that are little more than one request. */
import * as vscode from 'vscode';
import type { ChatView } from './chatView';
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

export async function askAboutSelection(chat: ChatView): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty) {
    await chat.focus();
    return;
  }
  const { document, selection } = editor;
  const path = vscode.workspace.asRelativePath(document.uri);
  const [first, last] = [selection.start.line + 1, selection.end.line + 1];
  await chat.attach({
    text: document.getText(selection),
    label: first === last ? `${path}:${first}` : `${path}:${first}-${last}`,
    uri: document.uri.toString(),
    firstLine: first,
    lastLine: last,
  });
}
