/**
 * Finding words in the conversation, also in what is not drawn. What is drawn is marked with the
 * browser's highlights: no element changes, so nothing moves and nothing is drawn anew.
 */
import type { ShownMessage } from '../shared/model';

const ALL = 'found';
const CURRENT = 'found-now';

/** Matches in order: a message's id once for each match in it. */
export function matches(messages: readonly ShownMessage[], words: string): number[] {
  const wanted = words.toLowerCase();
  if (wanted === '') return [];
  return messages.flatMap((message, index) => {
    if (message.role === 'tool') return [];
    const text = message.text.toLowerCase();
    const found: number[] = [];
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      found.push(index);
    }
    return found;
  });
}

/** Mark all that is drawn; the ``nth`` of the message ``id`` (or its last one) is the current one. */
export function mark(root: Element, words: string, id: string, nth: number): Range | null {
  unmark();
  const registry = globalThis.CSS?.highlights;
  if (registry === undefined || words === '') return null;
  const wanted = words.toLowerCase();
  const all: Range[] = [];
  const here: Range[] = [];
  const current = root.querySelector(`[data-id="${CSS.escape(id)}"]`);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, text.length));
      if (current?.contains(node)) here.push(range);
      all.push(range);
    }
  }
  const now = here[Math.min(nth, here.length - 1)] ?? null;
  registry.set(ALL, new Highlight(...all.filter((range) => range !== now)));
  if (now !== null) registry.set(CURRENT, new Highlight(now));
  return now;
}

export function unmark(): void {
  globalThis.CSS?.highlights?.delete(ALL);
  globalThis.CSS?.highlights?.delete(CURRENT);
}
