/** The server's own log, which it writes to standard error, at its own levels. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { LogOutputChannel } from 'vscode';

type Level = 'debug' | 'info' | 'warn' | 'error';

const LEVELS: Readonly<Record<string, Level>> = {
  DEBUG: 'debug',
  INFO: 'info',
  WARNING: 'warn',
  ERROR: 'error',
  CRITICAL: 'error',
};

export function logStream(stream: Readable, log: Pick<LogOutputChannel, Level>): void {
  let level: Level = 'info';
  createInterface({ input: stream }).on('line', (line) => {
    const entry = parseLine(line);
    // Lines without a level belong to the entry before them, such as a traceback.
    level = entry.level ?? level;
    if (entry.text !== '') log[level](entry.text);
  });
}

/** Python's ``2026-01-01 10:00:00,123 WARNING name: text``; the channel adds a time of its own. */
export function parseLine(line: string): { level: Level | null; text: string } {
  const match =
    /^(?:\d{4}-\d\d-\d\d[ T][\d:.,]+\s+)?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b:?\s*(.*)$/.exec(
      line,
    );
  if (match === null) return { level: /^Traceback /.test(line) ? 'error' : null, text: line };
  return { level: LEVELS[match[1] ?? ''] ?? 'info', text: match[2] ?? '' };
}
