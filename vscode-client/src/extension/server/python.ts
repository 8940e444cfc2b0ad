/**
 * Which Python runs the server. Pure but for the injected ``Host``; nothing is installed here.
 *
 * Order: the setting, ``TIERLINE_PYTHON``, Tierline's own environment, then the newest suitable
 * Python on PATH. The first that can import a suitable ``tierline`` is used as it is.
 */
import * as path from 'node:path';

const MINIMUM: readonly [number, number] = [3, 11];

export interface RunResult {
  /** Null if the program could not be started or was killed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** What discovery needs of the machine. */
export interface Host {
  platform: NodeJS.Platform;
  env: Readonly<Record<string, string | undefined>>;
  exists(file: string): Promise<boolean>;
  run(command: string, args: readonly string[]): Promise<RunResult>;
}

export interface Interpreter {
  /** What to start: a path, or a launcher such as ``py``. */
  command: string;
  args: readonly string[];
  /** The interpreter's own path. */
  executable: string;
  version: readonly [number, number, number];
  /** Version of the ``tierline`` that it can import; empty if none. */
  tierline: string;
  /** It has ``venv`` and ``ensurepip``, so that an environment can be made and filled with it. */
  canCreate: boolean;
  /** It has ``venv``; enough where nothing has to be installed. */
  hasVenv: boolean;
  origin: Origin;
}

export type Origin = 'setting' | 'environment' | 'managed' | 'path';

export type Found =
  | { kind: 'ready'; interpreter: Interpreter }
  /** Nothing has the server yet; an environment is to be made with this one. */
  | { kind: 'create'; interpreter: Interpreter }
  | { kind: 'problem'; problem: Problem };

export type Problem =
  /** The setting or variable names something that is not a Python of the right version. */
  | { code: 'notPython'; origin: Origin; command: string; detail: string }
  | { code: 'tooOld'; origin: Origin; command: string; version: string }
  /** Python is there, but cannot create environments (Debian's split packages). */
  | { code: 'noVenv'; command: string; version: string }
  | { code: 'noPython'; tooOld: readonly string[] };

const PROBE = [
  'import sys, json',
  'sys.path[:] = [p for p in sys.path if p]',
  'found = ""',
  'can = bare = True',
  'try:',
  '    from importlib.metadata import version',
  '    found = version("tierline")',
  'except Exception:',
  '    pass',
  'try:',
  '    import venv',
  'except Exception:',
  '    bare = False',
  'try:',
  '    import ensurepip',
  'except Exception:',
  '    can = False',
  'print(json.dumps({"version": list(sys.version_info[:3]), "executable": sys.executable, "tierline": found, "can": can and bare, "venv": bare}))',
].join('\n');

/** Where an environment in ``folder`` has its interpreter. */
export function environmentPython(folder: string, platform: NodeJS.Platform): string {
  return platform === 'win32'
    ? path.win32.join(folder, 'Scripts', 'python.exe')
    : path.posix.join(folder, 'bin', 'python');
}

/**
 * Whether a server of version ``have`` can serve a client of version ``want``: the same major and
 * minor version, and not older.
 */
export function compatible(have: string, want: string): boolean {
  const a = release(have);
  const b = release(want);
  return a !== null && b !== null && a[0] === b[0] && a[1] === b[1] && a[2] >= b[2];
}

function release(version: string): [number, number, number] | null {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(version);
  if (match === null) return null;
  return [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

export interface Wanted {
  /** The setting ``tierline.python``; empty if not set. */
  setting: string;
  /** Interpreter of the managed environment, if one has been made completely. */
  managed: string | null;
  /** Version that the server must have. */
  version: string;
  /** Versions of Python whose libraries the package carries, such as ``3.11``; may be none. */
  bundled?: readonly string[];
}

export async function discover(host: Host, wanted: Wanted): Promise<Found> {
  const named: [string, Origin][] = [];
  if (wanted.setting !== '') named.push([wanted.setting, 'setting']);
  else if (host.env.TIERLINE_PYTHON) named.push([host.env.TIERLINE_PYTHON, 'environment']);

  let base: Interpreter | null = null;
  for (const [command, origin] of named) {
    const probed = await probe(host, command, [], origin);
    if ('problem' in probed) return { kind: 'problem', problem: probed.problem };
    if (compatible(probed.tierline, wanted.version)) return { kind: 'ready', interpreter: probed };
    base = probed;
  }

  if (wanted.managed !== null && (await host.exists(wanted.managed))) {
    const probed = await probe(host, wanted.managed, [], 'managed');
    if (!('problem' in probed) && compatible(probed.tierline, wanted.version)) {
      return { kind: 'ready', interpreter: probed };
    }
  }
  if (base !== null) return creatable(base, wanted);
  return await search(host, wanted);
}

async function search(host: Host, wanted: Wanted): Promise<Found> {
  const tooOld: string[] = [];
  const candidates: Interpreter[] = [];
  for (const [command, ...args] of candidatesOnPath(host.platform)) {
    if (command === undefined) continue;
    const probed = await probe(host, command, args, 'path');
    if ('problem' in probed) {
      if (probed.problem.code === 'tooOld') tooOld.push(probed.problem.version);
      continue;
    }
    if (compatible(probed.tierline, wanted.version)) return { kind: 'ready', interpreter: probed };
    candidates.push(probed);
    // The first that serves is the newest: no need to start the others.
    if (serves(probed, wanted)) break;
  }
  const best = candidates.find((candidate) => serves(candidate, wanted)) ?? candidates[0];
  if (best === undefined) {
    return { kind: 'problem', problem: { code: 'noPython', tooOld: [...new Set(tooOld)] } };
  }
  return creatable(best, wanted);
}

/** Whether an environment can be made with it: filled by pip, or from what the package carries. */
function serves(interpreter: Interpreter, { bundled = [] }: Wanted): boolean {
  const [major, minor] = interpreter.version;
  return interpreter.canCreate || (interpreter.hasVenv && bundled.includes(`${major}.${minor}`));
}

function creatable(interpreter: Interpreter, wanted: Wanted): Found {
  if (serves(interpreter, wanted)) return { kind: 'create', interpreter };
  return {
    kind: 'problem',
    problem: {
      code: 'noVenv',
      command: interpreter.executable,
      version: interpreter.version.join('.'),
    },
  };
}

/** Commands to try, newest first; the plain names last, since they may be anything. */
export function candidatesOnPath(platform: NodeJS.Platform): string[][] {
  const versions = [14, 13, 12, 11];
  if (platform === 'win32') {
    return [
      ...versions.map((minor) => ['py', `-3.${minor}`]),
      ['py', '-3'],
      ['python'],
      ['python3'],
    ];
  }
  const names = [...versions.map((minor) => `python3.${minor}`), 'python3', 'python'];
  // An editor started from the Dock or a desktop entry does not have the shell's PATH.
  const folders =
    platform === 'darwin'
      ? [
          '/opt/homebrew/bin',
          '/usr/local/bin',
          '/Library/Frameworks/Python.framework/Versions/Current/bin',
        ]
      : ['/usr/local/bin', '/usr/bin'];
  return [
    ...names.map((name) => [name]),
    ...folders.map((folder) => [path.posix.join(folder, 'python3')]),
  ];
}

async function probe(
  host: Host,
  command: string,
  args: readonly string[],
  origin: Origin,
): Promise<Interpreter | { problem: Problem }> {
  const result = await host.run(command, [...args, '-c', PROBE]);
  const info = result.code === 0 ? parse(result.stdout) : null;
  if (info === null) {
    const detail = result.stderr.trim().split('\n').at(-1) ?? '';
    return { problem: { code: 'notPython', origin, command, detail } };
  }
  const [major, minor] = info.version;
  if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1])) {
    return { problem: { code: 'tooOld', origin, command, version: info.version.join('.') } };
  }
  return {
    command,
    args,
    executable: info.executable || command,
    version: info.version,
    tierline: info.tierline,
    canCreate: info.can,
    hasVenv: info.venv,
    origin,
  };
}

function parse(stdout: string): {
  version: [number, number, number];
  executable: string;
  tierline: string;
  can: boolean;
  venv: boolean;
} | null {
  // A sitecustomize may print its own lines before ours.
  const line = stdout.trim().split('\n').at(-1) ?? '';
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return null;
    const { version, executable, tierline, can, venv } = value as Record<string, unknown>;
    if (!Array.isArray(version) || version.length !== 3) return null;
    if (!version.every((part) => typeof part === 'number')) return null;
    return {
      version: version as [number, number, number],
      executable: typeof executable === 'string' ? executable : '',
      tierline: typeof tierline === 'string' ? tierline : '',
      can: can === true,
      venv: venv === true,
    };
  } catch {
    return null;
  }
}
