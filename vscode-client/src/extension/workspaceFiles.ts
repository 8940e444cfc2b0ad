/** Names of the workspace's files for @ mentions, listed once and kept for a short while. */
import * as vscode from 'vscode';
import { rank } from '../shared/fuzzy';
import type { Completion } from '../shared/messages';

const MAX_FILES = 20_000;
const FRESH_MS = 15_000;
const SHOWN = 12;

export class WorkspaceFiles {
  private paths: Promise<string[]> = Promise.resolve([]);
  private listed = 0;

  async complete(query: string): Promise<Completion[]> {
    if (Date.now() - this.listed > FRESH_MS) {
      this.listed = Date.now();
      this.paths = this.list();
    }
    const open = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .map((tab) => (tab.input instanceof vscode.TabInputText ? tab.input.uri : null))
      .filter((uri) => uri !== null && uri.scheme === 'file')
      .map((uri) => (uri === null ? '' : relative(uri)));
    const paths = [...new Set([...open, ...(await this.paths)])].filter((path) => path !== '');
    return rank(query, paths, SHOWN).map((path) => ({
      path,
      detail: open.includes(path) ? vscode.l10n.t('open') : '',
    }));
  }

  private async list(): Promise<string[]> {
    // Undefined: what the user hides in the explorer (files.exclude) stays hidden here.
    const uris = await vscode.workspace.findFiles(
      '**/*',
      '**/{node_modules,.git,.venv,.tierline}/**',
      MAX_FILES,
    );
    return uris.map(relative);
  }
}

function relative(uri: vscode.Uri): string {
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  return vscode.workspace.asRelativePath(uri, several);
}
