/** What each turn sent and cost: sums over its requests, for charts and for export. */
import type { RequestStats } from '../protocol';

export interface TurnFigures {
  /** From 1, counted over the requests that are known. */
  number: number;
  turnId: string;
  at: string;
  model: string;
  requests: number;
  /** Input of the turn's last and largest view of the conversation, in tokens. */
  size: number;
  window: number;
  /** Sums over the turn's requests, in tokens; null where the provider said nothing. */
  input: number;
  output: number;
  read: number | null;
  written: number | null;
  /** US dollars; null without known prices. */
  cost: number | null;
  saved: number | null;
  /** Of the turn's last request, from the most stable to the least. */
  tiers: readonly { tier: string; name: string; tokens: number }[];
}

export function turnFigures(requests: readonly RequestStats[], first = 1): TurnFigures[] {
  const turns = new Map<string, RequestStats[]>();
  for (const request of requests) {
    turns.set(request.turnId, [...(turns.get(request.turnId) ?? []), request]);
  }
  return [...turns].map(([turnId, parts], place) => {
    const last = parts.at(-1) as RequestStats;
    return {
      number: first + place,
      turnId,
      at: last.at,
      model: last.model,
      requests: parts.length,
      size: last.inputTokens,
      window: last.windowTokens,
      input: sum(parts, (one) => one.inputTokens) ?? 0,
      output: sum(parts, (one) => one.outputTokens) ?? 0,
      read: sum(parts, (one) => known(one.readTokens)),
      written: sum(parts, (one) => known(one.writtenTokens)),
      cost: sum(parts, (one) => one.cost ?? null),
      saved: sum(parts, (one) => one.saved ?? null),
      tiers: last.tiers,
    };
  });
}

/** Null if one of them is not known: a partial sum would be wrong. */
function sum(
  parts: readonly RequestStats[],
  value: (one: RequestStats) => number | null,
): number | null {
  let total = 0;
  for (const part of parts) {
    const one = value(part);
    if (one === null) return null;
    total += one;
  }
  return total;
}

function known(tokens: number): number | null {
  return tokens < 0 ? null : tokens;
}

/** Share of the turn's input that was read from the cache, in percent; null if not known. */
export function hitRate(turn: TurnFigures): number | null {
  return turn.read === null || turn.input <= 0
    ? null
    : Math.min((100 * turn.read) / turn.input, 100);
}

const PLAIN: readonly [string, (turn: TurnFigures) => string | number | null][] = [
  ['turn', (turn) => turn.number],
  ['turn_id', (turn) => turn.turnId],
  ['time', (turn) => turn.at],
  ['model', (turn) => turn.model],
  ['requests', (turn) => turn.requests],
  ['size_tokens', (turn) => turn.size],
  ['window_tokens', (turn) => turn.window],
  ['input_tokens', (turn) => turn.input],
  ['output_tokens', (turn) => turn.output],
  ['cache_read_tokens', (turn) => turn.read],
  ['cache_written_tokens', (turn) => turn.written],
  ['cost_usd', (turn) => turn.cost],
  ['saved_usd', (turn) => turn.saved],
];

/** Tiers that occur, from the most stable to the least. */
export function tierNames(turns: readonly TurnFigures[]): string[] {
  const order: string[] = [];
  for (const { tiers } of turns) {
    tiers.forEach(({ tier }, place) => {
      if (order.includes(tier)) return;
      const before = tiers[place - 1]?.tier;
      order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, tier);
    });
  }
  return order;
}

/** RFC 4180, a line per turn, empty where a figure is not known. */
export function csv(turns: readonly TurnFigures[]): string {
  const names = tierNames(turns);
  const rows: (string | number | null)[][] = [
    [...PLAIN.map(([name]) => name), ...names.map((name) => `tier_${name}_tokens`)],
    ...turns.map((turn) => [
      ...PLAIN.map(([, value]) => value(turn)),
      ...names.map((name) =>
        turn.tiers.length === 0 ? null : (turn.tiers.find((one) => one.tier === name)?.tokens ?? 0),
      ),
    ]),
  ];
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  // A spreadsheet would evaluate a cell that begins like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
