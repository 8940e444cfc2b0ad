/** Read-only documents whose text is made when they are opened. */
import * as vscode from 'vscode';
import { describeError } from './server/errors';

const SCHEME = 'tierline';

export class VirtualDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly texts = new Map<string, () => Promise<string>>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(
    SCHEME,
    this,
  );

  readonly onDidChange = this.changed.event;

  /** Open, with a fresh text even if the document is open already. ``of`` tells texts of one name
   * apart. */
  async show(name: string, text: () => Promise<string>, of = ''): Promise<void> {
    const uri = this.uri(name).with({ query: of });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true });
  }

  /** Refresh the text of an open document. */
  refresh(name: string): void {
    this.changed.fire(this.uri(name));
  }

  private uri(name: string): vscode.Uri {
    return vscode.Uri.from({ scheme: SCHEME, path: `/${name.replace(/[/\\]/g, '-')}` });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const text = this.texts.get(uri.toString());
    if (text === undefined) return vscode.l10n.t('Open this again by its command.');
    try {
      return await text();
    } catch (error) {
      const { message, advice } = describeError(error);
      return `${message}\n\n${advice}\n`;
    }
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}
