// Writes dist/README.md: the marketplace's page with its pictures inside, as data. An installed
// extension's page resolves no relative path, and there is no host that the pictures could be at.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

/** @returns {Promise<string>} the page */
export async function page(root = import.meta.dirname) {
  const text = await readFile(path.join(root, 'README.md'), 'utf8');
  const found = [...text.matchAll(/(!\[[^\]]*\]\()(media\/[^)]+\.png)(\))/g)];
  let out = text;
  for (const [whole, before, file, after] of found) {
    const data = (await readFile(path.join(root, file))).toString('base64');
    out = out.replace(whole, () => `${before}data:image/png;base64,${data}${after}`);
  }
  return out;
}

if (process.argv[1] === import.meta.filename) {
  await mkdir(path.join(import.meta.dirname, 'dist'), { recursive: true });
  await writeFile(path.join(import.meta.dirname, 'dist/README.md'), await page());
}
