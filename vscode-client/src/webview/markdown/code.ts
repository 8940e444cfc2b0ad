/** Code blocks: their text, the file that they belong to, and their buttons. */
import type { VNode } from 'preact';
import { candidates } from '../../shared/paths';
import { texts } from '../texts';
import { highlight } from './highlight';
import { type IsFile, withFiles } from './text';
import { h, type Tree } from './tree';

/** Longer blocks are folded to this many lines and scroll, until they are opened. */
const LONG_LINES = 30;
const SHELLS = new Set([
  'bash',
  'sh',
  'shell',
  'zsh',
  'console',
  'powershell',
  'ps1',
  'bat',
  'cmd',
]);
/** Classes of what may name a file. */
const NAMING = /comment|string|addition|deletion|meta|link/;
const PLAIN = new Set(['', 'text', 'txt', 'plain', 'plaintext', 'console', 'output', 'log']);

/** ``info``: the text after the fence, e.g. "python src/a.py" or "ts title=\"a.ts\"". */
export function codeBlock(content: string, info: string, isFile: IsFile, final: boolean): VNode {
  const code = content.replace(/\n$/, '');
  const language = languageOf(info);
  const path = pathOf(info, code);
  const lines = code.split('\n').length;
  const plain = PLAIN.has(language.toLowerCase()) || code.includes('Traceback (most recent');
  const shell = SHELLS.has(language.toLowerCase());
  const attrs: Record<string, string> = {
    class: lines > LONG_LINES ? 'code long' : 'code',
    dir: 'ltr',
    'data-language': language,
    'data-path': path,
  };
  const kids = [
    h('div', { class: 'code-head' }, [
      h('span', { class: 'code-language', title: path || language }, [
        path || language || texts.plainText,
      ]),
      action('copy', 'copy', texts.copyCode),
      action('insert', 'insert', texts.insertCode),
      ...(final && !shell ? [action('apply', 'diff', texts.applyCode(path))] : []),
      ...(final && !shell ? [action('new', 'new-file', texts.newFileCode)] : []),
      ...(final && shell ? [action('run', 'terminal', texts.runCode)] : []),
    ]),
    h('pre', { tabindex: '0', 'aria-label': texts.codeIn(language) }, [
      h('code', {}, plain ? withFiles(code, isFile, true) : coloured(code, language, isFile)),
    ]),
  ];
  if (lines > LONG_LINES) {
    kids.push(
      h('button', { type: 'button', class: 'unfold', 'data-action': 'unfold' }, [
        h('span', { class: 'unfold-more' }, [texts.allLines(lines)]),
        h('span', { class: 'unfold-less' }, [texts.fewerLines]),
      ]),
    );
  }
  return h('div', attrs, kids);
}

/** Files are named in comments, in strings and after commands; elsewhere "a.b" is no file. */
function coloured(code: string, language: string, isFile: IsFile): Tree[] {
  const named: IsFile = isFile && ((path) => /[./\\]/.test(path) && isFile(path));
  const all = SHELLS.has(language.toLowerCase()) ? named : null;
  return highlight(code, language, (text, classes) =>
    withFiles(text, classes.some((name) => NAMING.test(name)) ? named : all, true),
  );
}

function languageOf(info: string): string {
  const word = info.trim().split(/[\s:{]/)[0] ?? '';
  return word.includes('/') ? '' : word.replace(/[^\w+#.-]/g, '').slice(0, 30);
}

/** The file that a block names: after the fence, or in a comment on its first line. */
function pathOf(info: string, code: string): string {
  const rest = info.trim().replace(/^[\w+#.-]+/, '');
  const named = /(?:title|path|file(?:name)?)=["']?([^"'\s}]+)/.exec(rest)?.[1];
  const behind = named ?? rest.replace(/^[\s:]+/, '').split(/\s/)[0] ?? '';
  const comment = /^(?:#|\/\/|--|<!--|\/\*)\s*([^\s*]+)\s*(?:\*\/|-->)?$/.exec(
    code.split('\n', 1)[0] ?? '',
  )?.[1];
  for (const text of [behind, comment ?? '']) {
    const one = candidates(text)[0];
    if (one !== undefined && one.text === text && one.line === 0) return one.path;
  }
  return '';
}

function action(name: string, icon: string, label: string): VNode {
  const attrs = { type: 'button', class: 'icon-button', 'data-action': name, title: label };
  return h('button', { ...attrs, 'aria-label': label }, [
    h('span', { class: `codicon codicon-${icon}`, 'aria-hidden': 'true' }),
  ]);
}
