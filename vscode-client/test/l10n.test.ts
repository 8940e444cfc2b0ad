/** Texts that are not given to translators, and translations that do not fit. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { transform } from 'esbuild';
import { parseAst } from 'vite';
import { describe, expect, it } from 'vitest';
import { sources } from '../l10n.mjs';

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
  /^import sys|^sys\.path|^ +(from|import) |^except /, // a program for Python
  /^Scripts$|^index \{\}$/, // parts of paths and of a fingerprint
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
