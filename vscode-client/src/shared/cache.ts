/** The cache viewer: its messages between webview and host, and how figures are written. */
import * as v from 'valibot';
import type { CacheReport, CacheTiers, RequestStats, SessionStats } from '../protocol';
import { exact } from './budget';
import { decimal, t } from './l10n';

const MAX_NAME = 4_096;
const name = v.pipe(v.string(), v.maxLength(MAX_NAME));
const which = v.picklist(['next', 'last']);

export type Which = v.InferOutput<typeof which>;

const toHost = v.variant('type', [
  /** The webview is drawn, or wants another request's tiers. */
  v.strictObject({ type: v.literal('show'), which }),
  v.strictObject({ type: v.literal('open'), path: name }),
  v.strictObject({ type: v.literal('explain') }),
  v.strictObject({ type: v.literal('export'), format: v.picklist(['svg', 'csv']) }),
]);

export type CacheToHost = v.InferOutput<typeof toHost>;

const item = v.looseObject({ key: v.string(), label: v.string(), tokens: v.number() });
const tier = v.looseObject({
  tier: v.string(),
  name: v.string(),
  tokens: v.number(),
  items: v.array(item),
});

const request = v.looseObject({
  turnId: v.string(),
  windowTokens: v.number(),
  inputTokens: v.number(),
  readTokens: v.number(),
  tiers: v.array(v.looseObject({ tier: v.string(), tokens: v.number() })),
});

const toView = v.variant('type', [
  v.strictObject({
    type: v.literal('tiers'),
    tiers: v.pipe(
      v.looseObject({ which, tokens: v.number(), tiers: v.array(tier) }),
      v.transform((value) => value as unknown as CacheTiers),
    ),
    stats: v.nullable(
      v.pipe(
        v.looseObject({ requests: v.number(), cost: v.number() }),
        v.transform((value) => value as unknown as SessionStats),
      ),
    ),
    requests: v.pipe(
      v.array(request),
      v.transform((value) => value as unknown as RequestStats[]),
    ),
  }),
  v.strictObject({ type: v.literal('error'), text: v.string() }),
]);

export type CacheToView = v.InferOutput<typeof toView>;

export function parseCacheToHost(value: unknown): CacheToHost | null {
  const result = v.safeParse(toHost, value);
  return result.success ? result.output : null;
}

export function parseCacheToView(value: unknown): CacheToView | null {
  const result = v.safeParse(toView, value);
  return result.success ? result.output : null;
}

/** "$1.23", with more digits where the amount is small. */
export function money(dollars: number): string {
  const amount = Math.abs(dollars);
  const sign = dollars < 0 ? '−' : '';
  return `${sign}$${amount >= 1 || amount === 0 ? decimal(amount, 2, 2) : decimal(amount, 4, 4)}`;
}

/** "4:05", "1:02:03": time until something ends. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const two = (value: number): string => String(value).padStart(2, '0');
  const rest = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** Share of a whole in percent, 0 for nothing of nothing. */
export function share(part: number, whole: number): number {
  return whole > 0 ? (100 * part) / whole : 0;
}

type Outcome = CacheReport['outcome'];

export const OUTCOME_ICONS: Readonly<Record<Outcome, string>> = {
  hit: 'pass',
  partial: 'warning',
  miss: 'error',
  first: 'circle-outline',
  unknown: 'question',
  uncached: 'circle-slash',
};

export function outcomeName(outcome: Outcome): string {
  const names: Readonly<Record<Outcome, string>> = {
    hit: t('Cache hit'),
    partial: t('Partial hit'),
    miss: t('Cache miss'),
    first: t('First request'),
    unknown: t('Not reported'),
    uncached: t('Not cached'),
  };
  return names[outcome];
}

/** A known figure, or a dash. */
export function figure(value: number): string {
  return value < 0 ? '–' : exact(value);
}

/** The explanation as a document. */
export function explanation(report: CacheReport, lastMiss: CacheReport | null): string {
  const lines = [`# ${outcomeName(report.outcome)}`, '', report.sentence, ''];
  lines.push(...details(report));
  if (lastMiss !== null && lastMiss.planId !== report.planId) {
    lines.push(
      '',
      `## ${t('The last miss before it')}`,
      '',
      lastMiss.sentence,
      '',
      ...details(lastMiss),
    );
  }
  return `${lines.join('\n')}\n`;
}

function details(report: CacheReport): string[] {
  const rows: [string, string][] = [
    [t('Time'), report.at],
    [t('Model'), `${report.provider}: ${report.model}`],
    [t('Policy'), report.policy],
    [t('Reason'), report.code],
    [t('First item that differs'), report.item === '' ? '' : `\`${report.item}\``],
    [t('Input'), t('{0} tokens', figure(report.inputTokens))],
    [t('Read from the cache'), figure(report.readTokens)],
    [t('Written to the cache'), figure(report.writtenTokens)],
    [t('Neither'), figure(report.uncachedTokens)],
    [t('Cached by the request before'), figure(report.offeredTokens)],
    [t('The same bytes as before'), figure(report.readableTokens)],
    [
      t('Since the cache was used last'),
      report.idleSeconds > 0 ? `${exact(report.idleSeconds)} s` : '',
    ],
    [t('Cost'), report.cost > 0 ? money(report.cost) : ''],
    [
      report.saved < 0 ? t('More than with no cache') : t('Saved by the cache'),
      report.cost > 0 ? money(Math.abs(report.saved)) : '',
    ],
  ];
  const table = rows
    .filter(([, value]) => value !== '')
    .map(([key, value]) => `| ${key} | ${value} |`);
  const out = ['| | |', '| --- | --- |', ...table];
  if (report.decisions.length > 0) {
    out.push('', t('What the policy decided:'), '');
    for (const { sentence, numbers } of report.decisions) {
      const parts = Object.entries(numbers).map(([key, value]) => `${key} ${round(value)}`);
      out.push(`- ${sentence}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`);
    }
  }
  return out;
}

/** Rounded to four significant digits. */
export function round(value: number): string {
  return value !== 0 && Math.abs(value) < 1e15 ? String(Number(value.toPrecision(4))) : '0';
}
