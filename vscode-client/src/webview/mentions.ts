/** The @ mention at the caret: where it begins, what has been typed, what is put in its place. */

export interface Mention {
  from: number;
  to: number;
  query: string;
}

export function mentionAt(text: string, caret: number): Mention | null {
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
  const name = /\s/.test(path) ? `@"${path}"` : `@${path}`;
  const rest = text.slice(mention.to);
  const gap = rest.startsWith(' ') ? '' : ' ';
  return {
    text: text.slice(0, mention.from) + name + gap + rest,
    caret: mention.from + name.length + 1,
  };
}
