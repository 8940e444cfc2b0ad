/** Exports conversations, and imports those of other tools. */
import * as vscode from 'vscode';
import * as notify from './notify';
import type { Session } from './session';

/** The server's limit; a larger file is not even loaded. */
const MOST_BYTES = 50_000_000;

function fileName(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf('/') + 1);
}

export async function exportSession(session: Session): Promise<void> {
  const t = vscode.l10n.t;
  const picked = await vscode.window.showQuickPick(
    [
      { label: t('Markdown'), detail: t('To read and to share'), format: 'markdown' as const },
      {
        label: 'HTML',
        detail: t('One page for the browser; loads nothing'),
        format: 'html' as const,
      },
      {
        label: 'JSON',
        detail: t('All of it, for programs and for Import'),
        format: 'json' as const,
      },
    ],
    { title: t('Export this conversation, with what was sent and what it cost') },
  );
  if (picked === undefined) return;
  const made = await session.server.request('tierline/history/export', { format: picked.format });
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const uri = await vscode.window.showSaveDialog({
    title: t('Export the conversation'),
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, made.name) }),
  });
  if (uri === undefined) return;
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(made.text));
  const open = t('Open');
  if ((await notify.info(t('The conversation is in {0}.', fileName(uri)), open)) === open) {
    await vscode.commands.executeCommand('vscode.open', uri);
  }
}

export async function importSession(session: Session): Promise<void> {
  const t = vscode.l10n.t;
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: t('Conversation of aider, Claude Code, Copilot Chat, ChatGPT or Tierline'),
      openLabel: t('Import'),
    })) ?? [];
  if (uri === undefined) return;
  const name = fileName(uri);
  if ((await vscode.workspace.fs.stat(uri)).size > MOST_BYTES) {
    void notify.warning(t('{0} is larger than 50 MB. Import a part of it.', name));
    return;
  }
  const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  const taken = await session.server.request('tierline/history/import', { text, name });
  const parts = [
    taken.sessions === 1
      ? t('{0} messages of {1} were taken over into a new session.', taken.messages, taken.source)
      : t(
          '{0} messages of {1} were taken over into {2} new sessions.',
          taken.messages,
          taken.source,
          taken.sessions,
        ),
  ];
  if (taken.leftOut.length > 0) parts.push(t('Left out: {0}.', taken.leftOut.join(', ')));
  void notify.info(parts.join(' '));
}
