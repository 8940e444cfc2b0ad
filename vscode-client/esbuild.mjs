// Builds the extension host bundle and the webview bundle into dist/.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { context } from 'esbuild';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : 'linked',
  legalComments: 'none',
  logLevel: 'info',
};

const builds = [
  {
    ...common,
    entryPoints: { extension: 'src/extension/main.ts' },
    outdir: 'dist',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
  },
  {
    ...common,
    entryPoints: { webview: 'src/webview/main.tsx', cacheView: 'src/webview/cache/main.tsx' },
    outdir: 'dist',
    platform: 'browser',
    format: 'iife',
    target: 'chrome128',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  },
];

await rm('dist', { recursive: true, force: true });
await mkdir('dist', { recursive: true });
await Promise.all(
  ['codicon.css', 'codicon.ttf'].map((name) =>
    copyFile(`node_modules/@vscode/codicons/dist/${name}`, `dist/${name}`),
  ),
);
// Loaded by the chat when a reply first has a formula or a diagram.
const katex = 'node_modules/katex/dist';
await copyFile(`${katex}/katex.min.js`, 'dist/katex.js');
await copyFile('node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js', 'dist/mermaid.js');
const styles = await readFile(`${katex}/katex.min.css`, 'utf8');
// The editor's browser reads woff2; the older formats would only make the package larger.
const older = /,url\(fonts\/[^)]*\.(?:woff|ttf)\) format\("\w+"\)/g;
await writeFile('dist/katex.css', styles.replace(older, ''));
await mkdir('dist/fonts');
for (const name of await readdir(`${katex}/fonts`)) {
  if (name.endsWith('.woff2')) await copyFile(`${katex}/fonts/${name}`, `dist/fonts/${name}`);
}
for (const options of builds) {
  const build = await context(options);
  if (watch) await build.watch();
  else {
    await build.rebuild();
    await build.dispose();
  }
}
