/** Which links of a reply may be opened, and how. Everything else stays plain text. */

export type Link =
  | { kind: 'external'; url: string }
  | { kind: 'file'; path: string; line: number | null; column: number | null };

const EXTERNAL = new Set(['http:', 'https:', 'mailto:']);
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WINDOWS_DRIVE = /^[a-z]:[\\/]/i;
/** "main.py:3" is a place in a file, not an address with the scheme "main.py". */
const FILE_POSITION = /^[^/\\:]*\.[a-z0-9]+:\d+(?::\d+)?$/i;
const POSITION = /(?:#L(\d+)(?:C(\d+))?(?:-L?\d+(?:C\d+)?)?|:(\d+)(?::(\d+))?)$/;

/** Null for anything that must not be opened: scripts, commands, data, other schemes. */
export function parseLink(href: string): Link | null {
  const text = href.trim();
  // Browsers pass over control characters, so that "java\tscript:" is a scheme; and no
  // file has them in its name.
  if (text === '' || hasControls(text) || hasControls(decode(text))) return null;
  if (text.startsWith('#') || text.startsWith('//') || text.startsWith('\\\\')) return null;
  if (WINDOWS_DRIVE.test(text)) return file(text);
  if (SCHEME.test(text) && !FILE_POSITION.test(text)) return withScheme(text);
  return file(decode(text));
}

function withScheme(text: string): Link | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  if (url.protocol === 'file:') {
    if (url.host !== '' && url.host !== 'localhost') return null;
    return file(decode(url.pathname) + url.hash);
  }
  return EXTERNAL.has(url.protocol) ? { kind: 'external', url: url.href } : null;
}

function file(text: string): Link | null {
  const position = POSITION.exec(text);
  const path = (position === null ? text : text.slice(0, position.index)).replace(/[?#].*$/, '');
  if (path === '' || path.startsWith('\\\\') || path.startsWith('//')) return null;
  return {
    kind: 'file',
    path,
    line: number(position?.[1] ?? position?.[3]),
    column: number(position?.[2] ?? position?.[4]),
  };
}

function hasControls(text: string): boolean {
  return /[\p{Cc}\u2028\u2029]/u.test(text);
}

function number(text: string | undefined): number | null {
  return text === undefined ? null : Number.parseInt(text, 10);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
