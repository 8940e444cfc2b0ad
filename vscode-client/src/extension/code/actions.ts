/** Explain, fix, write tests, document: from the light bulb, menus and the gutter into the chat. */
import * as vscode from 'vscode';
import type { EditorContent } from '../../protocol';
import type { Selection } from '../chatView';
import type { Mentions } from '../mentions/mentions';
import { problem } from '../mentions/provide';

export type CodeVerb = 'explain' | 'fix' | 'writeTests' | 'document' | 'ask';

/** The argument of a code action's command. */
interface Target {
  uri: vscode.Uri;
  range: vscode.Range;
  diagnostics: readonly vscode.Diagnostic[];
}

interface Chat {
  attach(selection: Selection): Promise<void>;
  ask(text: string, send: boolean): Promise<void>;
}

export class CodeActions implements vscode.CodeActionProvider, vscode.Disposable {
  private readonly registration: vscode.Disposable;

  constructor(
    private readonly chat: Chat,
    private readonly mentions: Pick<Mentions, 'capture'>,
  ) {
    this.registration = vscode.languages.registerCodeActionsProvider(
      [{ scheme: 'file' }, { scheme: 'untitled' }],
      this,
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.Refactor] },
    );
  }

  dispose(): void {
    this.registration.dispose();
  }

  /** On a problem at once; on other code only when the user opens the menu, or has selected it. */
  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    context: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const found: vscode.CodeAction[] = [];
    const { diagnostics } = context;
    const { QuickFix, Refactor } = vscode.CodeActionKind;
    const wanted = (kind: vscode.CodeActionKind): boolean =>
      context.only === undefined || context.only.contains(kind);
    if (diagnostics.length > 0 && wanted(QuickFix)) {
      const whole = diagnostics.reduce((all, one) => all.union(one.range), range);
      const target = { uri: document.uri, range: whole, diagnostics };
      for (const verb of ['fix', 'explain'] as const) {
        const action = actionFor(verb, QuickFix, target);
        action.diagnostics = [...diagnostics];
        found.push(action);
      }
    }
    const asked = context.triggerKind === vscode.CodeActionTriggerKind.Invoke;
    if ((asked || !range.isEmpty) && wanted(Refactor)) {
      const target = { uri: document.uri, range, diagnostics: [] };
      const verbs: CodeVerb[] = diagnostics.length > 0 ? [] : ['explain'];
      for (const verb of [...verbs, 'writeTests', 'document', 'ask'] as const) {
        found.push(actionFor(verb, Refactor, target));
      }
    }
    return found;
  }

  /** From a code action, a menu or the palette. */
  async run(verb: CodeVerb, given: unknown): Promise<void> {
    const target = isTarget(given) ? given : targetOf(given);
    if (target === null) {
      await this.chat.ask('', false);
      return;
    }
    const document = await vscode.workspace.openTextDocument(target.uri);
    const range = target.range.isEmpty ? await around(document, target.range.start) : target.range;
    const lines = wholeLines(document, range);
    const diagnostics =
      verb === 'fix' && target.diagnostics.length === 0
        ? vscode.languages
            .getDiagnostics(target.uri)
            .filter((one) => one.range.intersection(lines) !== undefined)
        : target.diagnostics;
    if (diagnostics.length > 0) this.mentions.capture(content(target.uri, diagnostics));
    await this.chat.attach(selectionOf(document, lines));
    await this.chat.ask(promptOf(verb, diagnostics.length > 0), verb !== 'ask');
  }
}

function actionFor(verb: CodeVerb, kind: vscode.CodeActionKind, target: Target): vscode.CodeAction {
  const t = vscode.l10n.t;
  const titles: Record<CodeVerb, string> = {
    fix: t('Fix with Tierline'),
    explain: t('Explain with Tierline'),
    writeTests: t('Write Tests with Tierline'),
    document: t('Document with Tierline'),
    ask: t('Ask Tierline…'),
  };
  const action = new vscode.CodeAction(titles[verb], kind);
  const id = verb === 'ask' ? 'tierline.inlineAsk' : `tierline.${verb}`;
  action.command = { command: id, title: titles[verb], arguments: [target] };
  return action;
}

