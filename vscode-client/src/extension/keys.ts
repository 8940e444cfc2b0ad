/** API keys: kept in the editor's secret storage, handed to the server in memory, never in settings. */
import * as vscode from 'vscode';
import type { ProviderKeyParams } from '../protocol';
import * as notify from './notify';
import type { ServerController } from './server/controller';
import { describeError } from './server/errors';

type Owner = ProviderKeyParams['provider'];

const OWNERS: readonly { id: Owner; label: string; prefix: string }[] = [
  { id: 'anthropic', label: 'Anthropic', prefix: 'sk-ant-' },
  { id: 'openai', label: 'OpenAI', prefix: 'sk-' },
];

export class Keys implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly server: ServerController,
    private readonly log: vscode.LogOutputChannel,
  ) {
    // Also fires when another window has changed a key.
    this.subscription = secrets.onDidChange(({ key }) => {
      const owner = OWNERS.find((candidate) => name(candidate.id) === key);
      if (owner !== undefined && server.ready) void this.send(owner.id);
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** Hand over every key that is stored. */
  async sendAll(): Promise<void> {
    for (const owner of OWNERS) {
      if ((await this.secrets.get(name(owner.id))) !== undefined) await this.send(owner.id);
    }
  }

  async set(): Promise<void> {
    const owner = await this.choose(vscode.l10n.t('Whose API key?'));
    if (owner === undefined) return;
    const value = await vscode.window.showInputBox({
      title: vscode.l10n.t('{0} API key', owner.label),
      prompt: vscode.l10n.t('Kept in VS Code’s secret storage on this machine.'),
      placeHolder: `${owner.prefix}…`,
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) =>
        /\s/.test(text.trim()) ? vscode.l10n.t('A key has no blanks in it.') : undefined,
    });
    const key = value?.trim();
    if (!key) return;
    await this.secrets.store(name(owner.id), key);
    void notify.info(vscode.l10n.t('The {0} key is stored.', owner.label));
  }

  async clear(): Promise<void> {
    const owner = await this.choose(vscode.l10n.t('Which API key is to be removed?'));
    if (owner === undefined) return;
    await this.secrets.delete(name(owner.id));
    void notify.info(vscode.l10n.t('The {0} key is removed.', owner.label));
  }

  private async choose(title: string): Promise<(typeof OWNERS)[number] | undefined> {
    const items = await Promise.all(
      OWNERS.map(async (owner) => ({
        label: owner.label,
        description:
          (await this.secrets.get(name(owner.id))) === undefined
            ? ''
            : vscode.l10n.t('a key is stored'),
        owner,
      })),
    );
    return (await vscode.window.showQuickPick(items, { title }))?.owner;
  }

  private async send(owner: Owner): Promise<void> {
    try {
      const key = (await this.secrets.get(name(owner))) ?? '';
      await this.server.request('tierline/provider/setKey', { provider: owner, key });
    } catch (error) {
      this.log.warn(`provider/setKey ${owner}: ${describeError(error).message}`);
    }
  }
}

function name(owner: Owner): string {
  return `tierline.key.${owner}`;
}
