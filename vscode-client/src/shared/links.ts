/** Which links of a reply may be opened, and how. Everything else stays plain text. */

export type Link =
  | { kind: 'external'; url: string }
  | { kind: 'file'; path: string; line: number | null; column: number | null };

const EXTERNAL = new Set(['http:', 'https:', 'mailto:']);
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WINDOWS_DRIVE = /^[a-z]:[\\/]/i;
const POSITION = /(?:#L(\d+)(?:C(\d+))?(?:-L?\d+(?:C\d+)?)?|:(\d+)(?::(\d+))?)$/;

/** Null for anything that must not be opened: scripts, commands, data, other schemes. */
export function parseLink(href: string): Link | null {
  // Browsers ignore control characters and blanks inside a scheme, so "java\tscript:" is one.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const text = href.replace(/[\u0000-\u0020\u007f-\u009f\u00a0\u2028\u2029]+/g, (found) =>
    /^ +$/.test(found) ? found : '',
  );
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith('//')) return null;
  if (WINDOWS_DRIVE.test(trimmed)) return file(trimmed);
  if (SCHEME.test(trimmed) && !/^[^/\\]*\.[a-z0-9]+:\d+/i.test(trimmed)) {
    let url: URL;
    try {
      url = new URL(trimmed);
    } catch {
      return null;
    }
    if (url.protocol === 'file:') {
      if (url.host !== '' && url.host !== 'localhost') return null;
      return file(decode(url.pathname) + url.hash);
    }
    return EXTERNAL.has(url.protocol) ? { kind: 'external', url: url.href } : null;
  }
  return file(decode(trimmed));
}

function file(text: string): Link | null {
  const position = POSITION.exec(text);
  const path = (position === null ? text : text.slice(0, position.index)).replace(/[?#].*$/, '');
  if (path === '' || path.includes('\0') || path.startsWith('\\\\')) return null;
  return {
    kind: 'file',
    path,
    line: number(position?.[1] ?? position?.[3]),
    column: number(position?.[2] ?? position?.[4]),
  };
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
