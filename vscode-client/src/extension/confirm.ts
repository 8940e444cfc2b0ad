/** Questions before something is disclosed or deleted. */
import * as vscode from 'vscode';
import { unlinked } from '../shared/names';

/** Which of several ways the user chose; undefined for none (Esc). */
export function choice(question: string, ...ways: string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(unlinked(question), { modal: true }, ...ways);
}

/**
 * True only if the user chose ``yes``. VS Code focuses a modal's first button that does not close
 * it, and moves the close affordance to the end. So the button that changes nothing is an ordinary
 * one and comes first: Enter means no. (Esc is VS Code's own Cancel.)
 */
export async function confirmed(
  question: string,
  detail: string,
  yes: string,
  no: string,
): Promise<boolean> {
  return (await confirmedOne(question, detail, [yes], no)) === yes;
}

/** Like ``confirmed``, with several choices; undefined if the user chose none. */
export async function confirmedOne(
  question: string,
  detail: string,
  ways: readonly string[],
  no: string,
): Promise<string | undefined> {
  const answer = await vscode.window.showWarningMessage(
    unlinked(question),
    { modal: true, detail: unlinked(detail) },
    no,
    ...ways,
  );
  return answer === no ? undefined : answer;
}
