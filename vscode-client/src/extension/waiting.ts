/** Commands that come before the server is ready wait for it, visibly. */
import * as vscode from 'vscode';
import type { ServerController } from './server/controller';
import { NotConnectedError } from './server/errors';

type Server = Pick<ServerController, 'ready' | 'whenReady' | 'connection'>;

/** Commands that work without the server, or wait for it themselves. */
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

/** @throws NotConnectedError if the server cannot be started */
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

/** Waits until a command can run. It refuses where a dialog would come minutes later. */
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
