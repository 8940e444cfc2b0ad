/** Where the parts of an applied edit are in the present text. */
import type { EditInfo } from '../protocol';

/**
 * First and last line, from 0, by the part's index. A part whose lines have changed since has no
 * place. Among equal lines those nearest to the original place count.
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
