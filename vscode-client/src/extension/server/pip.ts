/** How the server's environment is filled with pip, and what pip's output means. Pure. */

export const PIP: readonly string[] = [
  ...['-P', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input'],
  ...['--progress-bar', 'off', '--prefer-binary'],
];

/** The step under way; the caller puts it into words. */
export type Step =
  | { code: 'waiting' | 'creating' | 'server' | 'model' }
  | { code: 'installing' | 'checking' | 'retrying' }
  | { code: 'package'; name: string; size: string }
  /** Bytes of a download that have arrived. */
  | { code: 'far'; bytes: number; of: number };

/** Why pip failed, as far as that decides the advice. */
export type Cause = 'network' | 'certificate' | 'disk' | 'permission' | 'other';

export class InstallError extends Error {
  constructor(
    message: string,
    /** The most telling line of the output. */
    readonly detail: string,
    override readonly cause: Cause = 'other',
  ) {
    super(message);
  }
}

export class CancelledError extends Error {}

export interface Progress {
  step(step: Step): void;
  log(line: string): void;
  signal: AbortSignal;
}

/** The part of pip's output that is worth showing: names and sizes, not dependency resolution. */
export function stepOf(line: string): Step | null {
  const download =
    /^\s*Downloading (\S+?)(?:-[^-\s]*)?(?:-\S+)?\.(?:whl|tar\.gz)(?: \(([^)]+)\))?/.exec(line);
  if (download !== null) {
    return { code: 'package', name: download[1] ?? '', size: download[2] ?? '' };
  }
  const far = /^Progress (\d+) of (\d+)$/.exec(line);
  if (far !== null) return { code: 'far', bytes: Number(far[1]), of: Number(far[2]) };
  if (/^Installing collected packages/.test(line)) return { code: 'installing' };
  if (/Retrying \(Retry\(/.test(line)) return { code: 'retrying' };
  return null;
}

/** Pip 24.1 and newer can report a download's progress, a line for each piece. */
export function saysProgress(version: string): boolean {
  const [, major, minor] = /^pip (\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 24 || (Number(major) === 24 && Number(minor) >= 1);
}

export function withProgress(args: readonly string[]): string[] {
  return args.map((word, at) => (args[at - 1] === '--progress-bar' ? 'raw' : word));
}

const CAUSES: readonly [Cause, RegExp][] = [
  ['disk', /No space left on device|Errno 28\b|WinError 112\b|Disk quota exceeded/i],
  ['certificate', /CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError/],
  [
    'network',
    /NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|Max retries exceeded|NameResolutionError|Temporary failure in name resolution|getaddrinfo failed|Network is unreachable|Connection (?:refused|reset|aborted)|RemoteDisconnected|IncompleteRead|ProtocolError|HTTP error 5\d\d|50[234] (?:Server Error|Bad Gateway)/i,
  ],
  ['permission', /PermissionError|Permission denied|Errno 13\b|WinError 5\b/],
];

/** Retries are reported as warnings; the error at the end only says that nothing was found. */
export function causeOf(output: string): Cause {
  return CAUSES.find(([, pattern]) => pattern.test(output))?.[0] ?? 'other';
}

/** The last line about an error, else the last line. */
export function lastError(output: string): string {
  const lines = output.trim().split('\n');
  return (lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? '').trim();
}
