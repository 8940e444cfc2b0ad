/** Where the parts of an edit that was applied are in the text of now. */
import type { EditInfo } from '../protocol';

/**
 * First and last line, from 0, by the part's index. A part whose lines were changed since has no
 * place. Of equal lines those nearest to where they were put are meant.
 */
export function places(
  edit: Pick<EditInfo, 'hunks' | 'accepted'>,
  lines: readonly string[],
): Map<number, [number, number]> {
  const found = new Map<number, [number, number]>();
  let shift = 0;
  for (const { index, line, before, after } of edit.hunks) {
    if (!edit.accepted.includes(index)) continue;
    const now = linesOf(after);
    const first = nearest(lines, now, line - 1 + shift);
    shift += now.length - linesOf(before).length;
    if (first !== null) found.set(index, [first, first + Math.max(0, now.length - 1)]);
  }
  return found;
}

function nearest(
  lines: readonly string[],
  wanted: readonly string[],
  expected: number,
): number | null {
  const most = lines.length - wanted.length;
  const here = (at: number): boolean =>
    at >= 0 && at <= most && wanted.every((text, index) => lines[at + index] === text);
  for (let away = 0; away <= lines.length; away += 1) {
    if (here(expected - away)) return expected - away;
    if (here(expected + away)) return expected + away;
  }
  return null;
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
