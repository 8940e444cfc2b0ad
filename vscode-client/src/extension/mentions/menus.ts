/** Menu entries of the explorer, terminals and source control that bring things into the chat. */
import * as vscode from 'vscode';
import { resources } from '../files';
import * as notify from '../notify';
import type { Mentions } from './mentions';
import type { Terminals } from './terminals';

interface Chat {
  focus(): Promise<void>;
}

export class MentionMenus {
  constructor(
    private readonly chat: Chat,
    private readonly mentions: Pick<Mentions, 'add' | 'capture' | 'mention'>,
    private readonly terminals: Pick<Terminals, 'output' | 'selection'>,
  ) {}

  /** Files and folders of the explorer, of tabs or of the source control view. */
  async files(first: unknown, rest: unknown): Promise<void> {
    const uris = resources(resource(first), Array.isArray(rest) ? rest.map(resource) : undefined);
    const active = vscode.window.activeTextEditor?.document.uri;
    const chosen = uris.length > 0 ? uris : active === undefined ? [] : [active];
    await this.chat.focus();
    await this.mentions.add(chosen);
  }

  /** What the terminal shows, or what is selected in it. */
  async terminal(what: 'output' | 'selection'): Promise<void> {
    const found = await this.terminals[what]();
    if (found.text === '') {
      void notify.info(vscode.l10n.t('There is no terminal output to add.'));
      return;
    }
    this.mentions.capture({ kind: 'terminal', ...found });
    await this.chat.focus();
  }

  /** A mention of git's changes or of all problems, to be finished by the user. */
  async mention(text: string): Promise<void> {
    await this.chat.focus();
    this.mentions.mention(text);
  }
}

/** A resource of the source control view holds its URI; menus of the explorer pass it as it is. */
function resource(given: unknown): unknown {
  const held = (given as { resourceUri?: unknown } | null | undefined)?.resourceUri;
  return held instanceof vscode.Uri ? held : given;
}
