/** A memo as a text to edit: its tags in the first line, then what it says. */
import type { MemoInfo } from '../protocol';

const TAGS = /^tags:[ \t]*(.*)(?:\r?\n|$)/i;

export function memoText(memo: Pick<MemoInfo, 'content' | 'tags'>): string {
  return `tags: ${memo.tags.join(' ')}\n\n${memo.content}\n`;
}

/** Without a line of tags in front, the tags stay as they are (`tags: null`). */
export function parseMemo(text: string): { content: string; tags: string[] | null } {
  const head = TAGS.exec(text);
  const content = (head === null ? text : text.slice(head[0].length)).trim();
  const tags = head === null ? null : (head[1] ?? '').split(/[\s,]+/).filter((tag) => tag !== '');
  return { content, tags };
}

/** The first line, shortened, for lists. */
export function title(content: string): string {
  const line = (content.trim().split('\n', 1)[0] ?? '').replace(/\s+/g, ' ');
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}

/** A name for its document, from its first words; only what every file system takes. */
export function fileName(content: string): string {
  const words = title(content)
    .replace(/[^\p{L}\p{N} .,_-]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return words.length <= 40
    ? words || 'memo'
    : words.slice(0, 40).replace(/[ .,]*\S*$/, '') || 'memo';
}
