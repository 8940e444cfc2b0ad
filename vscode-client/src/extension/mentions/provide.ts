/**
 * Content that only the editor has, for mentions: problems, terminals, the selection, open
 * documents.
 */
import * as vscode from 'vscode';
import type { LanguageClient, StaticFeature } from 'vscode-languageclient/node';
import {
  EDITOR_PROVIDE,
  type EditorContent,
  type EditorProvideParams,
  type Problem,
} from '../../protocol';
import { sameUri } from '../session';
import type { Terminals } from './terminals';

const MOST_PROBLEMS = 200;
const KINDS = ['problems', 'terminal', 'selection', 'editors'] as const;

export class Provide implements StaticFeature {
  constructor(private readonly terminals: Terminals) {}

  /** Call it for each new client before it starts. */
  attach(client: LanguageClient): void {
    client.registerFeature(this);
    client.onRequest(EDITOR_PROVIDE, (params: EditorProvideParams) => this.given(params));
  }

  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    const others = (capabilities.experimental ?? {}) as { tierline?: object };
    capabilities.experimental = { ...others, tierline: { ...others.tierline, provides: KINDS } };
  }

  initialize(): void {}

  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }

  clear(): void {}

  async given({ kind, argument = '', uri = '' }: EditorProvideParams): Promise<EditorContent> {
    switch (kind) {
      case 'problems':
        return { kind, uri, problems: problemsOf(uri) };
      case 'editors':
        return { kind, uris: openDocuments().map((one) => one.toString()) };
      case 'terminal': {
        const found =
          argument === 'selection'
            ? await this.terminals.selection()
            : await this.terminals.output(argument);
        return { kind, ...found };
      }
      case 'selection':
        return selected();
    }
  }
}

/** The problems of one document, or of all; the worst first. */
export function problemsOf(uri: string): Problem[] {
  return vscode.languages
    .getDiagnostics()
    .filter(([one]) => uri === '' || sameUri(one.toString(), uri))
    .flatMap(([one, diagnostics]) => diagnostics.map((each) => problem(one, each)))
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MOST_PROBLEMS);
}

const SEVERITIES = ['error', 'warning', 'information', 'hint'] as const;

export function problem(uri: vscode.Uri, diagnostic: vscode.Diagnostic): Problem {
  const { code } = diagnostic;
  return {
    uri: uri.toString(),
    message: diagnostic.message,
    line: diagnostic.range.start.line + 1,
    severity: SEVERITIES[diagnostic.severity] ?? 'error',
    source: diagnostic.source ?? '',
    code: String((typeof code === 'object' ? code.value : code) ?? ''),
  };
}

function rank({ severity }: Problem): number {
  return SEVERITIES.indexOf(severity ?? 'error');
}

/** Files that are open in a tab, in the order of the tabs. */
function openDocuments(): vscode.Uri[] {
  const uris = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .map(({ input }) =>
      input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook
        ? input.uri
        : null,
    )
    .filter((uri) => uri !== null)
    .filter(({ scheme }) => scheme === 'file' || scheme === 'untitled');
  return [...new Map(uris.map((uri) => [uri.toString(), uri])).values()];
}

function selected(): EditorContent {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty) return { kind: 'selection' };
  const { document, selection } = editor;
  return {
    kind: 'selection',
    text: document.getText(selection),
    uri: document.uri.toString(),
    firstLine: selection.start.line + 1,
    lastLine: selection.end.line + 1,
  };
}
