/**
 * The libraries that a package for one platform carries: ``bundled/libs``, made by
 * ``tools/platform_package.py``. Wheels that serve every Python are in ``common``, the others in a
 * folder for each version (``cp311``); the universal package has none of it.
 */
import * as fs from 'node:fs/promises';
import * as path from 'node:path';

export interface Libs {
  folder: string;
  /** Versions of Python that it has libraries for, such as ``3.11``. */
  pythons: readonly string[];
  /** What pip is to install for the embedded model, which is never bundled. */
  model: readonly string[];
  /** Changes with the contents. */
  digest: string;
}

/** The libraries in the extension's ``bundled`` folder, or null if it has none that fit. */
export async function bundledLibs(
  bundled: string,
  machine: Machine = process,
): Promise<Libs | null> {
  const folder = path.join(bundled, 'libs');
  try {
    const found: unknown = JSON.parse(await fs.readFile(path.join(folder, 'libs.json'), 'utf8'));
    const { target, pythons, model, digest } = found as Record<string, unknown>;
    // A package for another platform can be installed by hand; pip is used then.
    if (!matches(target, machine) || typeof digest !== 'string') return null;
    return { folder, pythons: texts(pythons), model: texts(model), digest };
  } catch {
    return null;
  }
}

type Machine = Pick<NodeJS.Process, 'platform' | 'arch'>;

function matches(target: unknown, { platform, arch }: Machine): boolean {
  if (typeof target !== 'string') return false;
  const system = target.startsWith('alpine-') ? 'linux' : platform;
  return target === `${system}-${arch}` || (platform === 'linux' && target === `alpine-${arch}`);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** ``3.11`` of ``[3, 11, 2]``. */
export function minorOf(version: readonly [number, number, number]): string {
  return `${version[0]}.${version[1]}`;
}

/** Folders to search for modules, in order. */
export function searchPath(libs: Libs, version: readonly [number, number, number]): string[] {
  return [`cp${version[0]}${version[1]}`, 'common'].map((name) => path.join(libs.folder, name));
}
