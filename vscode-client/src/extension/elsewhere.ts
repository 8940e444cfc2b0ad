/** Notifies a user who is not looking at the chat of a long turn's end and of waiting questions. */
import * as vscode from 'vscode';
import type { ConsentInfo, TurnFinished } from '../protocol';
import * as notify from './notify';
import type { Session } from './session';
import * as system from './systemNotice';

export class Elsewhere implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(
    session: Pick<Session, 'onChange'>,
    private readonly chat: { readonly visible: boolean; focus(): Promise<void> },
    /** Shows a notification of the operating system; false if it could not. */
    private readonly raise: (title: string, text: string) => Promise<boolean> = system.raise,
  ) {
    this.subscription = session.onChange(({ event }) => {
      const body = event?.body;
      if (body?.kind === 'turnFinished') void this.ended(body);
      if (body?.kind === 'consentAsked') void this.waits(body.consent);
      if (body?.kind === 'toolChanged' && body.call.editId !== '') {
        void this.tell(vscode.l10n.t('Tierline proposes an edit.'));
      }
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async ended({ outcome, seconds }: TurnFinished): Promise<void> {
    const after = vscode.workspace.getConfiguration('tierline').get('notifyAfterSeconds', 20);
    if (after <= 0 || !(seconds >= after)) return;
    const took = String(Math.round(seconds));
    await this.tell(
      outcome === 'error'
        ? vscode.l10n.t('Tierline has failed to answer, after {0} s.', took)
        : vscode.l10n.t('Tierline has answered, after {0} s.', took),
    );
  }

  private async waits({ kind, title, text }: ConsentInfo): Promise<void> {
    const start = text.slice(0, 200);
    const whole =
      kind === 'command'
        ? vscode.l10n.t('Tierline wants to run a command: {0}', start)
        : `${title} ${start}`;
    await this.tell(whole, title);
  }

  /**
   * Notify outside of the window if it has no focus, and in the window if the chat is not visible
   * or the operating system shows nothing. `outside`: a text that anybody near the screen may read.
   */
  private async tell(text: string, outside = text): Promise<void> {
    const away = !vscode.window.state.focused;
    if (this.chat.visible && !away) return;
    if (away && (await this.outside(outside)) && this.chat.visible) return;
    const show = vscode.l10n.t('Show');
    if ((await notify.info(text, show)) === show) await this.chat.focus();
  }

  private async outside(text: string): Promise<boolean> {
    const wanted = vscode.workspace.getConfiguration('tierline').get('notifySystem', true);
    // With the window in a browser or on another machine it would appear on the wrong screen.
    const here = vscode.env.remoteName === undefined && vscode.env.uiKind === vscode.UIKind.Desktop;
    if (!wanted || !here) return false;
    const folder = vscode.workspace.name;
    return this.raise(folder === undefined ? 'Tierline' : `Tierline · ${folder}`, text);
  }
}
