/** Charts of the session's turns, with a table of the same figures. */
import { h, type JSX } from 'preact';
import type { RequestStats } from '../../protocol';
import { exact, percent } from '../../shared/budget';
import { type CacheToHost, figure, money } from '../../shared/cache';
import { type Chart, charts, MAX_TURNS } from '../../shared/charts';
import type { Shape } from '../../shared/svg';
import { hitRate, type TurnFigures, turnFigures } from '../../shared/turns';
import { Button, Icon } from '../components/parts';
import { words } from './texts';

interface Props {
  requests: readonly RequestStats[];
  post: (message: CacheToHost) => void;
}

export function Charts({ requests, post }: Props): JSX.Element | null {
  const turns = turnFigures(requests);
  if (turns.length === 0) return null;
  return (
    <section aria-labelledby="turns" data-testid="charts">
      <header class="bar-head">
        <h2 id="turns">{words.turns}</h2>
        <span class="exports">
          {(['svg', 'csv'] as const).map((format) => (
            <Button key={format} secondary onClick={() => post({ type: 'export', format })}>
              <Icon name="export" /> {words.export(format.toUpperCase())}
            </Button>
          ))}
        </span>
      </header>
      {turns.length > MAX_TURNS && <p class="quiet">{words.newestTurns(MAX_TURNS)}</p>}
      <div class="charts">
        {charts(turns).map((chart) => (
          <Figure key={chart.id} chart={chart} />
        ))}
      </div>
      <details class="decisions">
        <summary>{words.asTable}</summary>
        <Table turns={turns} />
      </details>
    </section>
  );
}

function Figure({ chart }: { chart: Chart }): JSX.Element {
  const { drawing } = chart;
  return (
    <figure data-chart={chart.id}>
      <figcaption>{chart.title}</figcaption>
      {h('svg', { ...drawing.attrs, role: 'img', 'aria-label': chart.label }, ...elements(drawing))}
    </figure>
  );
}

function elements(drawing: Shape): (JSX.Element | string)[] {
  return drawing.kids.map((kid) =>
    typeof kid === 'string' ? kid : h(kid.tag, { ...kid.attrs }, ...elements(kid)),
  );
}

function Table({ turns }: { turns: readonly TurnFigures[] }): JSX.Element {
  const { columns } = words.turnTable;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard
    <section class="items turn-table" tabIndex={0} aria-label={words.asTable}>
      <table aria-label={words.turns}>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {turns.map((turn) => {
            const rate = hitRate(turn);
            return (
              <tr key={turn.turnId}>
                <th scope="row" class="number">
                  {turn.number}
                </th>
                <td class="number">{exact(turn.size)}</td>
                <td class="number">
                  {turn.window > 0 ? percent((100 * turn.size) / turn.window) : '–'}
                </td>
                <td class="number">{figure(turn.read ?? -1)}</td>
                <td class="number">{rate === null ? '–' : percent(rate)}</td>
                <td class="number">{exact(turn.output)}</td>
                <td class="number">{turn.cost === null ? '–' : money(turn.cost)}</td>
                <td class="number">{savedOf(turn.saved)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** What the cache saved; in words where it has cost more so far. */
function savedOf(amount: number | null): string {
  if (amount === null) return '–';
  return amount < 0 ? words.lost(money(-amount)) : money(amount);
}
