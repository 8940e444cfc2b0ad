/** Makes foreign text safe to show: names from a repository, notices of the server. */

// Control characters, bidirectional marks, and invisible characters.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function escaped(found: string): string {
  return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A name on one line, with invisible characters as escapes. */
export function shownName(name: string): string {
  return name.replace(HIDDEN, escaped).replace(/[\t\n]/g, escaped);
}

/** A message without links: VS Code makes a link of `[text](command:…)`, also in a file's name. */
export function unlinked(text: string): string {
  return text.replace(HIDDEN, escaped).replaceAll('](', '] (');
}
