/** The @ mention or the command at the caret: where it begins, what has been typed, what is put in its place. */

import { commandAt, typed } from '../shared/slash';

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

/** The text with the path in place of the mention, and where the caret goes. */
export function complete(
  text: string,
  mention: Mention,
  path: string,
): { text: string; caret: number } {
  if (path.startsWith('/')) {
    const line = typed(path);
    return { text: line + text.slice(mention.to).trimStart(), caret: line.length };
  }
  const name = /\s/.test(path) ? `@"${path}"` : `@${path}`;
  const rest = text.slice(mention.to);
  const gap = rest.startsWith(' ') ? '' : ' ';
  return {
    text: text.slice(0, mention.from) + name + gap + rest,
    caret: mention.from + name.length + 1,
  };
}
