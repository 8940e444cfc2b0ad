/** Texts that are not given to translators, and translations that do not fit. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { transform } from 'esbuild';
import { parseAst } from 'vite';
import { describe, expect, it } from 'vitest';
import { sources } from '../l10n.mjs';
import { webviewPage } from '../src/extension/webviewPage';
import { exact, tokens } from '../src/shared/budget';
import { money } from '../src/shared/cache';
import { ENGLISH, speak, t } from '../src/shared/l10n';
import * as vscode from './fake/vscode';

const root = path.join(import.meta.dirname, '..');

interface Node {
  type: string;
  [name: string]: unknown;
}

/** Texts that look like words for people, outside ``t(…)`` and what only developers read. */
async function bare(file: string): Promise<string[]> {
  const source = readFileSync(file, 'utf8');
  const { code } = await transform(source, {
    loader: file.endsWith('x') ? 'tsx' : 'ts',
    jsx: 'transform',
  });
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (
      node.type === 'ImportDeclaration' ||
      (node.type === 'ExportNamedDeclaration' && node.source)
    )
      return;
    if (node.type === 'CallExpression' && forNobody(node)) return;
    if (node.type === 'BinaryExpression' && /^[!=]==$/.test(String(node.operator))) return;
    if (node.type === 'Property' && NOT_SHOWN.has(nameOf(node.key as Node))) return;
    const texts =
      node.type === 'Literal'
        ? [node.value]
        : node.type === 'TemplateLiteral'
          ? [
              (node.quasis as { value: { cooked: string } }[])
                .map((one) => one.value.cooked)
                .join('{}'),
            ]
          : [];
    for (const text of texts)
      if (typeof text === 'string' && isProse(text) && !FINE.some((one) => one.test(text)))
        found.push(text);
    for (const [name, value] of Object.entries(node)) {
      if (name === 'key' && !node.computed) continue;
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one === 'object' && one !== null && 'type' in one) visit(one as Node);
      }
    }
  };
  visit(parseAst(code) as unknown as Node);
  return found;
}

