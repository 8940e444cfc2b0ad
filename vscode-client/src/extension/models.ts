/** Choosing a provider and model, and agreeing to a server that was found on this machine. */
import * as vscode from 'vscode';
import type { ProviderInfo } from '../protocol';
import * as notify from './notify';
import { describeError } from './server/errors';
import { providerLabel, type Session } from './session';

const AGREED = 'tierline.agreedServers';
const REFUSED = 'tierline.refusedServers';

interface Item extends vscode.QuickPickItem {
  run?: () => Thenable<unknown>;
}

export class Models {
  private asking = false;

  constructor(
    private readonly session: Session,
    private readonly memory: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  async select(): Promise<void> {
    const t = vscode.l10n.t;
    const { providers } = await this.session.server.request('tierline/provider/list', {});
    const items: Item[] = [
      {
        label: `$(sparkle) ${t('Automatic')}`,
        description: t('a key, else a local server, else the embedded model'),
        run: () => this.choose(null, ''),
      },
    ];
    for (const provider of providers) items.push(...this.items(provider));
    items.push(
      { label: '', kind: vscode.QuickPickItemKind.Separator },
      {
        label: `$(key) ${t('Set an API key…')}`,
        run: () => vscode.commands.executeCommand('tierline.setApiKey'),
      },
      {
        label: `$(gear) ${t('Open the settings…')}`,
        run: () =>
          vscode.commands.executeCommand('workbench.action.openSettings', '@ext:tierline.tierline'),
      },
    );
    const chosen = await vscode.window.showQuickPick(items, {
      title: t('Model for this session'),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    await chosen?.run?.();
  }

  private items(provider: ProviderInfo): Item[] {
    const t = vscode.l10n.t;
    const heading: Item = { label: provider.title, kind: vscode.QuickPickItemKind.Separator };
    if (provider.needsConsent) {
      return [
        heading,
        {
          label: `$(plug) ${providerLabel(provider)}`,
          description: provider.baseUrl,
          detail: t('Found on this machine; used after you agree.'),
          run: () => this.ask(provider),
        },
      ];
    }
    if (!provider.available) {
      const needsKey = provider.takesKey;
      return [
        heading,
        {
          label: `$(circle-slash) ${provider.title}`,
          detail: provider.why,
          run: async () => {
            if (needsKey) await vscode.commands.executeCommand('tierline.setApiKey');
            else await this.unavailable(provider);
          },
        },
      ];
    }
    const models = [...new Set([provider.model, ...provider.models])].filter((m) => m !== '');
    const rows: Item[] = (models.length > 0 ? models : ['']).map((model) => {
      const active = provider.active && model === provider.model;
      const item: Item = {
        label: `$(${active ? 'check' : 'blank'}) ${model || provider.title}`,
        description: active ? t('in use') : provider.baseUrl,
        run: () => this.choose(provider, model),
      };
      if (active && provider.why !== '') item.detail = provider.why;
      return item;
    });
    if (provider.takesKey) {
      rows.push({
        label: `$(edit) ${t('Another {0} model…', provider.title)}`,
        run: () => this.other(provider),
      });
    }
    return [heading, ...rows];
  }

  private async unavailable(provider: ProviderInfo): Promise<void> {
    const get = vscode.l10n.t('Install It (132 MB)');
    const buttons = provider.origin === 'embedded' ? [get] : [];
    if ((await notify.warning(provider.why, ...buttons)) === get) {
      await vscode.commands.executeCommand('tierline.installModel');
    }
  }

  private async other(provider: ProviderInfo): Promise<void> {
    const model = await vscode.window.showInputBox({
      title: vscode.l10n.t('Name of the {0} model', provider.title),
    });
    if (model?.trim()) await this.choose(provider, model.trim());
  }

  /** ``null``: the automatic choice. */
  private async choose(
    provider: ProviderInfo | null,
    model: string,
    consent = false,
  ): Promise<void> {
    const found = provider?.origin === 'found';
    try {
      await this.session.server.request('tierline/provider/select', {
        name: provider?.name ?? '',
        model,
        ...(found ? { baseUrl: provider.baseUrl } : {}),
        ...(consent ? { consent } : {}),
      });
    } catch (error) {
      const { message, advice } = describeError(error);
      void notify.error(`${message} ${advice}`.trim());
    }
  }

  /** After a connection: a server that waits for consent gets what the user said before, or asks. */
  async offerFound(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      const { providers } = await this.session.server.request('tierline/provider/list', {});
      // Whoever has chosen a provider or given a key needs no other.
      if (providers.some(({ active, takesKey }) => active && takesKey)) return;
      for (const provider of providers.filter((candidate) => candidate.needsConsent)) {
        if (this.list(REFUSED).includes(provider.baseUrl)) continue;
        if (this.list(AGREED).includes(provider.baseUrl)) {
          await this.choose(provider, '', true);
        } else await this.ask(provider);
      }
    } catch (error) {
      this.log.debug(`provider/list: ${describeError(error).message}`);
    } finally {
      this.asking = false;
    }
  }

  private async ask(provider: ProviderInfo): Promise<void> {
    const t = vscode.l10n.t;
    const [use, never] = [t('Use It'), t('Don’t Ask Again')];
    const answer = await notify.info(
      t(
        'A model server ({0}) runs on this machine at {1}. May Tierline send your prompts and files to it?',
        providerLabel(provider),
        provider.baseUrl,
      ),
      use,
      t('Not Now'),
      never,
    );
    if (answer === use) {
      await this.remember(AGREED, REFUSED, provider.baseUrl);
      await this.choose(provider, '', true);
    } else if (answer === never) await this.remember(REFUSED, AGREED, provider.baseUrl);
  }

  private list(key: string): string[] {
    return this.memory.get<string[]>(key, []);
  }

  private async remember(into: string, outOf: string, address: string): Promise<void> {
    await this.memory.update(into, [...new Set([...this.list(into), address])]);
    await this.memory.update(
      outOf,
      this.list(outOf).filter((known) => known !== address),
    );
  }
}
