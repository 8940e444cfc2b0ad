import { describe, expect, it } from 'vitest';
import {
  candidatesOnPath,
  compatible,
  discover,
  environmentPython,
  type Host,
} from '../src/extension/server/python';
import { RestartBudget } from '../src/extension/server/restarts';

interface Fake {
  version: [number, number, number];
  tierline?: string;
  can?: boolean;
  venv?: boolean;
}

/** A machine on which exactly these commands are Python interpreters. */
function machine(
  pythons: Record<string, Fake>,
  more: Partial<Host> = {},
): Host & { started: string[] } {
  const started: string[] = [];
  return {
    platform: 'linux',
    env: {},
    exists: async (file) => file in pythons,
    run: async (command, args) => {
      const selector = args[0]?.startsWith('-3') ? ` ${args[0]}` : '';
      const name = command + selector;
      started.push(name);
      const python = pythons[name];
      if (python === undefined) return { code: null, stdout: '', stderr: 'ENOENT' };
      const report = {
        version: python.version,
        executable: `/real/${command}`,
        tierline: python.tierline ?? '',
        can: python.can ?? true,
        venv: python.venv ?? true,
      };
      return {
        code: 0,
        stdout: `a line of sitecustomize\n${JSON.stringify(report)}\n`,
        stderr: '',
      };
    },
    started,
    ...more,
  };
}

const wanted = { setting: '', managed: null, version: '0.1.2' };

