/** Lines that are commands, not prompts: `/undo`, `/context window 5`. */

/** A space before the slash makes it a prompt; so does a path (`/etc/hosts`) or a comment. */
export function isCommand(text: string): boolean {
  return /^\/\p{L}[\p{L}\p{N}_:.-]*(?:\s|$)/u.test(text);
}

/** What is typed of a command so far, without the slash, if the caret stands in it; else null. */
export function commandAt(text: string, caret: number): string | null {
  const match = /^\/((?:\p{L}[\p{L}\p{N}_:. -]*)?)$/u.exec(text.slice(0, caret));
  return match === null ? null : (match[1] ?? '');
}

/** `/context window <N>` becomes `/context window `: the user adds the rest. */
export function typed(usage: string): string {
  const words = usage.replace(/\s*[[<].*$/, '');
  return words === usage ? words : `${words} `;
}

/** Commands that begin with it, then those with such a word, then those with it in their text. */
export function matching<T extends { usage: string; doc?: string }>(
  query: string,
  commands: readonly T[],
): T[] {
  const wanted = query.trimStart().toLowerCase();
  const word = wanted.trim();
  if (word === '') return [...commands];
  const place = ({ usage, doc = '' }: T): number => {
    if (usage.slice(1).startsWith(wanted)) return 0;
    if (usage.includes(` ${word}`)) return 1;
    return word.length > 2 && doc.toLowerCase().includes(word) ? 2 : 3;
  };
  return [0, 1, 2].flatMap((wished) => commands.filter((one) => place(one) === wished));
}
