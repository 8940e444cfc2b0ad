/** The cache viewer: the outcome of the newest request, and the tiers of the next one as rows. */
import type { JSX } from 'preact';
import type { CacheReport, CacheTiers, RequestStats, SessionStats } from '../../protocol';
import { exact, percent, tokens } from '../../shared/budget';
import {
  type CacheToHost,
  clock,
  figure,
  money,
  OUTCOME_ICONS,
  outcomeName,
  round,
  share,
  type Which,
} from '../../shared/cache';
import { Icon } from '../components/parts';
import { Charts } from './charts';
import { words } from './texts';
import { Legend, TierRow, WholeBar } from './tiers';

export interface CacheState {
  which: Which;
  /** Tiers whose items are shown. */
  open: Set<string>;
  tiers: CacheTiers | null;
  stats: SessionStats | null;
  requests: readonly RequestStats[];
  error: string;
  /** When the tiers arrived, in milliseconds: the remaining time counts from then. */
  received: number;
}

interface Props {
  state: CacheState;
  post: (message: CacheToHost) => void;
  choose: (which: Which) => void;
  toggle: (tier: string) => void;
  now?: number;
}

export function CacheApp({ state, post, choose, toggle, now }: Props): JSX.Element {
  const { tiers, stats, error } = state;
  const elapsed = ((now ?? Date.now()) - state.received) / 1_000;
  return (
    <main class="cache">
      {error !== '' && (
        <p class="error" role="alert">
          <Icon name="error" /> {error}
        </p>
      )}
      {tiers === null ? (
        error === '' && <p class="quiet">{words.loading}</p>
      ) : (
        <>
          <Outcome report={tiers.report} post={post} />
          {stats !== null && stats.requests > 0 && <Figures stats={stats} />}
          <section aria-labelledby="tiers">
            <header class="bar-head">
              <h2 id="tiers">{words.tiers}</h2>
              <Choice which={state.which} choose={choose} />
            </header>
            {tiers.tiers.length === 0 ? (
              <p class="quiet">{tiers.which === 'last' ? words.nothingSent : words.nothing}</p>
            ) : (
              <>
                <p class="facts" data-testid="facts">
                  {facts(tiers, elapsed).join(' · ')}
                </p>
                <WholeBar tiers={tiers} />
                <Legend tiers={tiers} />
                <div class="rows">
                  {tiers.tiers.map((tier) => (
                    <TierRow
                      key={tier.tier}
                      tier={tier}
                      which={tiers.which}
                      policy={tiers.policy}
                      most={Math.max(...tiers.tiers.map((one) => one.tokens))}
                      open={state.open.has(tier.tier)}
                      toggle={() => toggle(tier.tier)}
                      openFile={(path) => post({ type: 'open', path })}
                    />
                  ))}
                </div>
              </>
            )}
          </section>
          <Decisions tiers={tiers} />
          <Charts requests={state.requests} post={post} />
        </>
      )}
    </main>
  );
}

function Outcome({
  report,
  post,
}: {
  report: CacheReport | null;
  post: Props['post'];
}): JSX.Element {
  if (report === null) return <p class="outcome quiet">{words.noRequest}</p>;
  const known = report.readTokens >= 0;
  return (
    <section class={`outcome ${report.outcome}`} data-testid="outcome" aria-label={words.newest}>
      <h2>
        <Icon name={OUTCOME_ICONS[report.outcome]} /> {outcomeName(report.outcome)}
      </h2>
      <p class="sentence">{report.sentence}</p>
      <dl class="figures">
        <Figure name={words.input} value={exact(report.inputTokens)} />
        <Figure name={words.read} value={figure(report.readTokens)} mark="cached" />
        <Figure name={words.written} value={figure(report.writtenTokens)} />
        <Figure name={words.neither} value={figure(report.uncachedTokens)} />
        {known && (
          <Figure
            name={words.hitRate}
            value={percent(share(report.readTokens, report.inputTokens))}
          />
        )}
        {report.cost > 0 && <Figure name={words.cost} value={money(report.cost)} />}
        {report.cost > 0 && (
          <Figure
            name={report.saved < 0 ? words.costMore : words.saved}
            value={money(Math.abs(report.saved))}
          />
        )}
      </dl>
      <button type="button" class="link" onClick={() => post({ type: 'explain' })}>
        {words.why}
      </button>
    </section>
  );
}

function Figure(props: { name: string; value: string; mark?: string }): JSX.Element {
  return (
    <div class={props.mark === undefined ? 'figure' : `figure ${props.mark}`}>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  );
}

function Figures({ stats }: { stats: SessionStats }): JSX.Element {
  const { keepAlive } = stats;
  const parts = [
    words.requests(stats.requests),
    ...(stats.reported > 0 ? [words.rate(percent(100 * stats.hitRate))] : []),
    ...(stats.priced > 0
      ? [
          words.spent(money(stats.cost)),
          stats.saved < 0 ? words.moreBy(money(-stats.saved)) : words.savedBy(money(stats.saved)),
        ]
      : []),
    ...(keepAlive.requests > 0
      ? [words.kept(keepAlive.requests, money(keepAlive.cost), money(keepAlive.saved))]
      : []),
  ];
  const { decision } = keepAlive;
  return (
    <div class="session" data-testid="session">
      <p>
        <strong>{words.session}</strong> {parts.join(' · ')}
      </p>
      {keepAlive.enabled && decision !== null && (
        <p class="quiet">
          {words.keepAlive} {decision.sentence}
          {numbers(decision.numbers)}
        </p>
      )}
    </div>
  );
}

function Choice({ which, choose }: { which: Which; choose: (which: Which) => void }): JSX.Element {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{words.request}</legend>
      {(['next', 'last'] as const).map((one) => (
        <label key={one} class={one === which ? 'chosen' : ''}>
          <input
            type="radio"
            name="which"
            value={one}
            checked={one === which}
            onChange={() => choose(one)}
          />
          {words.which[one]}
        </label>
      ))}
    </fieldset>
  );
}

function facts(tiers: CacheTiers, elapsed: number): string[] {
  const left = tiers.secondsLeft - elapsed;
  return [
    `${tiers.provider}: ${tiers.model}`,
    words.policy(tiers.policy),
    words.size(tokens(tiers.tokens), percent(share(tiers.cachedTokens, tiers.tokens))),
    ...(tiers.secondsLeft < 0 ? [] : [left > 0 ? words.expires(clock(left)) : words.expired]),
    ...(tiers.ttl === '' ? [] : [words.ttl(tiers.ttl)]),
    ...(tiers.caching === 'none' ? [words.noCache] : []),
  ];
}

function Decisions({ tiers }: { tiers: CacheTiers }): JSX.Element | null {
  if (tiers.decisions.length === 0) return null;
  return (
    <section>
      <details class="decisions">
        <summary>{words.decisions(tiers.decisions.length)}</summary>
        <ul>
          {tiers.decisions.map((decision, place) => (
            <li key={`${decision.code} ${place}`}>
              {decision.sentence}
              <span class="quiet">{numbers(decision.numbers)}</span>
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function numbers(values: Readonly<Record<string, number>>): string {
  const parts = Object.entries(values).map(([name, value]) => `${name} ${round(value)}`);
  return parts.length > 0 ? ` (${parts.join(', ')})` : '';
}
