/** The active file, or the selection in it, and whether it is sent with the prompt. */
import * as vscode from 'vscode';
import type { EditorPlace } from '../protocol';
import type { ActiveChip } from '../shared/messages';

const KEY = 'tierline.sendActiveEditor';
const QUIET_MS = 120;

export class ActiveEditor implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  /** Fires, debounced, when the editor, its selection or the choice has changed. */
  readonly onDidChange = this.changed.event;

  constructor(private readonly memory: vscode.Memento) {
    const soon = (): void => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.changed.fire(), QUIET_MS);
    };
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeTextEditorSelection(soon),
      this.changed,
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  get on(): boolean {
    return this.memory.get(KEY, true);
  }

  /** Switch whether it is sent with prompts. */
  async toggle(): Promise<void> {
    await this.memory.update(KEY, !this.on);
    this.changed.fire();
  }

  /** The chip in the composer; null if no file is active. */
  chip(): ActiveChip | null {
    const editor = textEditor();
    if (editor === undefined) return null;
    const { document, selection } = editor;
    const path = vscode.workspace.asRelativePath(document.uri);
    const name = path.slice(path.lastIndexOf('/') + 1);
    const [first, last] = [selection.start.line + 1, selection.end.line + 1];
    const lines = selection.isEmpty ? '' : first === last ? `:${first}` : `:${first}-${last}`;
    return {
      label: `${name}${lines}`,
      path: `${path}${lines}`,
      selected: lines !== '',
      on: this.on,
    };
  }

  /** The editor's content for a prompt; null if it is not to be sent. */
  taken(): { editor: EditorPlace; selection: string } | null {
    const editor = textEditor();
    return editor === undefined || !this.on ? null : placeOf(editor);
  }
}

/** Where the user is in an editor, and the text that is selected there. */
function placeOf(editor: vscode.TextEditor): { editor: EditorPlace; selection: string } {
  const { document, selection, visibleRanges } = editor;
  const seen = visibleRanges[0];
  const range = selection.isEmpty && seen !== undefined ? seen : selection;
  return {
    editor: {
      uri: document.uri.toString(),
      firstLine: range.start.line + 1,
      lastLine: range.end.line + 1,
      cursorLine: selection.active.line + 1,
    },
    selection: document.getText(selection),
  };
}

/** The active editor, if it shows a file and not an output or one of our documents. */
function textEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  const shown = editor !== undefined && ['file', 'untitled'].includes(editor.document.uri.scheme);
  return shown ? editor : undefined;
}
