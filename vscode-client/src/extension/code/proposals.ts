/**
 * Open edits in the file that they change: removed text is marked, and each part is accepted or
 * rejected there.
 */
import * as vscode from 'vscode';
import type { EditHunk, EditInfo } from '../../protocol';
import { places } from '../../shared/review';
import { type Session, sameUri } from '../session';

const LONGEST_HINT = 400;

export class Proposals implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly removed = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('diffEditor.removedLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.modifiedForeground'),
  });
  private readonly added = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 2em' },
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
  });
  private readonly inserted = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('diffEditor.insertedLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
  });
  private readonly subscriptions: vscode.Disposable[];

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly session: Session) {
    this.subscriptions = [
      this.changed,
      this.removed,
      this.added,
      this.inserted,
      vscode.languages.registerCodeLensProvider([{ scheme: 'file' }, { scheme: 'untitled' }], this),
      vscode.window.onDidChangeVisibleTextEditors(() => this.mark()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (this.applied(document.uri).length === 0) return;
        this.changed.fire();
        this.mark();
      }),
      session.onChange(({ event }) => {
        if (event !== null && event.body.kind !== 'editChanged') return;
        this.changed.fire();
        this.mark();
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    return [
      ...this.open(document.uri).flatMap((edit) => lenses(document, edit)),
      ...this.applied(document.uri).flatMap((edit) => reviewLenses(document, edit)),
    ];
  }

  /** Decide about one part; with the last one, the accepted parts are applied. */
  async choose(id: unknown, hunk: unknown, take: boolean): Promise<void> {
    if (typeof id !== 'string' || typeof hunk !== 'number') return;
    await this.session.server.request('tierline/edit/choose', { id, hunk, take });
  }

  private open(uri: vscode.Uri): EditInfo[] {
    return (this.session.model?.edits ?? []).filter(
      (edit) => edit.state === 'open' && !edit.create && sameUri(edit.uri, uri.toString()),
    );
  }

  /** Edits that were applied at once and wait for review. */
  private applied(uri: vscode.Uri): EditInfo[] {
    return (this.session.model?.edits ?? []).filter(
      (edit) => edit.review === 'open' && sameUri(edit.uri, uri.toString()),
    );
  }

  private mark(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const parts = this.open(document.uri)
        .flatMap(({ hunks }) => hunks)
        .filter(({ choice }) => choice !== 'leave');
      const places = parts.map((hunk) => ({ hunk, range: placeOf(document, hunk) }));
      editor.setDecorations(
        this.removed,
        places
          .filter(({ hunk }) => hunk.before !== '')
          .map(({ hunk, range }) => ({
            range,
            hoverMessage: proposal(hunk, document.languageId),
          })),
      );
      editor.setDecorations(
        this.added,
        places.map(({ hunk, range }) => ({
          range: new vscode.Range(range.end, range.end),
          hoverMessage: proposal(hunk, document.languageId),
          renderOptions: { after: { contentText: hint(hunk) } },
        })),
      );
      editor.setDecorations(
        this.inserted,
        this.applied(document.uri)
          .flatMap((edit) => waiting(document, edit))
          .map(({ hunk, range }) => ({ range, hoverMessage: earlier(hunk, document.languageId) })),
      );
    }
  }
}

interface Place {
  hunk: EditHunk;
  range: vscode.Range;
}

/** The applied, undecided parts at their current places. */
function waiting(document: vscode.TextDocument, edit: EditInfo): Place[] {
  const lines = document.getText().split(/\r\n|\r|\n/);
  return [...places(edit, lines)].flatMap(([index, [first, last]]) => {
    const hunk = edit.hunks.find((one) => one.index === index);
    if (hunk === undefined || hunk.choice !== '') return [];
    const end = document.lineAt(Math.min(last, document.lineCount - 1)).range.end;
    return [{ hunk, range: new vscode.Range(new vscode.Position(first, 0), end) }];
  });
}

