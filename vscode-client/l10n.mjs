// Writes l10n/bundle.l10n.json, from which translators begin: every text of the extension host.
// (The manifest's texts are in package.nls.json.)
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

const CALL = /\bt\(\s*'((?:[^'\\]|\\.)*)'/g;

/** @returns {Promise<string>} the bundle's contents */
export async function bundle(root = import.meta.dirname) {
  const folder = path.join(root, 'src/extension');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const texts = new Set();
  for (const file of files) {
    const source = await readFile(path.join(folder, file), 'utf8');
    for (const [, text] of source.matchAll(CALL)) texts.add(text.replace(/\\(.)/g, '$1'));
  }
  const sorted = [...texts].sort();
  return `${JSON.stringify(Object.fromEntries(sorted.map((text) => [text, text])), null, 2)}\n`;
}

if (process.argv[1] === import.meta.filename) {
  await mkdir(path.join(import.meta.dirname, 'l10n'), { recursive: true });
  await writeFile(path.join(import.meta.dirname, 'l10n/bundle.l10n.json'), await bundle());
}
