/** A question asked in the editor itself: a small input, the place marked while it is answered. */
import * as vscode from 'vscode';
import type { Selection } from '../chatView';
import { around, isTarget, selectionOf, targetOf, wholeLines } from './actions';

interface Chat {
  attach(selection: Selection): Promise<void>;
  ask(text: string, send: boolean): Promise<void>;
}

export class InlineAsk implements vscode.Disposable {
  private readonly mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.rangeHighlightForeground'),
  });

  constructor(private readonly chat: Chat) {}

  dispose(): void {
    this.mark.dispose();
  }

  /** Ask about the selection, or the function around the cursor. Esc changes nothing. */
  async run(given: unknown): Promise<void> {
    const target = isTarget(given) ? given : targetOf(given);
    const editor = vscode.window.activeTextEditor;
    if (target === null || editor === undefined) {
      await this.chat.ask('', false);
      return;
    }
    const { document } = editor;
    const range = target.range.isEmpty ? await around(document, target.range.start) : target.range;
    const selection = selectionOf(document, wholeLines(document, range));
    editor.setDecorations(this.mark, [range]);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    try {
      const text = await vscode.window.showInputBox({
        title: vscode.l10n.t('Ask Tierline about {0}', selection.label),
        placeHolder: vscode.l10n.t('What should be changed or explained?'),
        prompt: vscode.l10n.t(
          'Changes come as an edit in the file: accept or reject each part there or in the chat.',
        ),
        ignoreFocusOut: true,
      });
      if (text === undefined || text.trim() === '') return;
      await this.chat.attach(selection);
      await this.chat.ask(text.trim(), true);
    } finally {
      editor.setDecorations(this.mark, []);
    }
  }
}
