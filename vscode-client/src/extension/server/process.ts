/** Running other programs without a shell, with a time limit and cancellation. */
import { spawn } from 'node:child_process';
import type { RunResult } from './python';

export interface RunOptions {
  cwd: string;
  env?: NodeJS.ProcessEnv;
  /** Kill it after this many milliseconds; 0 for never. */
  timeout: number;
  signal?: AbortSignal;
  onLine?: (line: string) => void;
}

const MAX_OUTPUT = 1_000_000;

/** Never throws: a program that cannot be started has the code null. */
export function run(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  return new Promise((resolve) => {
    let stdout = '';
    let stderr = '';
    let timer: NodeJS.Timeout | undefined;
    const finish = (code: number | null): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', kill);
      resolve({ code, stdout, stderr });
    };
    const child = spawn(command, [...args], {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    const kill = (): void => {
      child.kill();
    };
    if (options.timeout > 0) timer = setTimeout(kill, options.timeout);
    if (options.signal?.aborted) kill();
    options.signal?.addEventListener('abort', kill, { once: true });
    const lines = (): ((chunk: string) => void) => {
      let rest = '';
      return (chunk) => {
        const parts = (rest + chunk).split(/\r?\n/);
        rest = parts.pop() ?? '';
        for (const line of parts) options.onLine?.(line);
      };
    };
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout = (stdout + chunk).slice(-MAX_OUTPUT);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr = (stderr + chunk).slice(-MAX_OUTPUT);
    });
    child.stdout.on('data', lines());
    child.stderr.on('data', lines());
    child.on('error', (error) => {
      stderr += error.message;
      finish(null);
    });
    child.on('close', (code) => finish(code));
  });
}
