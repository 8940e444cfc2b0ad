/** Text of a reply as trees: files become links, characters that turn text around are shown. */
import { candidates, hrefOf } from '../../shared/paths';
import { texts } from '../texts';
import { h, type Tree } from './tree';

/** Asks whether a word names a file; null to ask nothing. */
export type IsFile = ((path: string) => boolean) | null;

/** Embeddings, overrides and isolates, which can make code read otherwise than it runs. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/u;
const HIDDEN = /[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C\u200B\u2060\uFEFF\u00AD]/u;

/** Nothing is removed: a copy has the original characters. */
export function withControls(text: string, code: boolean): Tree[] {
  const wanted = code ? HIDDEN : TURNING;
  if (!wanted.test(text)) return text === '' ? [] : [text];
  return text.split(new RegExp(`(${wanted.source})`, 'u')).flatMap((piece): Tree[] => {
    if (piece === '') return [];
    if (piece.length > 1 || !wanted.test(piece)) return [piece];
    const number = (piece.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const label = texts.control(`U+${number}`);
    return [h('span', { class: 'control', 'data-code': `U+${number}`, title: label }, [piece])];
  });
}

export function withFiles(text: string, isFile: IsFile, code = false): Tree[] {
  if (isFile === null) return withControls(text, code);
  const trees: Tree[] = [];
  let at = 0;
  for (const one of candidates(text, code)) {
    if (HIDDEN.test(one.text) || !isFile(one.path)) continue;
    trees.push(...withControls(text.slice(at, one.index), code));
    const href = hrefOf(one);
    trees.push(h('a', { class: 'path', href, title: texts.open(href) }, [one.text]));
    at = one.index + one.text.length;
  }
  trees.push(...withControls(text.slice(at), code));
  return trees;
}