/** In the user's language: the user sees this prompt, and the model gets it. */
function promptOf(verb: CodeVerb, problems: boolean): string {
  const t = vscode.l10n.t;
  switch (verb) {
    case 'fix':
      return problems ? t('Fix this problem.') : t('Find what is wrong here and fix it.');
    case 'explain':
      return problems ? t('Explain this problem and how to fix it.') : t('Explain this code.');
    case 'writeTests':
      return t('Write tests for this code, as the other tests of this project are written.');
    case 'document':
      return t('Document this code, as the rest of this project is documented.');
    case 'ask':
      return '';
  }
}

function content(uri: vscode.Uri, diagnostics: readonly vscode.Diagnostic[]): EditorContent {
  return {
    kind: 'problems',
    uri: uri.toString(),
    problems: diagnostics.map((one) => problem(uri, one)),
  };
}

export function isTarget(given: unknown): given is Target {
  return typeof given === 'object' && given !== null && 'diagnostics' in given && 'range' in given;
}

/** The line of the gutter, else the selection or the cursor of the active editor. */
export function targetOf(given: unknown): Target | null {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return null;
  const { uri } = editor.document;
  const line = (given as { lineNumber?: unknown } | null | undefined)?.lineNumber;
  if (typeof line !== 'number') return { uri, range: editor.selection, diagnostics: [] };
  const inside = editor.selection.start.line < line && line <= editor.selection.end.line + 1;
  const at = new vscode.Position(Math.max(line - 1, 0), 0);
  const range = inside && !editor.selection.isEmpty ? editor.selection : new vscode.Range(at, at);
  return { uri, range, diagnostics: [] };
}

/** The innermost function or class around a place; its line if none is known. */
export async function around(
  document: vscode.TextDocument,
  at: vscode.Position,
): Promise<vscode.Range> {
  let found: vscode.Range | null = null;
  try {
    let symbols =
      (await vscode.commands.executeCommand<vscode.DocumentSymbol[]>(
        'vscode.executeDocumentSymbolProvider',
        document.uri,
      )) ?? [];
    while (true) {
      const inner = symbols.find((one) => HOLDS_CODE.has(one.kind) && one.range.contains(at));
      if (inner === undefined) break;
      found = inner.range;
      symbols = inner.children ?? [];
    }
  } catch {
    // Without symbols the line is enough.
  }
  return found ?? document.lineAt(at.line).range;
}

const HOLDS_CODE = new Set<vscode.SymbolKind>([
  vscode.SymbolKind.Class,
  vscode.SymbolKind.Method,
  vscode.SymbolKind.Constructor,
  vscode.SymbolKind.Function,
  vscode.SymbolKind.Interface,
  vscode.SymbolKind.Struct,
  vscode.SymbolKind.Enum,
  vscode.SymbolKind.Namespace,
  vscode.SymbolKind.Module,
]);

/**
 * Whole lines; a selection that ends before a line's first character does not include that line.
 */
export function wholeLines(document: vscode.TextDocument, range: vscode.Range): vscode.Range {
  const untaken = range.end.character === 0 && range.end.line > range.start.line;
  const last = document.lineAt(range.end.line - (untaken ? 1 : 0));
  return new vscode.Range(new vscode.Position(range.start.line, 0), last.range.end);
}

export function selectionOf(document: vscode.TextDocument, range: vscode.Range): Selection {
  const path = vscode.workspace.asRelativePath(document.uri);
  const [first, last] = [range.start.line + 1, range.end.line + 1];
  return {
    text: document.getText(range),
    label: first === last ? `${path}:${first}` : `${path}:${first}-${last}`,
    uri: document.uri.toString(),
    firstLine: first,
    lastLine: last,
  };
}