function reviewLenses(document: vscode.TextDocument, edit: EditInfo): vscode.CodeLens[] {
  const t = vscode.l10n.t;
  const several = edit.accepted.length > 1;
  return waiting(document, edit).flatMap(({ hunk, range }, index) => {
    const start = new vscode.Range(range.start, range.start);
    const lens = (title: string, command: string, ...args: unknown[]): vscode.CodeLens =>
      new vscode.CodeLens(start, { title, command, arguments: [edit.id, ...args] });
    const part = several
      ? [
          lens(t('$(check) Keep this part'), 'tierline.keepEdits', hunk.index),
          lens(t('$(discard) Undo this part'), 'tierline.undoEdits', hunk.index),
        ]
      : [];
    const whole =
      index === 0
        ? [
            lens(several ? t('Keep all') : t('$(check) Keep'), 'tierline.keepEdits'),
            lens(several ? t('Undo all') : t('$(discard) Undo'), 'tierline.undoEdits'),
          ]
        : [];
    return [...part, ...whole];
  });
}

/** The text before the change, for the hover. */
function earlier(hunk: EditHunk, language: string): vscode.MarkdownString {
  const shown = new vscode.MarkdownString(vscode.l10n.t('Changed by Tierline; before:'));
  shown.appendCodeblock(hunk.before === '' ? '' : hunk.before, language);
  return shown;
}

function lenses(document: vscode.TextDocument, edit: EditInfo): vscode.CodeLens[] {
  const t = vscode.l10n.t;
  const several = edit.hunks.length > 1;
  const uri = vscode.Uri.from({
    scheme: 'tierline-edit',
    path: `/${edit.path}`,
    query: `x=${edit.id}`,
  });
  return edit.hunks.flatMap((hunk, index) => {
    const start = placeOf(document, hunk).start;
    const range = new vscode.Range(start, start);
    const lens = (title: string, command: string, ...args: unknown[]): vscode.CodeLens =>
      new vscode.CodeLens(range, { title, command, arguments: args });
    const part = several
      ? [
          lens(
            hunk.choice === 'take' ? t('$(check) Accepted') : t('$(check) Accept this part'),
            'tierline.takePart',
            edit.id,
            hunk.index,
          ),
          lens(
            hunk.choice === 'leave' ? t('$(close) Rejected') : t('$(close) Reject this part'),
            'tierline.leavePart',
            edit.id,
            hunk.index,
          ),
        ]
      : [];
    const whole =
      index === 0
        ? [
            lens(several ? t('Accept all') : t('$(check) Accept'), 'tierline.acceptEdit', uri),
            lens(several ? t('Reject all') : t('$(close) Reject'), 'tierline.rejectEdit', uri),
            lens(t('$(diff) Preview'), 'tierline.previewEdit', uri),
          ]
        : [];
    return [...part, ...whole];
  });
}

/** The place of a part in the document; for an insertion, the line before which it goes. */
function placeOf(document: vscode.TextDocument, { line, before }: EditHunk): vscode.Range {
  const most = document.lineCount - 1;
  const first = Math.min(Math.max(line - 1, 0), most);
  const count = before === '' ? 1 : before.replace(/\n$/, '').split('\n').length;
  const last = Math.min(first + count - 1, most);
  return new vscode.Range(new vscode.Position(first, 0), document.lineAt(last).range.end);
}

/** The new text on one line, after the text that it replaces; the hover has all of it. */
function hint({ before, after }: EditHunk): string {
  const lines = after.replace(/\n$/, '').split('\n');
  const first = lines.find((line) => line.trim() !== '')?.trim() ?? '';
  if (after === '') return vscode.l10n.t('goes');
  const more = lines.length > 1 ? ` ${vscode.l10n.t('(+{0} lines)', lines.length - 1)}` : '';
  const arrow = before === '' ? '+' : '→';
  return `${arrow} ${first.slice(0, LONGEST_HINT / 4)}${more}`;
}

function proposal({ before, after }: EditHunk, language: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.appendMarkdown(`${vscode.l10n.t('Proposed instead:')}\n`);
  const shown = after === '' ? vscode.l10n.t('nothing') : after.slice(0, 4 * LONGEST_HINT);
  text.appendCodeblock(shown, before === '' && after === '' ? 'plaintext' : language);
  return text;
}
