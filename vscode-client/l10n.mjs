// Writes l10n/bundle.l10n.json, from which translators begin: every text of the extension host and of
// the webviews. (The manifest's texts are in package.nls.json.)
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

const CALL = /\bt\(\s*'((?:[^'\\]|\\.)*)'/g;

/** @returns {Promise<string>} the bundle's contents */
export async function bundle(root = import.meta.dirname) {
  const texts = new Set();
  for (const file of await sources(root)) {
    const source = await readFile(file, 'utf8');
    for (const [, text] of source.matchAll(CALL)) texts.add(text.replace(/\\(.)/g, '$1'));
  }
  const sorted = [...texts].sort();
  return `${JSON.stringify(Object.fromEntries(sorted.map((text) => [text, text])), null, 2)}\n`;
}

/** @returns {Promise<string[]>} the client's own sources */
export async function sources(root = import.meta.dirname) {
  const folder = path.join(root, 'src');
  return (await readdir(folder, { recursive: true }))
    .filter((name) => /\.tsx?$/.test(name) && !/\.d\.ts$|^protocol\.ts$/.test(name))
    .map((name) => path.join(folder, name))
    .sort();
}

if (process.argv[1] === import.meta.filename) {
  await mkdir(path.join(import.meta.dirname, 'l10n'), { recursive: true });
  await writeFile(path.join(import.meta.dirname, 'l10n/bundle.l10n.json'), await bundle());
}
