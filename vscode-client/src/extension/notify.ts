import * as vscode from 'vscode';
import { unlinked } from '../shared/names';

/*
 * The one place that shows messages. VS Code turns `[text](command:…)` in a message into a link that
 * runs a command when it is pressed, and a message may hold a file's name.
 */

export function info(text: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showInformationMessage(unlinked(text), ...actions);
}

export function warning(text: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(unlinked(text), ...actions);
}

export function error(text: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showErrorMessage(unlinked(text), ...actions);
}
