/** Four charts of a session's turns. Colours are classes; whoever shows the drawing defines them. */
import { percent, tokens } from './budget';
import { money } from './cache';
import { t } from './l10n';
import { type Shape, serialise, shape } from './svg';
import { tierTitle } from './tierWords';
import { hitRate, type TurnFigures, tierNames } from './turns';

const WIDTH = 480;
const HEIGHT = 190;
/** Height of a line of the legend. */
const LINE = 16;
const LEFT = 58;
const TOP = 26;
const BOTTOM = 22;
/** More bars than this could not be told apart; the newest are drawn. */
export const MAX_TURNS = 120;
const MAX_BAR = 30;
const COLOURS = 8;

export interface Chart {
  id: 'budget' | 'tiers' | 'cost' | 'hits';
  title: string;
  /** The drawing in a sentence. */
  label: string;
  drawing: Shape;
}

interface Bar {
  /** From the bottom; null where nothing is known. */
  parts: { value: number; colour: string }[] | null;
  tip: string;
}

interface Plan {
  bars: readonly Bar[];
  legend: readonly [colour: string, name: string][];
  format: (value: number) => string;
  most?: number;
  /** A horizontal line, unless it is far above everything. */
  limit?: { value: number; name: string };
}

/** None if no turn is known. */
export function charts(all: readonly TurnFigures[]): Chart[] {
  const turns = all.slice(-MAX_TURNS);
  const newest = turns.at(-1);
  if (newest === undefined) return [];
  const names = tierNames(turns);
  const count = turns.length === 1 ? t('1 turn') : t('{0} turns', turns.length);
  const found: Chart[] = [];
  const add = (id: Chart['id'], title: string, label: string, plan: Plan): void => {
    found.push({ id, title, label: `${title}, ${count}. ${label}`, drawing: plot(turns, plan) });
  };

  const most = Math.max(...turns.map((turn) => turn.size));
  add(
    'budget',
    t('Budget over turns'),
    t(
      'The newest request had {0} tokens, {1}; the largest {2}.',
      tokens(newest.size),
      of(newest.size, newest.window),
      tokens(most),
    ),
    {
      bars: turns.map((turn) => {
        const rate = hitRate(turn);
        const cached = rate === null ? 0 : Math.round((turn.size * rate) / 100);
        return {
          parts: [
            { value: cached, colour: 'cached' },
            { value: turn.size - cached, colour: rate === null ? 'plain' : 'fresh' },
          ],
          tip: `${t('{0} tokens', tokens(turn.size))}, ${of(turn.size, turn.window)}`,
        };
      }),
      legend: turns.every((turn) => turn.read === null)
        ? [['plain', t('input')]]
        : [
            ['cached', t('read from cache')],
            ['fresh', t('sent anew')],
          ],
      format: tokens,
      limit: { value: newest.window, name: t('window {0}', tokens(newest.window)) },
    },
  );

  if (names.length > 0) {
    const colour = new Map(names.map((name, place) => [name, `tier${place % COLOURS}`]));
    const parts = newest.tiers.map((one) => `${tierTitle(one.tier)} ${tokens(one.tokens)}`);
    add('tiers', t('Tiers'), t('The newest request: {0}.', parts.join(', ')), {
      bars: turns.map((turn) => ({
        parts:
          turn.tiers.length === 0
            ? null
            : turn.tiers.map((one) => ({ value: one.tokens, colour: colour.get(one.tier) ?? '' })),
        tip: turn.tiers.map((one) => `${tierTitle(one.tier)} ${tokens(one.tokens)}`).join(', '),
      })),
      legend: [...colour].map(([name, one]) => [one, tierTitle(name)]),
      format: tokens,
    });
  }

  if (turns.some((turn) => turn.cost !== null)) {
    const total = turns.reduce((sum, turn) => sum + (turn.cost ?? 0), 0);
    const saved = turns.reduce((sum, turn) => sum + (turn.saved ?? 0), 0);
    add(
      'cost',
      t('Cost per turn'),
      saved < 0
        ? t('{0} in all, {1} more than with no cache.', money(total), money(-saved))
        : t('{0} in all, {1} saved by the cache.', money(total), money(saved)),
      {
        bars: turns.map((turn) => ({
          parts:
            turn.cost === null
              ? null
              : [
                  { value: turn.cost, colour: 'cost' },
                  { value: Math.max(turn.saved ?? 0, 0), colour: 'saved' },
                ],
          tip:
            (turn.saved ?? 0) < 0
              ? t(
                  '{0}, {1} more than with no cache',
                  money(turn.cost ?? 0),
                  money(-(turn.saved ?? 0)),
                )
              : t('{0}, {1} saved', money(turn.cost ?? 0), money(turn.saved ?? 0)),
        })),
        legend: [
          ['cost', t('paid')],
          ['saved', t('saved by the cache')],
        ],
        format: money,
      },
    );
  }

  const rates = turns.map(hitRate).filter((rate) => rate !== null);
  if (rates.length > 0) {
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
    add(
      'hits',
      t('Cache hits per turn'),
      t(
        '{0} of the input on average, {1} of the newest.',
        percent(mean),
        percent(rates.at(-1) ?? 0),
      ),
      {
        bars: turns.map((turn) => {
          const rate = hitRate(turn);
          return {
            parts: rate === null ? null : [{ value: rate, colour: 'cached' }],
            tip: rate === null ? t('not reported') : percent(rate),
          };
        }),
        legend: [['cached', t('share of the input read from the cache')]],
        format: percent,
        most: 100,
      },
    );
  }
  return found;
}

