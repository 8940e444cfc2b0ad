import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bundledWheel,
  cleanEnvironment,
  describe as describeLine,
  Environment,
} from '../src/extension/server/environment';
import {
  candidatesOnPath,
  compatible,
  discover,
  environmentPython,
  type Host,
  type Interpreter,
} from '../src/extension/server/python';
import { RestartBudget } from '../src/extension/server/restarts';

interface Fake {
  version: [number, number, number];
  tierline?: string;
  can?: boolean;
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

describe('the managed environment', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'tierline-test-'));
  });
  afterEach(async () => {
    await rm(root, { recursive: true, force: true });
  });

  /**
   * A stand-in for Python: ``-m venv DIR`` copies itself there, ``-m pip install`` and
   * ``-m tierline --version`` write down what they were asked, and fail where the name says so.
   */
  async function python(failing = ''): Promise<Interpreter> {
    const command = path.join(root, 'python');
    const script = [
      '#!/bin/sh',
      `echo "$@" >> "${root}/calls"`,
      `case "$*" in ${failing === '' ? '__never__' : `*"${failing}"*`}) echo "ERROR: no such thing"; exit 1;; esac`,
      'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi',
      'if [ "$3" = pip ]; then echo "  Downloading attrs-25.1.0-py3-none-any.whl (63 kB)"; fi',
      'exit 0',
    ].join('\n');
    await writeFile(command, script, { mode: 0o755 });
    return {
      command,
      args: [],
      executable: command,
      version: [3, 11, 2],
      tierline: '',
      canCreate: true,
      origin: 'path',
    };
  }

  function progress(signal = new AbortController().signal): {
    steps: string[];
    step(text: string): void;
    log(): void;
    signal: AbortSignal;
  } {
    const steps: string[] = [];
    return { steps, step: (text) => steps.push(text), log: () => {}, signal };
  }

  const calls = async (): Promise<string[]> =>
    (await readFile(path.join(root, 'calls'), 'utf8')).trim().split('\n');

  it('is made, filled from the wheel, checked, and then found again', async () => {
    const wheel = path.join(root, 'tierline-0.1.0-py3-none-any.whl');
    await writeFile(wheel, 'contents');
    const source = { wheel, version: '0.1.0' };
    const environment = new Environment(path.join(root, 'storage'));
    expect(await environment.ready(source)).toBeNull();
    const shown = progress();
    const made = await environment.create(await python(), source, shown);
    expect(await environment.ready(source)).toBe(made);
    expect((await calls()).some((call) => call.includes(`${wheel}[local]`))).toBe(true);
    expect((await calls()).at(-1)).toBe('-P -m tierline --version');
    expect(shown.steps).toContain('downloading attrs (63 kB)');
  });

  it('is made anew when the wheel has changed under the same name', async () => {
    const wheel = path.join(root, 'tierline-0.1.0-py3-none-any.whl');
    await writeFile(wheel, 'contents');
    const source = { wheel, version: '0.1.0' };
    const environment = new Environment(path.join(root, 'storage'));
    await environment.create(await python(), source, progress());
    await writeFile(wheel, 'other contents');
    expect(await environment.ready(source)).toBeNull();
  });

  it('comes from the package index by name when no wheel is bundled', async () => {
    await new Environment(path.join(root, 'storage')).create(
      await python(),
      { wheel: null, version: '0.1.4' },
      progress(),
    );
    expect((await calls()).some((call) => call.endsWith('tierline[local]==0.1.*'))).toBe(true);
  });

  it('does without the embedded model where its runtime has no wheel', async () => {
    const environment = new Environment(path.join(root, 'storage'));
    const source = { wheel: null, version: '0.1.0' };
    await environment.create(await python('[local'), source, progress());
    expect(await environment.ready(source)).not.toBeNull();
    expect(await calls()).toContainEqual(expect.stringMatching(/ tierline==0\.1\.\*$/));
  });

  it('leaves nothing that looks complete when the installation fails', async () => {
    const environment = new Environment(path.join(root, 'storage'));
    const source = { wheel: null, version: '0.1.0' };
    await expect(
      environment.create(await python('pip install'), source, progress()),
    ).rejects.toMatchObject({
      detail: 'ERROR: no such thing',
    });
    expect(await environment.ready(source)).toBeNull();
    await expect(stat(environment.folder)).rejects.toThrow();
  });

  it('stops when the user cancels', async () => {
    const abort = new AbortController();
    abort.abort();
    const environment = new Environment(path.join(root, 'storage'));
    await expect(
      environment.create(await python(), { wheel: null, version: '0.1.0' }, progress(abort.signal)),
    ).rejects.toThrow();
    expect(await environment.ready({ wheel: null, version: '0.1.0' })).toBeNull();
  });

  it('finds the newest bundled wheel of the server and nothing else', async () => {
    const folder = path.join(root, 'bundled');
    expect(await bundledWheel(folder)).toBeNull();
    await mkdir(folder);
    await writeFile(path.join(folder, 'other-1.whl'), '');
    expect(await bundledWheel(folder)).toBeNull();
    await writeFile(path.join(folder, 'tierline-0.1.0-py3-none-any.whl'), '');
    expect(await bundledWheel(folder)).toMatch(/tierline-0\.1\.0/);
  });

  it('does not look into environments of others', () => {
    const cleaned = cleanEnvironment({
      PATH: '/bin',
      PYTHONPATH: '/x',
      VIRTUAL_ENV: '/v',
      PIP_TARGET: '/t',
    });
    expect(cleaned).toEqual({ PATH: '/bin' });
  });

  it('shows what pip downloads, not how it resolves', () => {
    expect(describeLine('Collecting attrs>=25')).toBeNull();
    expect(describeLine('Installing collected packages: a, b')).toBe('installing');
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
