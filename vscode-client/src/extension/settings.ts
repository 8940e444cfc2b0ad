/** The editor's settings in the server's form. Only what the user has set is sent, so that the
 * workspace's ``.tierline/config.toml`` counts where the editor says nothing. */
import * as vscode from 'vscode';

/** Editor setting → section and name in the server's settings tree. */
export const SERVER_SETTINGS: Readonly<Record<string, readonly [string, string]>> = {
  provider: ['provider', 'name'],
  model: ['provider', 'model'],
  baseUrl: ['provider', 'baseUrl'],
  localModelPath: ['provider', 'localModelPath'],
  contextMode: ['context', 'mode'],
  maxInputTokens: ['context', 'maxInputTokens'],
  maxOutputTokens: ['context', 'maxOutputTokens'],
  stabilityPolicy: ['cache', 'policy'],
  tools: ['tools', 'enabled'],
  edits: ['tools', 'edits'],
  commands: ['tools', 'commands'],
  maxRounds: ['tools', 'maxRounds'],
  cacheKeepAlive: ['cache', 'keepAlive'],
  compaction: ['compaction', 'enabled'],
  compactionTriggerTokens: ['compaction', 'compactionTriggerTokens'],
  verbatimWindowTokens: ['compaction', 'verbatimWindowTokens'],
  summaryBudgetTokens: ['compaction', 'summaryBudgetTokens'],
  minVerbatimExchanges: ['compaction', 'minVerbatimExchanges'],
  topicDetector: ['compaction', 'detector'],
  summariser: ['compaction', 'summariser'],
  compactionModel: ['compaction', 'model'],
  historyStrategy: ['history', 'strategy'],
  historyWindow: ['history', 'window'],
  stateAnchor: ['history', 'stateAnchor'],
  restoreSession: ['history', 'restore'],
  symbolIndex: ['symbols', 'enabled'],
  codeLenses: ['symbols', 'lenses'],
};

export type ServerSettings = Record<string, Record<string, unknown>>;

export function serverSettings(): ServerSettings {
  const configuration = vscode.workspace.getConfiguration('tierline');
  const settings = nest((name) => {
    const found = configuration.inspect(name);
    const set =
      found?.globalValue !== undefined ||
      found?.workspaceValue !== undefined ||
      found?.workspaceFolderValue !== undefined;
    return set ? configuration.get(name) : undefined;
  });
  // Not a setting of the user's: what the editor was told about this folder.
  settings.tools = { ...settings.tools, workspaceTrusted: vscode.workspace.isTrusted };
  return settings;
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
