/** `@` mentions: their kinds, those in a text, and the text after one was chosen. */

import { commandAt, typed } from './slash';

/** The icon of each kind of mention; of a kind that a newer server knows, a plain one. */
const ICONS: Record<string, string> = {
  file: 'file',
  folder: 'folder',
  symbol: 'symbol-method',
  problems: 'warning',
  terminal: 'terminal',
  selection: 'selection',
  excerpt: 'eye',
  git: 'git-compare',
  editors: 'files',
  web: 'globe',
  session: 'history',
  memo: 'note',
  instructions: 'book',
  card: 'code',
  page: 'globe',
  recalled: 'history',
};

export function iconOf(kind: string): string {
  return ICONS[kind] ?? 'mention';
}

/** The mention or the command at the caret: where it begins and what has been typed of it. */
export interface Mention {
  from: number;
  to: number;
  /** What is typed so far; for a command with its slash. */
  query: string;
}

export function mentionAt(text: string, caret: number): Mention | null {
  const command = commandAt(text, caret);
  if (command !== null) return { from: 0, to: caret, query: `/${command}` };
  const match = /(?:^|[\s([{,;])@([^\s@"'`]*)$/.exec(text.slice(0, caret));
  if (match === null) return null;
  const query = match[1] ?? '';
  return { from: caret - query.length - 1, to: caret, query };
}

/**
 * The text with what was chosen in place of the mention, and where the caret goes: behind a blank,
 * unless ``more`` is to be typed.
 */
export function complete(
  text: string,
  mention: Mention,
  chosen: string,
  more = false,
): { text: string; caret: number } {
  if (chosen.startsWith('/')) {
    const line = typed(chosen);
    return { text: line + text.slice(mention.to).trimStart(), caret: line.length };
  }
  const rest = text.slice(mention.to);
  const gap = rest.startsWith(' ') || more ? '' : ' ';
  const caret = mention.from + chosen.length + (more ? 0 : 1);
  return { text: text.slice(0, mention.from) + chosen + gap + rest, caret };
}

const WRITTEN = /@(?:"[^"\n]+"|[^\s"]+)/g;

/** Everything that looks like a mention; the server says what is one. */
export function written(text: string): string[] {
  return [...new Set([...text.matchAll(WRITTEN)].map(([found]) => found))];
}

/** The text without this mention and the space that it would leave behind. */
export function without(text: string, mention: string): string {
  let left = text;
  for (let at = left.indexOf(mention); at >= 0; at = left.indexOf(mention, at)) {
    const end = at + mention.length;
    if (/[\w/-]/.test(left[end] ?? '') && !mention.endsWith('"')) at = end;
    else {
      const begins = at === 0 || /\s/.test(left[at - 1] ?? '');
      left = left.slice(0, at) + left.slice(end + (begins && left[end] === ' ' ? 1 : 0));
    }
  }
  return left;
}

/** The text with one more mention, with spaces around it. */
export function appended(text: string, mention: string): string {
  if (written(text).includes(mention)) return text;
  const gap = text === '' || /\s$/.test(text) ? '' : ' ';
  return `${text}${gap}${mention} `;
}
