/** Token counts as people read them, and how full the window is. */
import type { Budget } from '../protocol';
import { decimal, t, whole } from './l10n';

/** 999 → "999", 12400 → "12.4k", 200000 → "200k", 1250000 → "1.25M". */
export function tokens(count: number): string {
  if (!Number.isFinite(count) || count < 0) return '0';
  if (count < 1_000) return String(Math.round(count));
  if (count < 999_500) return `${trim(count / 1_000, count < 99_950 ? 1 : 0)}k`;
  return `${trim(count / 1_000_000, 2)}M`;
}

function trim(value: number, digits: number): string {
  return decimal(value, digits);
}

export type Level = 'normal' | 'warning' | 'error';

/** Warning from 75 %, error from 90 % of the window. */
export function level(percent: number): Level {
  if (percent >= 90) return 'error';
  if (percent >= 75) return 'warning';
  return 'normal';
}

/** Whole percent, but never 0 for something and never 100 for less than all. */
export function percent(value: number): string {
  if (!(value > 0)) return '0 %';
  if (value < 1) return '<1 %';
  if (value < 100 && value > 99) return '99 %';
  return `${Math.round(value)} %`;
}

/** "12.4k / 200k". */
export function summary(budget: Budget): string {
  return `${tokens(budget.used)} / ${tokens(budget.maxInputTokens)}`;
}

/** "12,400": exact, so that a column of them can be added up. */
export function exact(count: number): string {
  return whole(count);
}

export interface BudgetRow {
  name: string;
  tokens: number;
  share: number;
  detail: string;
}

/**
 * The sections that are not empty, with their share of the window; their sum is ``used``.
 * ``message`` gives the first words of a message.
 */
export function rows(budget: Budget, message: (id: string) => string = () => ''): BudgetRow[] {
  return budget.sections
    .filter((section) => section.tokens !== 0)
    .map((section) => ({
      name: sectionName(section.name),
      tokens: section.tokens,
      share: budget.maxInputTokens > 0 ? (100 * section.tokens) / budget.maxInputTokens : 0,
      detail: inWords(section.detail, message),
    }));
}

function sectionName(section: string): string {
  const names: Readonly<Record<string, string>> = {
    tools: t('Tools'),
    system: t('System'),
    instructions: t('Instructions'),
    memos: t('Memos'),
    state: t('State'),
    symbols: t('Symbols'),
    files: t('Files'),
    urls: t('Web pages'),
    retrieved: t('Retrieved'),
    summaries: t('Summaries'),
    history: t('History'),
    prompt: t('Prompt'),
  };
  return names[section] ?? section.charAt(0).toUpperCase() + section.slice(1);
}

/** Readable names for item keys that mean nothing to users. */
function inWords(detail: string, message: (id: string) => string): string {
  const names: Readonly<Record<string, string>> = {
    'system:head': t('instructions'),
    'system:history': t('how STATE is kept'),
    'system:updates': t('how changes are told'),
    'request:frame': t('form of the request'),
    'scaffold:orientation': t('orientation'),
    'tree:workspace': t('file tree'),
    'state:anchor': t('STATE'),
  };
  return detail
    .replace(/^tools [\d,]+$/, '')
    .replace(/\b(?:system|request|scaffold|state|tree|symbols|history):[^\s,]+/g, (key) => {
      const rest = key.slice(key.indexOf(':') + 1);
      if (key === 'symbols:./') return t('map of the top folder');
      if (key.startsWith('symbols:')) return t('map of {0}', rest);
      if (!key.startsWith('history:')) return names[key] ?? key;
      const words = message(rest);
      return words === '' ? t('a message') : t('“{0}”', words);
    })
    .replace(/ and (\d+) more$/, (_, count) => t(', {0} more', count));
}
