/**
 * One setup at a time: VS Code may open several windows at once, and all of them find that the
 * server is missing. The window that makes the folder does the work and touches it meanwhile; a folder
 * that has not been touched for a while belonged to a window that is gone.
 */
import * as fs from 'node:fs/promises';
import { CancelledError } from './pip';

export interface LockOptions {
  signal: AbortSignal;
  /** Called once if another one is at work. */
  waiting(): void;
  /** Milliseconds without a touch until the holder counts as gone. */
  stale?: number;
}

/** Run ``work`` alone. Its argument says whether another window worked before it. */
export async function alone<T>(
  folder: string,
  options: LockOptions,
  work: (waited: boolean) => Promise<T>,
): Promise<T> {
  const stale = options.stale ?? 20_000;
  let waited = false;
  while (!(await made(folder))) {
    if (options.signal.aborted) throw new CancelledError();
    if (!waited) options.waiting();
    waited = true;
    if (await abandoned(folder, stale)) await fs.rm(folder, { recursive: true, force: true });
    else await new Promise((resolve) => setTimeout(resolve, Math.min(500, stale / 4)));
  }
  const touch = setInterval(() => {
    const now = new Date();
    fs.utimes(folder, now, now).catch(() => {});
  }, stale / 5);
  try {
    return await work(waited);
  } finally {
    clearInterval(touch);
    await fs.rm(folder, { recursive: true, force: true });
  }
}

async function made(folder: string): Promise<boolean> {
  try {
    await fs.mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function abandoned(folder: string, stale: number): Promise<boolean> {
  try {
    return Date.now() - (await fs.stat(folder)).mtimeMs > stale;
  } catch {
    return false; // it was removed meanwhile
  }
}
