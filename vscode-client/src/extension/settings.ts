/** The editor's settings in the server's form. Only what the user has set is sent, so that the
 * workspace's ``.tierline/config.toml`` counts where the editor says nothing. */
import * as vscode from 'vscode';
import { contributes } from '../../package.json';
import { t } from '../shared/l10n';
import * as notify from './notify';
import { SERVER_SETTINGS } from './serverSettings';

export type ServerSettings = Record<string, Record<string, unknown>>;

interface Schema {
  type: string;
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  pattern?: string;
}

/** What the manifest declares, by the name behind ``tierline.``. */
export const SCHEMAS: ReadonlyMap<string, Schema> = new Map(
  contributes.configuration.flatMap(({ properties }) =>
    Object.entries(properties as unknown as Record<string, Schema>).map(
      ([name, schema]) => [name.slice('tierline.'.length), schema] as const,
    ),
  ),
);

export function serverSettings(): ServerSettings {
  const configuration = vscode.workspace.getConfiguration('tierline');
  const settings = nest((name) => {
    const value = given(configuration, name);
    return needed(name, value) === '' ? value : undefined;
  });
  const network = { ...editorsNetwork(), ...settings.network };
  if (Object.keys(network).length > 0) settings.network = network;
  // Not a setting: whether the user trusts this folder.
  settings.tools = { ...settings.tools, workspaceTrusted: vscode.workspace.isTrusted };
  return settings;
}

/** VS Code's own `http` settings: proxy and certificates. */
function editorsNetwork(): Record<string, unknown> {
  const http = vscode.workspace.getConfiguration('http');
  const network: Record<string, unknown> = {};
  const proxy = http.get<string>('proxy');
  if (http.get<string>('proxySupport') === 'off') network.proxy = 'none';
  else if (typeof proxy === 'string' && proxy !== '') network.proxy = proxy;
  const direct = http.get<unknown[]>('noProxy');
  if (Array.isArray(direct) && direct.length > 0) network.noProxy = direct.join(',');
  if (http.get<boolean>('proxyStrictSSL') === false) network.proxyStrictSsl = false;
  return network;
}

/** Pure part: nests the values that are set. */
export function nest(value: (name: string) => unknown): ServerSettings {
  const settings: ServerSettings = {};
  for (const [name, [section, key]] of Object.entries(SERVER_SETTINGS)) {
    const found = value(name);
    if (found === undefined || found === null) continue;
    settings[section] = { ...settings[section], [key]: found };
  }
  return settings;
}

/** What a setting's value must be; empty if it is usable or not set. */
export function needed(name: string, value: unknown): string {
  const schema = SCHEMAS.get(name);
  if (schema === undefined || value === undefined || value === null) return '';
  if (schema.enum !== undefined) {
    return schema.enum.includes(value) ? '' : t('one of {0}', schema.enum.join(', '));
  }
  if (schema.type === 'boolean') {
    return typeof value === 'boolean' ? '' : t('true or false');
  }
  if (schema.type === 'string') {
    if (typeof value !== 'string') return t('text');
    const fits = schema.pattern === undefined || new RegExp(schema.pattern).test(value);
    return fits ? '' : t('an http:// or https:// address, or nothing');
  }
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const whole = schema.type === 'integer';
  const fits = whole ? Number.isInteger(value) : Number.isFinite(value);
  if (fits && Number(value) >= minimum && Number(value) <= maximum) return '';
  const bounds = schema.maximum === undefined ? [minimum] : [minimum, schema.maximum];
  if (bounds.length === 1) {
    return whole ? t('a whole number from {0} on', minimum) : t('a number from {0} on', minimum);
  }
  return whole
    ? t('a whole number from {0} to {1}', ...bounds)
    : t('a number from {0} to {1}', ...bounds);
}

/** Reports settings that cannot be used, each value once, with a link to the settings. */
export class SettingsCheck implements vscode.Disposable {
  private readonly said = new Set<string>();
  private readonly subscription: vscode.Disposable;

  constructor() {
    this.subscription = vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('tierline')) this.look();
    });
    this.look();
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private look(): void {
    const configuration = vscode.workspace.getConfiguration('tierline');
    for (const name of SCHEMAS.keys()) {
      const value = given(configuration, name);
      const wanted = needed(name, value);
      const key = `${name} ${JSON.stringify(value)}`;
      if (wanted === '' || this.said.has(key)) continue;
      this.said.add(key);
      void this.say(name, JSON.stringify(value).slice(0, 80), wanted);
    }
  }

  private async say(name: string, value: string, wanted: string): Promise<void> {
    const open = vscode.l10n.t('Open Settings');
    const text = vscode.l10n.t(
      'The setting tierline.{0} is {1} and does not count: it must be {2}.',
      name,
      value,
      wanted,
    );
    if ((await notify.warning(text, open)) === open) {
      await vscode.commands.executeCommand('workbench.action.openSettings', `tierline.${name}`);
    }
  }
}

/** The value that was set, never the default. */
function given(configuration: vscode.WorkspaceConfiguration, name: string): unknown {
  const found = configuration.inspect(name);
  const set =
    found?.globalValue !== undefined ||
    found?.workspaceValue !== undefined ||
    found?.workspaceFolderValue !== undefined;
  return set ? configuration.get(name) : undefined;
}
