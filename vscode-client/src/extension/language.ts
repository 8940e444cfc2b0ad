/** The language that VS Code shows, if there is a translation into it. */
import * as vscode from 'vscode';
import { ENGLISH, type Language } from '../shared/l10n';

export function language(): Language {
  const { bundle } = vscode.l10n;
  return bundle === undefined ? ENGLISH : { id: vscode.env.language, bundle };
}
