/** Code of a reply, put into an editor. */
import * as vscode from 'vscode';

/** At the cursor of the editor that was used last, or into a new document. */
export async function insert(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (editor === undefined) {
    const document = await vscode.workspace.openTextDocument({ content: text });
    await vscode.window.showTextDocument(document);
    return;
  }
  await editor.edit((edit) => {
    for (const selection of editor.selections) {
      const rest = editor.document.lineAt(selection.end.line).text.slice(selection.end.character);
      // Whole lines of code must not run into the next line.
      const end = text.includes('\n') && rest.trim() !== '' ? '\n' : '';
      edit.replace(selection, text + end);
    }
  });
  await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}
