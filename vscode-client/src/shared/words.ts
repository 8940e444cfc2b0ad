/** The beginning of a message, on one line and without Markdown marks. */
export function firstWords(text: string, length: number): string {
  const line = text
    .slice(0, 4 * length + 200)
    .replace(/^\s*(?:#{1,6}|>|[-+*]|\d+\.)\s+/gm, '')
    .replace(/!?\[([^\]]*)\]\([^)\s]*\)/g, '$1')
    .replace(/^\s*(?:```|~~~)\S*$/gm, '')
    .replace(/\*\*|`/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= length ? line : `${line.slice(0, length - 1).trimEnd()}…`;
}
