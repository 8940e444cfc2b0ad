/**
 * API keys: kept in the editor's secret storage, handed to the server in memory, never in settings.
 */
import * as vscode from 'vscode';
import type { ProviderInfo, ProviderKeyParams } from '../protocol';
import { isUnserved } from '../shared/ways';
import * as notify from './notify';
import type { ServerController } from './server/controller';
import { describeError } from './server/errors';

type Owner = ProviderKeyParams['provider'];

export interface KeyOwner {
  id: Owner;
  label: string;
  prefix: string;
}

const ALWAYS: readonly KeyOwner[] = [
  { id: 'anthropic', label: 'Anthropic', prefix: 'sk-ant-' },
  { id: 'openai', label: 'OpenAI', prefix: 'sk-' },
];
/** Names of further providers with a stored key, as JSON: the secret storage cannot be listed. */
const MORE = 'tierline.keyOwners';

export class Keys implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly server: ServerController,
    private readonly log: vscode.LogOutputChannel,
  ) {
    // Also fires when another window has changed a key.
    this.subscription = secrets.onDidChange(({ key }) => {
      const owner = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : '';
      if (owner !== '' && server.ready) void this.send(owner);
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** Hand over every key that is stored. */
  async sendAll(): Promise<void> {
    for (const owner of await this.owners()) {
      if ((await this.secrets.get(name(owner.id))) !== undefined) await this.send(owner.id);
    }
  }

  async set(): Promise<void> {
    const owner = await this.choose(vscode.l10n.t('Whose API key?'), await this.all());
    if (owner !== undefined) await this.ask(owner);
  }

  /** Ask for a key, try it, store it. True if there is one now. */
  async ask(owner: KeyOwner, baseUrl = ''): Promise<boolean> {
    const t = vscode.l10n.t;
    const value = await vscode.window.showInputBox({
      title: t('{0} API key', owner.label),
      prompt: t('Kept in VS Code’s secret storage on this machine.'),
      placeHolder: `${owner.prefix}…`,
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) =>
        /\s/.test(text.trim()) ? t('A key contains no spaces.') : undefined,
    });
    const key = value?.trim();
    return key ? await this.keep(owner, key, baseUrl) : false;
  }

  /** Ask for a key of any provider, and for the provider if the key's prefix does not tell. */
  async paste(): Promise<boolean> {
    const t = vscode.l10n.t;
    const value = await vscode.window.showInputBox({
      title: t('Paste an API key'),
      prompt: t('It is tried at once, and kept in VS Code’s secret storage on this machine.'),
      placeHolder: 'sk-ant-…, sk-…, AIza…, gsk_…',
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) =>
        /\s/.test(text.trim()) ? t('A key contains no spaces.') : undefined,
    });
    const key = value?.trim();
    if (!key) return false;
    const owners = ownersOf(key, await this.all());
    const owner =
      owners.length === 1 ? owners[0] : await this.choose(t('Whose key is this?'), owners);
    return owner !== undefined && (await this.keep(owner, key, ''));
  }

  /** Check a key and store it; its provider is then used if no better one was. */
  private async keep(owner: KeyOwner, key: string, baseUrl: string): Promise<boolean> {
    if (!(await this.good(owner, key, baseUrl))) return false;
    await this.remember(owner);
    await this.secrets.store(name(owner.id), key);
    void notify.info(vscode.l10n.t('The {0} key is stored.', owner.label));
    if (!this.server.ready) return true;
    const now = await this.send(owner.id);
    if (now !== null && isUnserved(now)) {
      await this.server.request('tierline/provider/select', { name: owner.id, model: '' });
    }
    return true;
  }

  /**
   * Whether the provider accepts the key; if that cannot be checked, whether the user wants it
   * stored.
   */
  private async good(owner: KeyOwner, key: string, baseUrl: string): Promise<boolean> {
    const t = vscode.l10n.t;
    if (!this.server.ready) return true;
    let message: string;
    try {
      const found = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: t('Trying the key…') },
        () =>
          this.server.request('tierline/provider/checkKey', { provider: owner.id, key, baseUrl }),
      );
      if (found.outcome === 'ok' || found.outcome === 'unknown') return true;
      if (found.outcome === 'refused') {
        void notify.error(t('The key is not stored: {0}', found.message));
        return false;
      }
      message = found.message;
    } catch (error) {
      message = describeError(error).message;
    }
    const store = t('Store It Untried');
    const answer = await notify.warning(t('The key could not be tried: {0}', message), store);
    return answer === store;
  }

  private async owners(): Promise<KeyOwner[]> {
    const kept = await this.secrets.get(MORE);
    try {
      return [...ALWAYS, ...(JSON.parse(kept ?? '[]') as KeyOwner[])];
    } catch {
      return [...ALWAYS];
    }
  }

  private async remember(owner: KeyOwner): Promise<void> {
    const known = await this.owners();
    if (known.some(({ id }) => id === owner.id)) return;
    await this.secrets.store(MORE, JSON.stringify([...known.slice(ALWAYS.length), owner]));
  }

  /** All providers that need a key, if the server can be asked. */
  private async all(): Promise<KeyOwner[]> {
    const known = await this.owners();
    if (!this.server.ready) return known;
    try {
      const { presets } = await this.server.request('tierline/provider/list', {});
      // An address with a placeholder in braces cannot be used yet.
      const more = presets.filter(
        ({ own, name: id, baseUrl }) =>
          !own && !baseUrl.includes('{') && !known.some((k) => k.id === id),
      );
      return [
        ...known,
        ...more.map((row) => ({ id: row.name, label: row.title, prefix: row.keyPrefix })),
      ];
    } catch {
      return known;
    }
  }

  async clear(): Promise<void> {
    const owner = await this.choose(
      vscode.l10n.t('Which API key do you want to remove?'),
      await this.owners(),
    );
    if (owner === undefined) return;
    await this.secrets.delete(name(owner.id));
    void notify.info(vscode.l10n.t('The {0} key is removed.', owner.label));
  }

  private async choose(title: string, owners: KeyOwner[]): Promise<KeyOwner | undefined> {
    const items = await Promise.all(
      owners.map(async (owner) => ({
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

  /** The provider in force; null if the server refused the key. */
  private async send(owner: Owner): Promise<ProviderInfo | null> {
    try {
      const key = (await this.secrets.get(name(owner))) ?? '';
      return await this.server.request('tierline/provider/setKey', { provider: owner, key });
    } catch (error) {
      this.log.warn(`provider/setKey ${owner}: ${describeError(error).message}`);
      return null;
    }
  }
}

const PREFIX = 'tierline.key.';

function name(owner: Owner): string {
  return PREFIX + owner;
}

/** Key prefixes of providers whose table row has none. */
const TELLING: readonly [string, string][] = [
  ['sk-proj-', 'openai'],
  ['sk-svcacct-', 'openai'],
  ['AIza', 'gemini'],
];

/**
 * The possible owners of a key, by its prefix; all if the prefix is unknown. The key is not tried
 * with others.
 */
export function ownersOf(key: string, known: readonly KeyOwner[]): KeyOwner[] {
  const told = TELLING.find(([prefix]) => key.startsWith(prefix))?.[1];
  const named = known.filter(({ id }) => id === told);
  if (named.length > 0) return named;
  const fits = known.filter(({ prefix }) => prefix !== '' && key.startsWith(prefix));
  const longest = Math.max(0, ...fits.map(({ prefix }) => prefix.length));
  const best = fits.filter(({ prefix }) => prefix.length === longest);
  // "sk-" begins the keys of many providers, also of some whose rows do not say so.
  return longest > 'sk-'.length ? best : [...best, ...known.filter(({ prefix }) => prefix === '')];
}