function of(size: number, window: number): string {
  return window > 0
    ? t('{0} of {1}', percent((100 * size) / window), tokens(window))
    : t('of an unknown window');
}

/** 1, 2 or 5 times a power of ten, at least ``value``. */
export function ceiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((one) => one * power >= value * 0.999_999) ?? 10) * power;
}

function plot(turns: readonly TurnFigures[], plan: Plan): Shape {
  const { bars, format } = plan;
  const sums = bars.map(({ parts }) => (parts ?? []).reduce((sum, one) => sum + one.value, 0));
  const highest = Math.max(...sums, 0);
  const limit = plan.limit !== undefined && plan.limit.value <= 2 * highest ? plan.limit : null;
  const most = plan.most ?? ceiling(Math.max(highest, limit?.value ?? 0));
  const bottom = HEIGHT - BOTTOM;
  const legend = placed(plan.legend);
  const top = TOP + Math.max(0, ...legend.map(({ line }) => line)) * LINE;
  const y = (value: number): number => round(bottom - ((bottom - top) * value) / most);
  const slot = (WIDTH - LEFT - 8) / Math.max(bars.length, 8);
  const width = Math.min(slot * 0.72, MAX_BAR);
  const x = (place: number): number => round(LEFT + slot * place + (slot - width) / 2);
  const kids: Shape[] = [];
  for (const value of [0, most / 2, most]) {
    kids.push(
      shape('line', { class: 'grid', x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value) }),
      shape('text', { class: 'tick', x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, [
        format(value),
      ]),
    );
  }
  const every = Math.ceil(bars.length / 12);
  bars.forEach(({ parts, tip }, place) => {
    const number = turns[place]?.number ?? place + 1;
    let base = 0;
    const rects = (parts ?? []).map(({ value, colour }) => {
      const [low, high] = [y(base), y(base + value)];
      base += value;
      const height = round(low - high);
      return shape('rect', { class: colour, x: x(place), y: high, width: round(width), height });
    });
    if (parts === null) {
      rects.push(
        shape('line', {
          ...{ class: 'unknown', x1: x(place), x2: round(x(place) + width) },
          ...{ y1: bottom - 2, y2: bottom - 2 },
        }),
      );
    }
    kids.push(shape('g', {}, [shape('title', {}, [t('Turn {0}: {1}', number, tip)]), ...rects]));
    if ((bars.length - 1 - place) % every === 0) {
      const at = { x: round(x(place) + width / 2), y: HEIGHT - 6, 'text-anchor': 'middle' };
      kids.push(shape('text', { class: 'tick', ...at }, [String(number)]));
    }
  });
  if (limit !== null) {
    const at = y(limit.value);
    kids.push(
      shape('line', { class: 'limit', x1: LEFT, x2: WIDTH - 8, y1: at, y2: at }),
      shape('text', { class: 'tick', x: WIDTH - 8, y: at - 4, 'text-anchor': 'end' }, [limit.name]),
    );
  }
  for (const { colour, name, left, line } of legend) {
    kids.push(
      shape('rect', { class: colour, x: left, y: 4 + line * LINE, width: 10, height: 10 }),
      shape('text', { class: 'tick', x: left + 14, y: 13 + line * LINE }, [name]),
    );
  }
  return shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart' }, kids);
}

/** The places of a legend's names, on as many lines as they need. */
function placed(
  legend: Plan['legend'],
): { colour: string; name: string; left: number; line: number }[] {
  let [left, line] = [LEFT, 0];
  return legend.map(([colour, name]) => {
    const width = 28 + name.length * 6;
    if (left > LEFT && left + width > WIDTH) [left, line] = [LEFT, line + 1];
    const one = { colour, name, left, line };
    left += width;
    return one;
  });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const STYLE = `text{font:11px sans-serif;fill:#333}.title{font-size:13px;font-weight:bold}
.grid{stroke:#ddd}.unknown{stroke:#999;stroke-dasharray:2 2}.limit{stroke:#c33;stroke-dasharray:5 3}
.cached,.saved{fill:#2f7d4f}.fresh,.cost{fill:#c4661f}.saved{fill-opacity:.45}.plain{fill:#2566b0}
.tier0{fill:#6b4fa3}.tier1{fill:#2f7d4f}.tier2{fill:#2566b0}.tier3{fill:#c4661f}.tier4{fill:#a88a10}.tier5{fill:#b03030}
.tier6{fill:#7fb2d9}.tier7{fill:#777}`;

/** All charts in one self-contained file, one below the other. */
export function svgFile(all: readonly TurnFigures[], title: string): string {
  const found = charts(all);
  const step = HEIGHT + 34;
  const height = 34 + step * found.length;
  const kids: Shape[] = [
    shape('style', {}, [STYLE]),
    shape('rect', { width: WIDTH + 24, height, fill: '#ffffff' }),
    shape('text', { class: 'title', x: 12, y: 22 }, [title]),
  ];
  found.forEach((chart, place) => {
    const top = 34 + step * place;
    kids.push(
      shape('text', { class: 'title', x: 12, y: top + 16 }, [chart.title]),
      shape(
        'svg',
        { x: 12, y: top + 24, width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
        [shape('desc', {}, [chart.label]), ...chart.drawing.kids],
      ),
    );
  });
  const size = { width: WIDTH + 24, height, viewBox: `0 0 ${WIDTH + 24} ${height}` };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${serialise(
    shape('svg', { xmlns: 'http://www.w3.org/2000/svg', ...size }, kids),
  )}\n`;
}
