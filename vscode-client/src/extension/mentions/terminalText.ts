/** Terminal output as plain text. */
import { stripVTControlCharacters } from 'node:util';

/** Without colours and titles; an overwritten line has its last state. */
export function plainOutput(raw: string): string {
  return stripVTControlCharacters(raw)
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map((line) => line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1))
    .map((line) => line.replace(/[^\P{Cc}\t]/gu, '').trimEnd())
    .join('\n')
    .trim();
}

/** The end of a long text, from the beginning of a line. */
export function tail(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(-most);
  return cut.slice(cut.indexOf('\n') + 1);
}
