/** Badges on pinned files in the explorer, and context keys for the menus. */
import * as vscode from 'vscode';
import type { FileInfo } from '../protocol';
import type { Model } from '../shared/model';
import type { Session } from './session';

export class Decorations implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri[]>();
  private readonly subscriptions: vscode.Disposable[];
  private files = new Map<string, FileInfo>();

  readonly onDidChangeFileDecorations = this.changed.event;

  constructor(session: Session) {
    this.subscriptions = [
      this.changed,
      vscode.window.registerFileDecorationProvider(this),
      session.onChange(({ model, event }) => {
        if (event === null || event.body.kind === 'filesChanged') this.update(model.files);
        if (event === null || /^turn/.test(event.body.kind)) {
          void setContext('tierline.busy', model.turn !== null);
          if (answered(model)) void setContext('tierline.answered', true);
        }
      }),
    ];
    this.update([]);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const file = this.files.get(uri.toString());
    if (file === undefined || file.pin === 'none') return undefined;
    return new vscode.FileDecoration(
      'P',
      vscode.l10n.t('Pinned in Tierline ({0})', file.pin),
      new vscode.ThemeColor('charts.blue'),
    );
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private update(files: readonly FileInfo[]): void {
    const before = this.files;
    this.files = new Map(files.map((file) => [key(file.uri), file]));
    const touched = new Set([...before.keys(), ...this.files.keys()]);
    const differing = [...touched].filter((uri) => pinOf(before, uri) !== pinOf(this.files, uri));
    if (differing.length > 0) this.changed.fire(differing.map((uri) => vscode.Uri.parse(uri)));
    const pinned = files.filter((file) => file.pin !== 'none');
    void setContext('tierline.files', [...this.files.keys()]);
    void setContext(
      'tierline.pinned',
      pinned.map((file) => key(file.uri)),
    );
    void setContext('tierline.hasFiles', files.length > 0);
    void setContext('tierline.hasPins', pinned.length > 0);
  }
}

/** A reply has come: completes the walkthrough's step *Ask*. */
function answered({ messages }: Model): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  return last?.status === 'ok';
}

function pinOf(files: ReadonlyMap<string, FileInfo>, uri: string): FileInfo['pin'] {
  return files.get(uri)?.pin ?? 'none';
}

function key(uri: string): string {
  try {
    return vscode.Uri.parse(uri, true).toString();
  } catch {
    return uri;
  }
}

function setContext(name: string, value: unknown): Thenable<unknown> {
  return vscode.commands.executeCommand('setContext', name, value);
}
