import { beforeEach, describe, expect, it, vi } from 'vitest';
import { welcome } from '../src/extension/welcome';
import * as fake from './fake/vscode';

describe('the walkthrough', () => {
  const kept = new Map<string, unknown>();
  const memento = {
    get: <T>(key: string): T | undefined => kept.get(key) as T | undefined,
    update: async (key: string, value: unknown): Promise<void> => void kept.set(key, value),
  };

  beforeEach(() => {
    vi.clearAllMocks();
    kept.clear();
    delete fake.configuration.startupEditor;
  });

  it('opens by itself once', async () => {
    await welcome('a.b', memento as never);
    expect(fake.commands.executeCommand.mock.calls).toEqual([
      ['workbench.action.openWalkthrough', 'a.b#start', false],
    ]);
    await welcome('a.b', memento as never);
    expect(fake.commands.executeCommand).toHaveBeenCalledTimes(1);
  });

  it('stays away from those who want nothing to open', async () => {
    fake.configuration.startupEditor = 'none';
    await welcome('a.b', memento as never);
    expect(fake.commands.executeCommand).not.toHaveBeenCalled();
  });
});
