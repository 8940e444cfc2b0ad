/** Adding, removing, pinning and unpinning files, with a warning where the server refuses. */
import * as vscode from 'vscode';
import type { FileInfo, FileParams, FilesResult } from '../protocol';
import { confirmed } from './confirm';
import * as notify from './notify';
import { describeError } from './server/errors';
import type { Session } from './session';
import { serverReady } from './waiting';

export type FileVerb = 'add' | 'remove' | 'pin' | 'unpin';

export class Files {
  constructor(private readonly session: Session) {}

  /** From a menu (``uri`` and, with several selected, ``uris``) or from the palette. */
  async command(verb: FileVerb, uri?: unknown, uris?: unknown): Promise<void> {
    const chosen = resources(uri, uris);
    const targets = chosen.length > 0 ? chosen : await this.fromPalette(verb);
    await this.apply(
      verb,
      targets.map((target) => ({ uri: target.toString() })),
    );
  }

  async apply(verb: FileVerb, targets: readonly FileParams[]): Promise<void> {
    const refused: { target: FileParams; file: FileInfo }[] = [];
    const notices: string[] = [];
    for (const target of targets) {
      try {
        await serverReady(this.session.server);
        const result = await this.send(verb, target);
        notices.push(...result.notices);
        refused.push(...result.refused.map((file) => ({ target, file })));
      } catch (error) {
        const { message, advice } = describeError(error);
        void notify.error(`${message} ${advice}`.trim());
        return;
      }
    }
    for (const notice of new Set(notices)) void notify.info(notice);
    if (refused.length > 0) await this.refusals(verb, refused);
  }

  private async refusals(
    verb: FileVerb,
    refused: readonly { target: FileParams; file: FileInfo }[],
  ): Promise<void> {
    const t = vscode.l10n.t;
    const possible = refused.filter(({ file }) => file.confirmable);
    const final = refused.filter(({ file }) => !file.confirmable);
    if (final.length > 0) {
      void notify.warning(reasons(final.map(({ file }) => file)));
    }
    if (possible.length === 0) return;
    const sure = await confirmed(
      possible.length === 1
        ? t('Send {0} to the language model?', possible[0]?.file.path ?? '')
        : t('Send {0} protected files to the language model?', possible.length),
      reasons(possible.map(({ file }) => file)),
      verb === 'pin' ? t('Pin Anyway') : t('Add Anyway'),
      verb === 'pin' ? t('Do Not Pin') : t('Do Not Add'),
    );
    if (!sure) return;
    for (const { target, file } of possible) {
      // For a folder the refused file is sent, not the folder it is in.
      await this.send(verb, { ...(file.uri ? { uri: file.uri } : target), confirm: true }).catch(
        (error) => void notify.error(describeError(error).message),
      );
    }
  }

  private async send(verb: FileVerb, params: FileParams): Promise<FilesResult> {
    return await this.session.server.request(`tierline/files/${verb}`, params);
  }

  private async fromPalette(verb: FileVerb): Promise<vscode.Uri[]> {
    const active = activeFile();
    const known = active === undefined ? undefined : this.session.file(active);
    if (verb === 'add') {
      if (active !== undefined && known === undefined) return [active];
      return (
        (await vscode.window.showOpenDialog({
          canSelectMany: true,
          canSelectFiles: true,
          canSelectFolders: true,
          openLabel: vscode.l10n.t('Add to Context'),
        })) ?? []
      );
    }
    if (verb === 'pin' && active !== undefined) {
      if (known === undefined || known.pin === 'none') return [active];
    }
    return await this.pick(verb);
  }

  private async pick(verb: FileVerb): Promise<vscode.Uri[]> {
    const t = vscode.l10n.t;
    const files = (this.session.model?.files ?? []).filter(
      (file) => verb === 'remove' || (verb === 'pin') === (file.pin === 'none'),
    );
    if (files.length === 0) {
      void notify.info(t('There is no such file in the context.'));
      return [];
    }
    const chosen = await vscode.window.showQuickPick(
      files.map((file) => ({
        label: file.path,
        description: file.pin === 'none' ? '' : file.pin,
        uri: file.uri,
      })),
      {
        canPickMany: true,
        title:
          verb === 'unpin'
            ? t('Files to unpin')
            : verb === 'pin'
              ? t('Files to pin')
              : t('Files to remove from the context'),
      },
    );
    return (chosen ?? []).map((item) => vscode.Uri.parse(item.uri));
  }
}

function reasons(files: readonly FileInfo[]): string {
  return files
    .slice(0, 12)
    .map(({ path, reason }) => (` ${reason}`.includes(` ${path} `) ? reason : `${path}: ${reason}`))
    .concat(files.length > 12 ? ['…'] : [])
    .join('\n');
}

/** The resources that a menu passes: the one clicked and, if it is among them, all selected. */
export function resources(uri: unknown, uris: unknown): vscode.Uri[] {
  const all = Array.isArray(uris) ? uris : [];
  const found = (all.length > 0 ? all : [uri]).filter(
    (value): value is vscode.Uri => value instanceof vscode.Uri,
  );
  return [...new Map(found.map((value) => [value.toString(), value])).values()];
}

/** The file in the active editor, also when that is a notebook or the sidebar has the focus. */
export function activeFile(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const uri =
    vscode.window.activeTextEditor?.document.uri ??
    (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook
      ? input.uri
      : undefined);
  return uri !== undefined && ['file', 'untitled'].includes(uri.scheme) ? uri : undefined;
}
