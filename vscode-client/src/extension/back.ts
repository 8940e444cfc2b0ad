/**
 * Going back to a prompt with the files of that moment, and forward again, after a question.
 */
import * as vscode from 'vscode';
import type { BackChoice, BackFile, BackParams, BackPreview } from '../protocol';
import { confirmedOne } from './confirm';
import * as notify from './notify';
import type { Session } from './session';

/** Files that the question names; more are counted. */
const MOST_NAMED = 12;
const LABEL = 80;

export class Back {
  constructor(
    private readonly session: Session,
    private readonly chat: { ask(text: string, send: boolean): Promise<void> },
  ) {}

  /** To a prompt; from the palette the user chooses which. */
  async toPrompt(group: unknown): Promise<void> {
    const groupId = typeof group === 'string' ? group : await this.choose();
    if (groupId !== undefined) await this.go({ groupId });
  }

  async forward(): Promise<void> {
    await this.go({ forward: true });
  }

  private async choose(): Promise<string | undefined> {
    const t = vscode.l10n.t;
    const prompts = (this.session.model?.messages ?? []).filter(({ role }) => role === 'user');
    if (prompts.length === 0) {
      void notify.info(t('There is no prompt to go back to.'));
      return undefined;
    }
    const items = prompts.map(({ text, groupId }, index) => ({
      label: `${index + 1}  ${text.split(/\s+/).join(' ').slice(0, LABEL)}`,
      groupId,
    }));
    const title = t('Go back to the moment before a prompt');
    return (await vscode.window.showQuickPick(items.reverse(), { title }))?.groupId;
  }

  private async go(moment: BackParams): Promise<void> {
    const t = vscode.l10n.t;
    const { server } = this.session;
    const seen = await server.request('tierline/back/preview', moment);
    const choices = await ask(seen);
    if (choices === undefined) return;
    const done = await server.request('tierline/back/go', { ...moment, choices });
    if (done.prompt !== '') await this.chat.ask(done.prompt, false);
    const problems = done.problems.join(' ');
    if (problems !== '') void notify.warning(problems);
    if (moment.forward === true) return;
    const again = t('Go Forward Again');
    const said = t('Files and chat are as they were before that prompt.');
    if ((await notify.info(said, again)) === again) await this.forward();
  }
}

/** What to do with files that the user has changed; undefined to cancel. */
async function ask(seen: BackPreview): Promise<BackChoice[] | undefined> {
  const t = vscode.l10n.t;
  const open = seen.files.filter(({ yours, choices }) => yours && choices.length > 1);
  const go = seen.forward ? t('Go Forward') : t('Go Back');
  const keep = t('{0}, Keep My Changes', go);
  const each = t('Choose for Each File…');
  const no = t('Stay Here');
  const question = seen.forward
    ? t('Go forward to where you were?')
    : t('Go back to the moment before this prompt?');
  const detail = [
    ...seen.files.slice(0, MOST_NAMED).map(line),
    ...(seen.files.length > MOST_NAMED
      ? [t('and {0} more files', seen.files.length - MOST_NAMED)]
      : []),
    ...(seen.files.length === 0 ? [t('No file changes.')] : []),
    ...seen.notes,
    t('Nothing is lost: what is there now is kept, and you can change your mind.'),
  ].join('\n');
  const ways = open.length > 0 ? [keep, each] : [go];
  const answer = await confirmedOne(question, detail, ways, no);
  if (answer === go || answer === keep) return [];
  return answer === each ? chooseEach(open) : undefined;
}

async function chooseEach(files: readonly BackFile[]): Promise<BackChoice[] | undefined> {
  const chosen: BackChoice[] = [];
  for (const file of files) {
    const picked = await vscode.window.showQuickPick(
      file.choices.map((take) => ({ label: takes(take), take })),
      { title: file.path, placeHolder: vscode.l10n.t('You have changed this file since.') },
    );
    if (picked === undefined) return undefined;
    chosen.push({ path: file.path, take: picked.take });
  }
  return chosen;
}

function takes(take: BackChoice['take']): string {
  const t = vscode.l10n.t;
  if (take === 'old') return t('As it was then');
  return take === 'merge' ? t('As it was then, with my changes') : t('Leave it as it is');
}

function line(file: BackFile): string {
  const t = vscode.l10n.t;
  const { path, change, added, removed, yours, take, why } = file;
  const words = { restore: t('changed back'), create: t('made again'), delete: t('deleted') };
  const what = take === 'mine' ? t('left as it is') : `${words[change]} (+${added} −${removed})`;
  const more = why !== '' ? ` ${why}` : yours ? ` ${t('You have changed it since.')}` : '';
  return `${path}: ${what}.${more}`;
}
