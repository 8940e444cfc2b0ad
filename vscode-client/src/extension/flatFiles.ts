/** File systems of single documents: nothing in them can be listed, made, renamed or deleted. */
import * as vscode from 'vscode';

export abstract class FlatFiles {
  watch(): vscode.Disposable {
    return { dispose: () => undefined };
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(): void {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete(): void {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): void {
    throw vscode.FileSystemError.NoPermissions();
  }
}
