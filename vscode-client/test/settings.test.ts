/** Settings that cannot be used: they are not sent, and the user is told what they must be. */
import { beforeEach, describe, expect, it } from 'vitest';
import { needed, SCHEMAS, SettingsCheck, serverSettings } from '../src/extension/settings';
import * as vscode from './fake/vscode';

const affecting = { affectsConfiguration: () => true };

beforeEach(() => {
  for (const name of Object.keys(vscode.configuration)) delete vscode.configuration[name];
  vscode.window.showWarningMessage.mockClear();
  vscode.commands.executeCommand.mockClear();
});

describe('a setting', () => {
  it.each([
    ['pastedLinks', 'sometimes', 'one of ask, never'],
    ['maxRounds', 0, 'a whole number from 1 to 500'],
    ['maxRounds', 2.5, 'a whole number from 1 to 500'],
    ['maxInputTokens', -1, 'a whole number from 0 on'],
    ['commandSeconds', 'long', 'a number from 1 on'],
    ['shedAtPercent', 101, 'a number from 1 to 100'],
    ['compaction', 'yes', 'true or false'],
    ['model', 7, 'text'],
    ['baseUrl', 'ftp://x', 'an http:// or https:// address, or nothing'],
  ])('%s that is %j must be %s', (name, value, wanted) => {
    expect(needed(name, value)).toBe(wanted);
  });

  it('with its default can be used, and one that is not set as well', () => {
    for (const [name, schema] of SCHEMAS) {
      expect(needed(name, (schema as { default?: unknown }).default), name).toBe('');
      expect(needed(name, undefined), name).toBe('');
    }
    expect(SCHEMAS.size).toBeGreaterThan(40);
  });
});

describe("VS Code's own proxy", () => {
  it('is passed on, with what is reached directly and how strict it is', () => {
    Object.assign(vscode.configuration, {
      'http.proxy': 'http://proxy.example:3128',
      'http.noProxy': ['.intern.example', '10.0.0.0/8'],
      'http.proxyStrictSSL': false,
    });
    expect(serverSettings().network).toEqual({
      proxy: 'http://proxy.example:3128',
      noProxy: '.intern.example,10.0.0.0/8',
      proxyStrictSsl: false,
    });
  });

  it('yields to Tierline’s own settings, and counts for nothing where it is off', () => {
    Object.assign(vscode.configuration, { 'http.proxy': 'http://a:1', proxy: 'http://b:2' });
    expect(serverSettings().network).toEqual({ proxy: 'http://b:2' });
    vscode.configuration.proxy = undefined;
    vscode.configuration['http.proxySupport'] = 'off';
    expect(serverSettings().network).toEqual({ proxy: 'none' });
  });

  it('is not mentioned where nothing is set', () => {
    expect(serverSettings().network).toBeUndefined();
  });
});

describe('a bad value', () => {
  it('is not sent, and the others are', () => {
    Object.assign(vscode.configuration, { maxRounds: 'many', pastedLinks: 'never' });
    expect(serverSettings()).toEqual({
      context: { pastedLinks: 'never' },
      tools: { workspaceTrusted: true },
    });
  });

  it('is told once, again when it changes, and the message leads to the setting', async () => {
    vscode.configuration.maxRounds = 'many';
    vscode.window.showWarningMessage.mockResolvedValueOnce('Open Settings');
    const check = new SettingsCheck();
    const told = vscode.window.showWarningMessage.mock.calls;
    expect(told.map(([text]) => text)).toEqual([
      'The setting tierline.maxRounds is "many" and does not count: it must be a whole number from 1 to 500.',
    ]);
    await Promise.resolve();
    expect(vscode.commands.executeCommand).toHaveBeenCalledWith(
      'workbench.action.openSettings',
      'tierline.maxRounds',
    );
    vscode.configurationChanged.fire(affecting as never);
    expect(told).toHaveLength(1);
    vscode.configuration.maxRounds = 501;
    vscode.configurationChanged.fire(affecting as never);
    expect(told).toHaveLength(2);
    check.dispose();
  });
});
