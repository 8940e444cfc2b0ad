/** The walkthrough: on demand, and once after the extension was installed. */
import * as vscode from 'vscode';

const SEEN = 'tierline.welcomed';

export async function openWalkthrough(extensionId: string): Promise<void> {
  await vscode.commands.executeCommand(
    'workbench.action.openWalkthrough',
    `${extensionId}#start`,
    false,
  );
}

/** At the first start, unless the user has switched such pages off. */
export async function welcome(
  extensionId: string,
  memento: Pick<vscode.Memento, 'get' | 'update'>,
): Promise<void> {
  if (memento.get<boolean>(SEEN) === true) return;
  await memento.update(SEEN, true);
  const startup = vscode.workspace.getConfiguration('workbench').get<string>('startupEditor');
  if (startup !== 'none') await openWalkthrough(extensionId);
}
