/** Questions before something is disclosed or deleted. */
import * as vscode from 'vscode';
import { unlinked } from '../shared/names';

/** Which of several ways the user chose; undefined for none (Esc). */
export function choice(question: string, ...ways: string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(unlinked(question), { modal: true }, ...ways);
}

/**
 * True only if the user chose ``yes``. VS Code gives the focus of a modal to its first button that
 * does not close it, and marking one as the close affordance moves it to the end: so what changes
 * nothing is an ordinary button and comes first, and Enter means no. (Esc is VS Code's own Cancel.)
 */
export async function confirmed(
  question: string,
  detail: string,
  yes: string,
  no: string,
): Promise<boolean> {
  return (await confirmedOne(question, detail, [yes], no)) === yes;
}

/** Like ``confirmed``, with several choices; undefined if the user chose none of them. */
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
