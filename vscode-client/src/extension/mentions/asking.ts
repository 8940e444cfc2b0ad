/** Unclear mentions: the user is asked before anything is sent. */
import * as vscode from 'vscode';
import { choice } from '../confirm';
import { describeError } from '../server/errors';

/** Sends a prompt. Where a mention is not clear, it asks first and does what the user says. */
export async function askedAboutMentions<T>(
  send: (mentions: 'ask' | 'text' | 'confirm') => Promise<T>,
): Promise<T> {
  try {
    return await send('ask');
  } catch (error) {
    const { code, message } = describeError(error);
    if (code !== 'unclear_mention') throw error;
    const all = vscode.l10n.t('Send With It');
    const plain = vscode.l10n.t('Send as Plain Text');
    const chosen = await choice(message, plain, all);
    if (chosen === undefined) throw error;
    return await send(chosen === all ? 'confirm' : 'text');
  }
}
