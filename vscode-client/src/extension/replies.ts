/** Actions on a reply: open the files that it names; apply, keep or run its code. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { ToHost } from '../shared/messages';
import { confirmed } from './confirm';
import { activeFile } from './files';
import * as notify from './notify';
import { locate } from './openFile';
import { describeError } from './server/errors';
import type { Session } from './session';

type Code = Extract<ToHost, { type: 'code' }>;

/** Characters that a terminal would take for keys, or that change how the command reads. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const MOST_SHOWN = 2_000;
/** Names of languages for which VS Code has another id. */
const LANGUAGES: Readonly<Record<string, string>> = {
  ...{ ts: 'typescript', tsx: 'typescriptreact', js: 'javascript', jsx: 'javascriptreact' },
  ...{ py: 'python', rs: 'rust', cs: 'csharp', 'c++': 'cpp', yml: 'yaml', md: 'markdown' },
};

export class Replies {
  private terminal: vscode.Terminal | undefined;

  constructor(private readonly session: Pick<Session, 'server'>) {}

  /** Those of ``paths`` that exist in the workspace. */
  async existing(paths: readonly string[]): Promise<string[]> {
    const found = await Promise.all(
      paths.map(async (one) => ((await locate(one)) === null ? [] : [one])),
    );
    return found.flat();
  }

  async code(message: Code): Promise<void> {
    if (message.verb === 'apply') await this.apply(message);
    else if (message.verb === 'new') await this.newFile(message);
    else await this.run(message.text);
  }

  private async apply({ text, path: named, messageId }: Code): Promise<void> {
    const t = vscode.l10n.t;
    const uri = named === '' ? activeFile() : undefined;
    if (named === '' && uri === undefined) {
      void notify.warning(t('Open the file that the code belongs to, then apply it.'));
      return;
    }
    try {
      await this.session.server.request('tierline/edit/propose', {
        code: text,
        messageId,
        ...(uri === undefined ? { path: named } : { uri: uri.toString() }),
      });
    } catch (error) {
      const { message, advice } = describeError(error);
      void notify.warning(`${message} ${advice}`.trim());
    }
  }

  private async newFile({ text, path: named, language }: Code): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0];
    const free = named !== '' && !path.isAbsolute(named) && (await locate(named)) === null;
    if (free && folder !== undefined && !named.split(/[\\/]/).includes('..')) {
      const uri = vscode.Uri.joinPath(folder.uri, named).with({ scheme: 'untitled' });
      const document = await vscode.workspace.openTextDocument(uri);
      const editor = await vscode.window.showTextDocument(document);
      await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), text));
      return;
    }
    const known = await vscode.languages.getLanguages();
    const id = LANGUAGES[language.toLowerCase()] ?? language.toLowerCase();
    const document = await vscode.workspace.openTextDocument({
      content: text,
      ...(known.includes(id) ? { language: id } : {}),
    });
    await vscode.window.showTextDocument(document);
  }

  /** Nothing runs before the user has seen the whole command and agreed. */
  private async run(text: string): Promise<void> {
    const t = vscode.l10n.t;
    const command = text
      .split('\n')
      .map((line) => line.replace(/^\s*[$%>] /, ''))
      .join('\n')
      .trim();
    if (command === '') return;
    if (!vscode.workspace.isTrusted) {
      void notify.warning(t('In Restricted Mode no command is run. Trust the workspace first.'));
      return;
    }
    if (UNSEEN.test(command)) {
      void notify.warning(t('The command has hidden characters in it and is not run.'));
      return;
    }
    if (command.length > MOST_SHOWN) {
      void notify.warning(t('That is too long to be shown here; put it into a new file.'));
      return;
    }
    const question = t('Run this in the terminal?');
    if (!(await confirmed(question, command, t('Run'), t('Do not run')))) return;
    if (this.terminal === undefined || this.terminal.exitStatus !== undefined) {
      this.terminal = vscode.window.createTerminal('Tierline');
    }
    this.terminal.show(true);
    this.terminal.sendText(command, true);
  }
}
