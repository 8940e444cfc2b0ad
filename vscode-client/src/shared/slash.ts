/** Lines that are commands and not prompts: `/undo`, `/context window 5`. */

/** A blank before the slash makes it a prompt; so does a path (`/etc/hosts`) or a comment. */
export function isCommand(text: string): boolean {
  return /^\/[a-z]+(?:\s|$)/i.test(text);
}

/** What is typed of a command so far, without the slash, if the caret stands in it; else null. */
export function commandAt(text: string, caret: number): string | null {
  const match = /^\/([a-z ]*)$/i.exec(text.slice(0, caret));
  return match === null ? null : (match[1] ?? '');
}

/** `/context window <N>` becomes `/context window `: what the user has to add is left to them. */
export function typed(usage: string): string {
  const words = usage.replace(/\s*[[<].*$/, '');
  return words === usage ? words : `${words} `;
}

/** The commands that begin so, or have a word that does. */
export function matching<T extends { usage: string }>(query: string, commands: readonly T[]): T[] {
  const wanted = query.trimStart().toLowerCase();
  const begins = commands.filter(({ usage }) => usage.slice(1).startsWith(wanted));
  const inside = commands.filter(
    (command) => !begins.includes(command) && command.usage.includes(` ${wanted.trim()}`),
  );
  return wanted.trim() === '' ? [...commands] : [...begins, ...inside];
}
