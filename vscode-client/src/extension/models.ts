/** Choosing a provider and model, and agreeing to a server that was found on this machine. */
import * as vscode from 'vscode';
import type { ModelsResult, PresetInfo, ProviderInfo, ProviderSelectParams } from '../protocol';
import { money } from '../shared/cache';
import { whole } from '../shared/l10n';
import { choice } from './confirm';
import type { Keys } from './keys';
import * as notify from './notify';
import { describeError } from './server/errors';
import { providerLabel, type Session } from './session';

const AGREED = 'tierline.agreedServers';
const REFUSED = 'tierline.refusedServers';
/** Key of the editor's model that was chosen on the first page; chosen again in the next window. */
const EDITORS = 'tierline.editorModel';

interface Item extends vscode.QuickPickItem {
  run?: () => Thenable<unknown>;
}

export class Models {
  private asking = false;

  /** Whether the first page, which offers found servers itself, is visible. */
  onPage: () => boolean = () => false;

  constructor(
    private readonly session: Session,
    private readonly memory: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
    private readonly keys?: Keys,
  ) {}

  async select(): Promise<void> {
    const t = vscode.l10n.t;
    const { providers, presets } = await this.session.server.request('tierline/provider/list', {});
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
        label: `$(add) ${t('Another provider…')}`,
        description: presets
          .slice(0, 4)
          .map(({ title }) => title)
          .join(', '),
        run: () => this.add(presets),
      },
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
        label: `$(list-unordered) ${t('All models of {0}…', provider.title)}`,
        run: () => this.list(provider.name, provider.baseUrl),
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

