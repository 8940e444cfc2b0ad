/** What a screen reader says while a reply streams: whole paragraphs, not words. */
import { texts } from './texts';

/**
 * The part of ``text`` after ``from`` that is complete (ends in an empty line outside code), and
 * where the rest begins.
 */
export function complete(text: string, from: number): { said: string; next: number } {
  let next = from;
  let open = false;
  let at = from;
  for (const line of text.slice(from).split('\n')) {
    at += line.length + 1;
    if (/^\s*(```|~~~)/.test(line)) open = !open;
    if (!open && line.trim() === '' && at <= text.length) next = at;
  }
  return { said: plain(text.slice(from, next)), next };
}

/** Without Markdown marks; code is only mentioned. */
export function plain(text: string): string {
  return text
    .replace(/^\s*(```|~~~)[\s\S]*?(?:^\s*\1.*$|$(?![\s\S]))/gm, ` ${texts.codeBlock} `)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^[#>\s*+-]+/gm, '')
    .replace(/[*_`~|]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
