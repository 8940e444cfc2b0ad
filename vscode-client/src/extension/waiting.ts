/** Commands that were given before the server was ready wait for it, and the user sees that. */
import * as vscode from 'vscode';
import type { ServerController } from './server/controller';
import { NotConnectedError } from './server/errors';

type Server = Pick<ServerController, 'ready' | 'whenReady' | 'connection'>;

/** What works without the server, or waits for it by itself. */
const WITHOUT = new Set(
  [
    ...[
      'focusChat',
      'askSelection',
      'inlineAsk',
      'walkthrough',
      'showLog',
      'showCache',
      'openScratchpad',
    ],
    ...['restart', 'stop', 'setApiKey', 'clearApiKey', 'installModel', 'setUpAnew'],
    ...['explain', 'fix', 'writeTests', 'document'],
    ...['mentionFile', 'mentionChanges', 'mentionProblems', 'addTerminal', 'addTerminalSelection'],
    ...['pinFile', 'unpinFile', 'addFile', 'removeFile'],
  ].map((name) => `tierline.${name}`),
);

/** @throws NotConnectedError if the server cannot be had */
export async function serverReady(server: Server): Promise<void> {
  if (server.ready) return;
  await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Window,
      title: vscode.l10n.t('Tierline waits for its server'),
    },
    () => server.whenReady(),
  );
}

/** What a command needs before it runs. A dialog minutes later would surprise: that is refused. */
export async function readyFor(command: string, server: Server): Promise<void> {
  if (WITHOUT.has(command)) return;
  if (server.connection.kind === 'installing') {
    throw new NotConnectedError(
      vscode.l10n.t('Tierline is being set up.'),
      vscode.l10n.t('Try again when that is done.'),
    );
  }
  await serverReady(server);
}