  /** All models of a provider with what is known of each; any other by its name. */
  private async list(name: string, baseUrl: string): Promise<void> {
    const t = vscode.l10n.t;
    let found: ModelsResult;
    try {
      found = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: t('Asking for the models…') },
        () => this.session.server.request('tierline/provider/models', { provider: name, baseUrl }),
      );
    } catch (error) {
      const { message, advice } = describeError(error);
      void notify.warning(`${message} ${advice}`.trim());
      found = { provider: name, title: name, models: [], source: 'table', notice: '' };
    }
    const items: Item[] = found.models.map((model) => ({
      label: model.name,
      description: model.summary,
      detail: model.details,
      run: () => this.take(name, model.name, baseUrl),
    }));
    items.push({
      label: `$(edit) ${t('Another {0} model…', found.title)}`,
      alwaysShow: true,
      run: () => this.other(found, baseUrl),
    });
    const chosen = await vscode.window.showQuickPick(items, {
      title:
        found.source === 'server'
          ? t('Models of {0}', found.title)
          : t('Models of {0} that Tierline knows', found.title),
      placeHolder: found.notice,
      matchOnDescription: true,
      matchOnDetail: true,
    });
    await chosen?.run?.();
  }

  private async other(found: ModelsResult, baseUrl: string): Promise<void> {
    const model = await vscode.window.showInputBox({
      title: vscode.l10n.t('Name of the {0} model', found.title),
    });
    if (model?.trim()) await this.take(found.provider, model.trim(), baseUrl);
  }

  /** Set up a provider: its address where it differs, its key, its model. */
  private async add(presets: PresetInfo[]): Promise<void> {
    const t = vscode.l10n.t;
    const chosen = await vscode.window.showQuickPick(
      presets.map((preset) => ({
        label: preset.title,
        description: preset.own ? t('a server of your own') : '',
        detail: preset.baseUrl,
        preset,
      })),
      { title: t('Which provider?'), matchOnDetail: true },
    );
    if (chosen === undefined) return;
    const { preset } = chosen;
    let { baseUrl } = preset;
    if (preset.own || baseUrl.includes('{')) {
      const given = await vscode.window.showInputBox({
        title: t('Address of {0}', preset.title),
        value: baseUrl,
        ignoreFocusOut: true,
        validateInput: (text) =>
          /^https?:\/\/[^\s{}]+$/.test(text.trim())
            ? undefined
            : t('An address looks like {0}.', 'https://host/v1'),
      });
      if (given === undefined) return;
      baseUrl = given.trim();
    }
    const owner = { id: preset.name, label: preset.title, prefix: preset.keyPrefix };
    if (!preset.own && !(await this.keys?.ask(owner, baseUrl))) return;
    await this.list(preset.name, baseUrl === preset.baseUrl ? '' : baseUrl);
  }

  private async take(name: string, model: string, baseUrl: string): Promise<void> {
    await this.request({ name, model, ...(baseUrl === '' ? {} : { baseUrl }) });
  }

  /** ``null``: the automatic choice. */
  private async choose(
    provider: ProviderInfo | null,
    model: string,
    consent = false,
  ): Promise<void> {
    const found = provider?.origin === 'found';
    await this.request({
      name: provider?.name ?? '',
      model,
      ...(found ? { baseUrl: provider.baseUrl } : {}),
      ...(consent ? { consent } : {}),
    });
  }

  /** Warn before a change that loses much of the cache. */
  private async mayLose(params: ProviderSelectParams): Promise<boolean> {
    const { name: provider = '', model = '', baseUrl = '' } = params;
    const { server } = this.session;
    const found = await server
      .request('tierline/cache/forecast', { change: 'model', provider, model, baseUrl })
      .catch((error: unknown) => {
        this.log.debug(`cache/forecast: ${describeError(error).message}`);
        return null; // without the warning the change is still possible
      });
    if (found === null || !found.warn) return true;
    const change = vscode.l10n.t('Change the Model');
    const text = vscode.l10n.t(
      'Another model reads {0} tokens anew that the cache holds now: the next request costs about {1} instead of {2}.',
      whole(found.readableTokens - found.readableThen),
      money(found.costThen),
      money(found.cost),
    );
    return (await choice(text, change)) === change;
  }

  private async request(params: ProviderSelectParams): Promise<void> {
    try {
      if (!(await this.mayLose(params))) return;
      await this.session.server.request('tierline/provider/select', params);
    } catch (error) {
      const { message, advice } = describeError(error);
      void notify.error(`${message} ${advice}`.trim());
    }
  }

  /** A server on this machine, by its address; the click on its name is the consent. */
  async useFound(baseUrl: string): Promise<void> {
    const found = (await this.listed()).find((one) => one.baseUrl === baseUrl);
    if (found === undefined) {
      void notify.warning(vscode.l10n.t('{0} does not answer any more.', baseUrl));
      return;
    }
    await this.remember(AGREED, REFUSED, baseUrl);
    await this.choose(found, found.model, true);
  }

  /** One of the editor's own models, now and in later windows. */
  async useEditors(model: string): Promise<void> {
    const provider = (await this.listed()).find(({ origin }) => origin === 'editor');
    if (provider === undefined) return;
    await this.memory.update(EDITORS, model);
    await this.choose(provider, model);
  }

  private async listed(): Promise<ProviderInfo[]> {
    return (await this.session.server.request('tierline/provider/list', {})).providers;
  }

  /**
   * After a connection: if the server waits for consent, use the user's earlier answer, or ask.
   */
  async offerFound(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      const { providers } = await this.session.server.request('tierline/provider/list', {});
      // A user who has chosen a provider or given a key needs no other.
      if (providers.some(({ active, takesKey }) => active && takesKey)) return;
      const editors = providers.find(({ origin }) => origin === 'editor');
      const taken = this.memory.get<string>(EDITORS, '');
      if (taken !== '' && editors?.models.includes(taken)) {
        await this.choose(editors, taken);
        return;
      }
      for (const provider of providers.filter((candidate) => candidate.needsConsent)) {
        if (this.kept(REFUSED).includes(provider.baseUrl)) continue;
        if (this.kept(AGREED).includes(provider.baseUrl)) {
          await this.choose(provider, '', true);
        } else if (!this.onPage()) await this.ask(provider);
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

  private kept(key: string): string[] {
    return this.memory.get<string[]>(key, []);
  }

  private async remember(into: string, outOf: string, address: string): Promise<void> {
    await this.memory.update(into, [...new Set([...this.kept(into), address])]);
    await this.memory.update(
      outOf,
      this.kept(outOf).filter((known) => known !== address),
    );
  }
}
