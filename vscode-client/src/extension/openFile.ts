/** Opens files that a reply names, at their line; only files in the workspace. */
import * as vscode from 'vscode';
import type { Link } from '../shared/links';

export async function openFileLink(link: Extract<Link, { kind: 'file' }>): Promise<boolean> {
  const uri = await locate(link.path);
  if (uri === null) return false;
  const position =
    link.line === null
      ? undefined
      : new vscode.Position(Math.max(link.line - 1, 0), Math.max((link.column ?? 1) - 1, 0));
  await vscode.commands.executeCommand(
    'vscode.open',
    uri,
    position === undefined ? {} : { selection: new vscode.Range(position, position) },
  );
  return true;
}

/** The file or folder of the workspace that a path of a reply means; null if there is none. */
export async function locate(path: string): Promise<vscode.Uri | null> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const absolute = /^(?:[a-z]:)?[\\/]/i.test(path);
  const candidates = absolute
    ? [vscode.Uri.file(path)]
    : folders.flatMap((folder) => {
        const own = vscode.Uri.joinPath(folder.uri, path);
        // In multi-root workspaces paths begin with the folder's name.
        return path.startsWith(`${folder.name}/`)
          ? [own, vscode.Uri.joinPath(folder.uri, path.slice(folder.name.length + 1))]
          : [own];
      });
  for (const uri of candidates) {
    if (vscode.workspace.getWorkspaceFolder(uri) === undefined) continue;
    try {
      await vscode.workspace.fs.stat(uri);
      return uri;
    } catch {
      // Try the next folder.
    }
  }
  return null;
}