describe('finding Python', () => {
  it('uses the interpreter of the setting as it is if it has the server', async () => {
    const host = machine({
      '/my/python': { version: [3, 12, 1], tierline: '0.1.2' },
      'python3.13': { version: [3, 13, 0], tierline: '0.1.9' },
    });
    const found = await discover(host, { ...wanted, setting: '/my/python' });
    expect(found).toMatchObject({
      kind: 'ready',
      interpreter: { command: '/my/python', origin: 'setting' },
    });
    expect(host.started).toEqual(['/my/python']);
  });

  it('never falls back from a setting that is wrong', async () => {
    const host = machine({ 'python3.13': { version: [3, 13, 0], tierline: '0.1.2' } });
    expect(await discover(host, { ...wanted, setting: '/gone' })).toMatchObject({
      kind: 'problem',
      problem: { code: 'notPython', origin: 'setting', command: '/gone' },
    });
    const old = machine({ '/old': { version: [3, 9, 2] } });
    expect(await discover(old, { ...wanted, setting: '/old' })).toMatchObject({
      problem: { code: 'tooOld', version: '3.9.2' },
    });
  });

  it('takes TIERLINE_PYTHON where there is no setting, and the setting before it', async () => {
    const pythons: Record<string, Fake> = {
      '/env/python': { version: [3, 11, 0], tierline: '0.1.2' },
      '/set/python': { version: [3, 11, 0], tierline: '0.1.2' },
    };
    const host = machine(pythons, { env: { TIERLINE_PYTHON: '/env/python' } });
    expect(await discover(host, wanted)).toMatchObject({ interpreter: { origin: 'environment' } });
    expect(await discover(host, { ...wanted, setting: '/set/python' })).toMatchObject({
      interpreter: { origin: 'setting' },
    });
  });

  it('uses the managed environment before anything on PATH', async () => {
    const managed = '/storage/server/bin/python';
    const host = machine({
      [managed]: { version: [3, 11, 2], tierline: '0.1.2' },
      'python3.13': { version: [3, 13, 0], tierline: '0.1.2' },
    });
    expect(await discover(host, { ...wanted, managed })).toMatchObject({
      kind: 'ready',
      interpreter: { origin: 'managed' },
    });
  });

  it('makes a new environment when the managed one holds another version', async () => {
    const managed = '/storage/server/bin/python';
    const host = machine({
      [managed]: { version: [3, 11, 2], tierline: '0.0.9' },
      'python3.12': { version: [3, 12, 0] },
    });
    expect(await discover(host, { ...wanted, managed })).toMatchObject({
      kind: 'create',
      interpreter: { command: 'python3.12' },
    });
  });

  it('creates with the interpreter of the setting when that has no server', async () => {
    const host = machine({
      '/my/python': { version: [3, 12, 1] },
      'python3.14': { version: [3, 14, 0] },
    });
    expect(await discover(host, { ...wanted, setting: '/my/python' })).toMatchObject({
      kind: 'create',
      interpreter: { command: '/my/python' },
    });
  });

  it('takes the newest on PATH and starts no further ones', async () => {
    const host = machine({
      'python3.13': { version: [3, 13, 0] },
      'python3.11': { version: [3, 11, 0] },
      python3: { version: [3, 11, 0] },
    });
    expect(await discover(host, wanted)).toMatchObject({
      kind: 'create',
      interpreter: { command: 'python3.13' },
    });
    expect(host.started).toEqual(['python3.14', 'python3.13']);
  });

  it('passes over one that cannot create environments if another can', async () => {
    const host = machine({
      'python3.13': { version: [3, 13, 0], can: false },
      'python3.11': { version: [3, 11, 0] },
    });
    expect(await discover(host, wanted)).toMatchObject({
      kind: 'create',
      interpreter: { command: 'python3.11' },
    });
  });

  it('says what is missing: venv, a newer Python, or Python', async () => {
    expect(
      await discover(machine({ python3: { version: [3, 11, 2], can: false } }), wanted),
    ).toMatchObject({
      problem: { code: 'noVenv', version: '3.11.2' },
    });
    expect(
      await discover(
        machine({ python3: { version: [3, 9, 2] }, python: { version: [2, 7, 18] } }),
        wanted,
      ),
    ).toEqual({
      kind: 'problem',
      problem: { code: 'noPython', tooOld: ['3.9.2', '2.7.18'] },
    });
    expect(await discover(machine({}), wanted)).toEqual({
      kind: 'problem',
      problem: { code: 'noPython', tooOld: [] },
    });
  });

  it('needs no ensurepip where the package brings the libraries for that Python', async () => {
    const host = machine({ python3: { version: [3, 11, 2], can: false } });
    expect(await discover(host, { ...wanted, bundled: ['3.11', '3.12'] })).toMatchObject({
      kind: 'create',
      interpreter: { command: 'python3' },
    });
    expect(await discover(host, { ...wanted, bundled: ['3.12'] })).toMatchObject({
      problem: { code: 'noVenv' },
    });
    const bare = machine({ python3: { version: [3, 11, 2], can: false, venv: false } });
    expect(await discover(bare, { ...wanted, bundled: ['3.11'] })).toMatchObject({
      problem: { code: 'noVenv' },
    });
  });

  it('asks the launcher on Windows', async () => {
    const host = machine({ 'py -3.12': { version: [3, 12, 0] } }, { platform: 'win32' });
    expect(await discover(host, wanted)).toMatchObject({
      kind: 'create',
      interpreter: { command: 'py', args: ['-3.12'] },
    });
    expect(candidatesOnPath('win32')).toContainEqual(['py', '-3']);
    expect(environmentPython('C:\\e', 'win32')).toBe('C:\\e\\Scripts\\python.exe');
  });

  it.each([
    ['0.1.2', '0.1.2', true],
    ['0.1.3', '0.1.2', true],
    ['0.1.1', '0.1.2', false],
    ['0.2.0', '0.1.2', false],
    ['1.1.2', '0.1.2', false],
    ['0.1.2.dev3', '0.1.2', true],
    ['', '0.1.2', false],
    ['unknown', '0.1.2', false],
  ])('server %s for client %s: %s', (have, want, answer) => {
    expect(compatible(have, want)).toBe(answer);
  });
});

describe('restarts after crashes', () => {
  it('are four within three minutes, with growing pauses', () => {
    const restarts = new RestartBudget();
    expect([0, 1, 2, 3, 4].map((second) => restarts.next(second * 1_000))).toEqual([
      0,
      1_000,
      2_000,
      4_000,
      null,
    ]);
  });

  it('are granted again when the old ones are past, or when the user asks', () => {
    const restarts = new RestartBudget();
    for (let second = 0; second < 4; second++) restarts.next(second * 1_000);
    expect(restarts.next(100_000)).toBeNull();
    expect(restarts.next(181_000)).not.toBeNull();
    restarts.reset();
    expect(restarts.next(182_000)).toBe(0);
  });
});
