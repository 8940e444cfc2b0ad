/** Words that could name a file of the workspace, with a place in it; the host says which exist. */

export interface Candidate {
  /** The words as they stand in the text. */
  text: string;
  index: number;
  path: string;
  /** From 1; 0 for none. */
  line: number;
  column: number;
}

/** Most words in one request. */
export const MAX_PATHS = 200;
export const MAX_PATH = 300;

const SEGMENT = String.raw`[\p{L}\p{N}_@+.$~-]+`;
const PATH = String.raw`(?:[A-Za-z]:[\\/]|[\\/]|(?:\.{1,2}[\\/])+)?(?:${SEGMENT}[\\/])*${SEGMENT}`;
/** ":3", ":3:4", ":3-9", "#L3-L9", "(3)", "(3,4)", and Python's '", line 3' behind a quoted name. */
const PLACE = String.raw`(?::(\d+)(?::(\d+)|-\d+)?|#L(\d+)(?:-L?\d+)?|\((\d+)(?:, ?(\d+))?\)|(?=", line (\d+))|)`;
const WORDS = new RegExp(String.raw`(?<![\p{L}\p{N}_@+.$~\\/:#-])(${PATH})${PLACE}`, 'gu');

/** All that could be a path. In code a bare word may be one, too: "Makefile". */
export function candidates(text: string, code = false): Candidate[] {
  const found: Candidate[] = [];
  for (const match of text.matchAll(WORDS)) {
    const path = (match[1] ?? '').replace(/[.~-]+$/, '');
    const trimmed = (match[1] ?? '').length - path.length;
    if (!plausible(path, code)) continue;
    // With a full stop behind it there is no line behind it either.
    const line = trimmed > 0 ? 0 : Number(match[2] ?? match[4] ?? match[5] ?? match[7] ?? 0);
    found.push({
      text: trimmed > 0 ? path : match[0],
      index: match.index,
      path,
      line,
      column: trimmed > 0 ? 0 : Number(match[3] ?? match[6] ?? 0),
    });
  }
  return found;
}

function plausible(path: string, code: boolean): boolean {
  if (path.length < 2 || path.length > MAX_PATH || /^[\d.]+$/.test(path)) return false;
  if (/[\\/]/.test(path)) return /[\p{L}\p{N}]/u.test(path);
  return /\.[\p{L}_][\p{L}\p{N}_]{0,11}$/u.test(path) || (code && /^[.\p{Lu}]/u.test(path));
}

/** What a click on it opens. */
export function hrefOf({ path, line, column }: Candidate): string {
  if (line === 0) return path;
  return column === 0 ? `${path}:${line}` : `${path}:${line}:${column}`;
}