/** Not for people, or the same in every language. */
const FINE = [
  /^Tierline(: \{\})?$|^Anthropic$/, // names
  /\.md$/, // names of documents, by which tabs are told apart
  /^arch-decision gotcha$|^tags: \{\}/, // memos' own format
  /codicon-modifier-spin$/,
  /^<!DOCTYPE|^<\?xml|^text\{font|^(img|style|font)-src/, // markup and styles
  /^import (sys|lxml)|^sys\.path|^print\(json|^ +(from|import) |^except /, // programs for Python
  /^on run argv$|^display notification \(|^end run$|^\[void\]\[|^\$toast = /, // programs of systems
  /^Scripts$|^Lib$|^(index|libs) \{\}/, // parts of paths and of a fingerprint
  /^\/session scratchpad$/, // a command
  /^The server sent a state|^\(a picture, which this model/, // for the log; for the model
];

const NOT_SHOWN = new Set(['class', 'className', 'key', 'type', 'icon']);

function nameOf(node: Node): string {
  if (node.type === 'Identifier') return String(node.name);
  if (node.type === 'Literal') return String(node.value);
  return node.type === 'MemberExpression' ? nameOf(node.property as Node) : '';
}

/** Calls whose texts are translated, or go into the log. */
function forNobody(call: Node): boolean {
  const callee = call.callee as Node;
  const name = nameOf(callee);
  if (['t', 'registerCommand', 'includes', 'getElementById'].includes(name)) return true;
  const owner = callee.type === 'MemberExpression' ? nameOf(callee.object as Node) : '';
  return /log$/i.test(owner) || (name === 'log' && owner === 'progress');
}

function isProse(text: string): boolean {
  return (
    /[A-Za-z]{2,}[,.:;!?]? [A-Za-z]{2,}/.test(text) ||
    /^[A-Z][a-z]{2,}[.…!?]?$/.test(text) ||
    /\{\} [a-z]{3,}|[a-z]{3,}:? \{\}/.test(text)
  );
}

describe('texts for people', () => {
  it('all go through t(…)', async () => {
    const found: string[] = [];
    for (const file of await sources()) {
      for (const text of await bare(file)) found.push(`${path.relative(root, file)}: ${text}`);
    }
    expect(found).toEqual([]);
  });
});

const read = (name: string): Record<string, string> =>
  JSON.parse(readFileSync(path.join(root, name), 'utf8'));

/** What a translation must keep: values, commands, settings, icons, names in code. */
function marks(text: string): string[] {
  const found = text.match(
    /\{\d+\}|command:[\w.]+|`#?[\w.[\]"/: -]+#?`|\$\([\w-]+\)|\btierline\.\w+/g,
  );
  return (found ?? []).sort();
}

const languages = readdirSync(path.join(root, 'l10n'))
  .map((name) => /^bundle\.l10n\.(.+)\.json$/.exec(name)?.[1])
  .filter((id) => id !== undefined);

describe('a translation', () => {
  it('exists, both for the manifest and for the rest', () => {
    expect(languages).toContain('de');
    const manifests = readdirSync(root).filter((name) => /^package\.nls\..+\.json$/.test(name));
    expect(manifests.map((name) => name.split('.')[2]).sort()).toEqual([...languages].sort());
  });

  const pairs = languages.flatMap((id) => [
    ['l10n/bundle.l10n.json', `l10n/bundle.l10n.${id}.json`],
    ['package.nls.json', `package.nls.${id}.json`],
  ]) as [string, string][];

  it.each(pairs)('of %s in %s has every text, none too many, none empty', (english, other) => {
    expect(Object.keys(read(other)).sort()).toEqual(Object.keys(read(english)).sort());
    expect(Object.values(read(other)).filter((text) => text.trim() === '')).toEqual([]);
  });

  it.each(pairs)('of %s in %s keeps values, commands and names', (english, other) => {
    const texts = read(english);
    for (const [key, text] of Object.entries(read(other))) {
      expect(marks(text), key).toEqual(marks(texts[key] ?? ''));
      const lines = (one: string): number => one.split('\n').length;
      expect(lines(text), key).toBe(lines(texts[key] ?? ''));
    }
  });

  it.each(pairs)('of %s in %s leaves only names and signs as they are', (english, other) => {
    const texts = read(english);
    const same = Object.entries(read(other)).filter(([key, text]) => text === texts[key]);
    expect(same.map(([, text]) => text).filter((text) => / [a-z]{3,}/.test(text))).toEqual([]);
  });

  it('into German says Sie', () => {
    const all = [read('l10n/bundle.l10n.de.json'), read('package.nls.de.json')];
    const texts = all.flatMap((one) => Object.values(one));
    expect(texts.filter((text) => /\b(du|dich|dir|dein\w*|euch|euer)\b/i.test(text))).toEqual([]);
    expect(texts.filter((text) => /\bIhre[nrm]?\b|\bSie\b/.test(text)).length).toBeGreaterThan(40);
  });
});

describe('texts in another language', () => {
  it('come with their values, and numbers as they are written there', () => {
    speak({ id: 'de', bundle: { '{0} tokens': '{0} Token' } });
    expect(t('{0} tokens', exact(12_400))).toBe('12.400 Token');
    expect(tokens(12_400)).toBe('12,4k');
    expect(money(1.5)).toBe('$1,50');
    expect(t('not translated {0}', 1)).toBe('not translated 1');
    speak(ENGLISH);
    expect(exact(12_400)).toBe('12,400');
    expect(tokens(12_400)).toBe('12.4k');
  });

  it('are in the page of a webview, and cannot leave their place there', () => {
    Object.assign(vscode.l10n, { bundle: { You: '"><script>alert(1)</script>' } });
    Object.assign(vscode.env, { language: 'de' });
    const dist = vscode.Uri.parse('file:///ext/dist');
    const webview = { cspSource: 'x', asWebviewUri: (uri: unknown) => uri };
    const html = webviewPage(webview as never, dist as never, 'webview', 'Tierline');
    expect(html).toContain('<html lang="de">');
    expect(html.match(/<script/g)).toHaveLength(1);
    const given = /<meta name="l10n" content="([^"]*)">/.exec(html)?.[1] ?? '';
    const text = given.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
    expect(JSON.parse(text)).toEqual({ id: 'de', bundle: vscode.l10n.bundle });
  });
});
