/** Edits that the model proposes: the diff view, accept and reject, and saving when asked to. */
import * as vscode from 'vscode';
import type { LanguageClient, StaticFeature } from 'vscode-languageclient/node';
import { EDITOR_SAVE, type EditInfo, type EditReviewParams, type SaveParams } from '../protocol';
import * as notify from './notify';
import type { Session } from './session';

const EDIT_SCHEME = 'tierline-edit';

type Verb = 'accept' | 'acceptAll' | 'reject' | 'preview';

export class Edits implements vscode.TextDocumentContentProvider, vscode.Disposable, StaticFeature {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];

  readonly onDidChange = this.changed.event;

  constructor(private readonly session: Session) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(EDIT_SCHEME, this),
      session.onChange(({ event }) => {
        if (event?.body.kind === 'editChanged' && event.body.edit.state !== 'open') {
          void this.closePreview(event.body.edit.id);
        }
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** Call it for each new client before it starts. */
  attach(client: LanguageClient): void {
    client.registerFeature(this);
    client.onRequest(EDITOR_SAVE, async (params: SaveParams) => ({
      saved: await save(params.uris),
    }));
  }

  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    const others = (capabilities.experimental ?? {}) as { tierline?: object };
    capabilities.experimental = {
      ...others,
      tierline: { ...others.tierline, consent: true, edits: true, save: true, notify: true },
    };
  }

  initialize(): void {}

  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }

  clear(): void {}

  async act(verb: Verb, id: string, hunks: number[] = [], reason = ''): Promise<void> {
    const { server } = this.session;
    if (verb === 'preview') await this.preview(id);
    else if (verb === 'reject') await server.request('tierline/edit/reject', { id, reason });
    else {
      const all = verb === 'acceptAll'; // and those that are still to come
      await server.request('tierline/edit/accept', {
        id,
        hunks,
        ...(all ? { session: true } : {}),
      });
    }
  }

  /** Keep or undo edits that were applied at once; all of them if none is named. */
  async review(verb: 'keep' | 'undo', which: EditReviewParams = {}): Promise<void> {
    const { id = '', hunks = [], turnId = '', path = '' } = which;
    const done = await this.session.server.request(`tierline/edit/${verb}`, {
      id,
      hunks,
      turnId,
      path,
    });
    if (done.problems.length > 0) void notify.warning(done.problems.join(' '));
    else if (done.edits.length === 0) {
      void notify.info(vscode.l10n.t('No applied edit waits for your review.'));
    }
  }

  /** From the palette or a diff's title: the edit that is shown, else the one that waits. */
  async command(verb: Verb, uri?: unknown): Promise<void> {
    const edit = this.chosen(uri);
    if (edit === undefined) {
      void notify.info(vscode.l10n.t('No edit waits for you.'));
      return;
    }
    let reason = '';
    if (verb === 'reject') {
      const said = await vscode.window.showInputBox({
        title: vscode.l10n.t('Reject the edit to {0}', edit.path),
        prompt: vscode.l10n.t('The reason, for the model (optional)'),
      });
      if (said === undefined) return;
      reason = said;
    }
    await this.act(verb, edit.id, verb === 'accept' ? chosenHunks(edit) : [], reason);
  }

  /** From the palette: the command that waits for consent. */
  async answer(): Promise<void> {
    const consent = this.session.model?.consents[0];
    if (consent === undefined) {
      void notify.info(vscode.l10n.t('No question waits for you.'));
      return;
    }
    const t = vscode.l10n.t;
    const { yes, ever, no } = {
      command: {
        yes: t('Run once'),
        ever: t('Always run this command here'),
        no: t('Do not run'),
      },
      url: { yes: t('Read'), ever: '', no: t('Do not read') },
      spending: { yes: t('Go on'), ever: t('Go on, do not ask again'), no: t('Stop here') },
    }[consent.kind];
    const once = {
      label: yes,
      answer: 'once' as const,
    };
    const always = {
      label: ever,
      answer: 'always' as const,
    };
    const deny = {
      label: no,
      answer: 'deny' as const,
    };
    const picked = await vscode.window.showQuickPick(
      consent.canRemember ? [deny, once, always] : [deny, once],
      { title: consent.title, placeHolder: consent.text },
    );
    if (picked === undefined) return;
    const params = { id: consent.id, answer: picked.answer };
    await this.session.server.request('tierline/consent/answer', params);
  }

  /** Lists the commands that run without a question; the user may have one asked about again. */
  async manageCommands(): Promise<void> {
    const { commands } = await this.session.server.request('tierline/command/allowed', {});
    if (commands.length === 0) {
      void notify.info(vscode.l10n.t('No command is allowed to run here without a question.'));
      return;
    }
    const picked = await vscode.window.showQuickPick(
      commands.map((argv) => ({ label: argv.join(' '), argv })),
      { title: vscode.l10n.t('Ask again about'), canPickMany: true },
    );
    for (const { argv } of picked ?? []) {
      await this.session.server.request('tierline/command/forget', { argv });
    }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? '';
  }

  private async preview(id: string): Promise<void> {
    const shown = await this.session.server.request('tierline/edit/preview', { id });
    const side = (name: string, text: string): vscode.Uri => {
      const query = `${name}=${id}`;
      const uri = vscode.Uri.from({ scheme: EDIT_SCHEME, path: `/${shown.path}`, query });
      this.texts.set(uri.toString(), text);
      this.changed.fire(uri);
      return uri;
    };
    await vscode.commands.executeCommand(
      'vscode.diff',
      side('before', shown.before),
      side('after', shown.after),
      vscode.l10n.t('{0} (proposed edit)', shown.path),
      { preview: true },
    );
  }

  private async closePreview(id: string): Promise<void> {
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter(
        ({ input }) => input instanceof vscode.TabInputTextDiff && editOf(input.modified) === id,
      );
    if (tabs.length > 0) await vscode.window.tabGroups.close(tabs);
    for (const name of this.texts.keys()) {
      if (editOf(vscode.Uri.parse(name)) === id) this.texts.delete(name);
    }
  }

  private chosen(uri: unknown): EditInfo | undefined {
    const open = (this.session.model?.edits ?? []).filter((edit) => edit.state === 'open');
    const active = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const shown =
      uri instanceof vscode.Uri
        ? editOf(uri)
        : active instanceof vscode.TabInputTextDiff
          ? editOf(active.modified)
          : null;
    return open.find((edit) => edit.id === shown) ?? open[0];
  }
}

/** The parts to apply: empty for all, unless some were left out in another client. */
function chosenHunks(edit: EditInfo): number[] {
  const taken = edit.hunks.filter((hunk) => hunk.choice !== 'leave');
  return taken.length < edit.hunks.length ? taken.map((hunk) => hunk.index) : [];
}

/** The id of the edit that a document of ours shows. */
function editOf(uri: vscode.Uri): string | null {
  if (uri.scheme !== EDIT_SCHEME) return null;
  return uri.query.split('=')[1] ?? null;
}

async function save(uris: readonly string[]): Promise<string[]> {
  const saved: string[] = [];
  for (const name of uris) {
    const uri = vscode.Uri.parse(name).toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri);
    if (document !== undefined && (!document.isDirty || (await document.save()))) saved.push(name);
  }
  return saved;
}
