/** The walkthrough: on demand, and once by itself after the extension has come. */
import * as vscode from 'vscode';

const SEEN = 'tierline.welcomed';

export async function openWalkthrough(extensionId: string): Promise<void> {
  await vscode.commands.executeCommand(
    'workbench.action.openWalkthrough',
    `${extensionId}#start`,
    false,
  );
}

/** At the first start, unless the user wants nothing to open by itself. */
export async function welcome(
  extensionId: string,
  memento: Pick<vscode.Memento, 'get' | 'update'>,
): Promise<void> {
  if (memento.get<boolean>(SEEN) === true) return;
  await memento.update(SEEN, true);
  const startup = vscode.workspace.getConfiguration('workbench').get<string>('startupEditor');
  if (startup !== 'none') await openWalkthrough(extensionId);
}
