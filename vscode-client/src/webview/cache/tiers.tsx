/** A tier as a row: its bar, and its items as a table once it is opened. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CacheItem, CacheTier, CacheTiers } from '../../protocol';
import { exact, tokens } from '../../shared/budget';
import { share, type Which } from '../../shared/cache';
import { tierTitle } from '../../shared/tierWords';
import { Icon } from '../components/parts';
import { words } from './texts';

/** Conversations are long; the newest items are shown first. */
const SHOWN = 60;

type Part = 'cached' | 'fresh' | 'stale' | 'delta';

/** The kind of a piece in a bar. Replaced bytes are waste, cached or not. */
function partOf(item: CacheItem): Part {
  if (item.stale) return 'stale';
  if (item.kind !== 'item') return 'delta';
  return item.cached ? 'cached' : 'fresh';
}

function sums(items: readonly CacheItem[]): Record<Part, number> {
  const found: Record<Part, number> = { cached: 0, fresh: 0, stale: 0, delta: 0 };
  for (const item of items) found[partOf(item)] += item.tokens;
  return found;
}

function barLabel(
  items: readonly CacheItem[],
  tier: { tokens: number; cachedTokens: number },
  which: Which,
): string {
  const { stale, delta } = sums(items);
  return words.bar(
    which,
    exact(tier.cachedTokens),
    exact(tier.tokens - tier.cachedTokens),
    exact(stale),
    exact(delta),
  );
}

/** Runs of like pieces, in their order. */
function runs(items: readonly CacheItem[]): { part: Part; tokens: number; marked: boolean }[] {
  const found: { part: Part; tokens: number; marked: boolean }[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (last !== undefined && last.part === partOf(item) && !last.marked) {
      last.tokens += item.tokens;
      last.marked = item.marked;
    } else found.push({ part: partOf(item), tokens: item.tokens, marked: item.marked });
  }
  return found;
}

function Segments({ items, whole }: { items: readonly CacheItem[]; whole: number }): JSX.Element {
  return (
    <>
      {runs(items).map((run, place) => (
        <span
          key={place}
          class={`segment ${run.part}${run.marked ? ' marked' : ''}`}
          style={{ width: `${share(run.tokens, whole)}%` }}
        />
      ))}
    </>
  );
}

/** All of the request in one bar, in the order of its bytes. */
export function WholeBar({ tiers }: { tiers: CacheTiers }): JSX.Element {
  return (
    <div
      class="whole"
      role="img"
      aria-label={`${words.whole(exact(tiers.tokens))}: ${barLabel(
        tiers.tiers.flatMap((tier) => tier.items),
        tiers,
        tiers.which,
      )}`}
    >
      {tiers.tiers.map((tier) => (
        <span
          key={tier.tier}
          class="tier-part"
          title={`${words.tier(tier.tier)} · ${tierTitle(tier.tier)}: ${exact(tier.tokens)}`}
          style={{ width: `${share(tier.tokens, tiers.tokens)}%` }}
        >
          <span class="bar">
            <Segments items={tier.items} whole={tier.tokens} />
          </span>
          <span class="tier-name">{words.tier(tier.tier)}</span>
        </span>
      ))}
    </div>
  );
}

export function Legend({ tiers }: { tiers: CacheTiers }): JSX.Element {
  const items = tiers.tiers.flatMap((tier) => tier.items);
  const found = sums(items);
  const parts = (['cached', 'fresh', 'delta', 'stale'] as const).filter((one) => found[one] > 0);
  return (
    <ul class="legend">
      {parts.map((part) => (
        <li key={part}>
          <span class={`swatch ${part}`} aria-hidden="true" />{' '}
          {part === 'fresh' ? words.fresh[tiers.which] : words[part]} {tokens(found[part])}
        </li>
      ))}
      {items.some((item) => item.marked) && (
        <li>
          <span class="swatch marker" aria-hidden="true" /> {words.marker}
        </li>
      )}
    </ul>
  );
}

interface TierProps {
  tier: CacheTier;
  which: Which;
  policy: string;
  /** Tokens of the largest tier: the length of a full bar. */
  most: number;
  open: boolean;
  toggle: () => void;
  openFile: (path: string) => void;
}

export function TierRow(props: TierProps): JSX.Element {
  const { tier, which, policy, most, open, toggle, openFile } = props;
  const id = `items-${tier.tier}`;
  return (
    <div class="tier" data-testid="tier" data-tier={tier.tier}>
      <button
        type="button"
        class="tier-head"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={toggle}
      >
        <Icon name={open ? 'chevron-down' : 'chevron-right'} />
        <span class="tier-title">
          <strong>{words.tier(tier.tier)}</strong> <span class="quiet">{tierTitle(tier.tier)}</span>
        </span>
        <span class="bar-frame">
          <span
            class="bar"
            role="img"
            aria-label={barLabel(tier.items, tier, which)}
            style={{ width: `${share(tier.tokens, most)}%` }}
          >
            <Segments items={tier.items} whole={tier.tokens} />
          </span>
        </span>
        <span class="number">{exact(tier.tokens)}</span>
        <span class="count quiet">{words.items(tier.items.length)}</span>
      </button>
      {open && <Items id={id} tier={tier} policy={policy} openFile={openFile} />}
    </div>
  );
}

interface ItemsProps {
  id: string;
  tier: CacheTier;
  policy: string;
  openFile: (path: string) => void;
}

function Items({ id, tier, policy, openFile }: ItemsProps): JSX.Element {
  const [all, setAll] = useState(false);
  const hidden = all ? 0 : Math.max(0, tier.items.length - SHOWN);
  const counter = policy === 'counter';
  const { columns } = words;
  const label = `${words.tier(tier.tier)}: ${tierTitle(tier.tier)}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard
    <section id={id} class="items" tabIndex={0} aria-label={label}>
      {hidden > 0 && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          {words.more(hidden)}
        </button>
      )}
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{columns.item}</th>
            <th scope="col" class="number">
              {columns.tokens}
            </th>
            <th scope="col" class="number" title={counter ? words.nTip : words.ageTip}>
              {counter ? columns.n : columns.age}
            </th>
            <th scope="col" class="number" title={words.hazardTip}>
              {columns.hazard}
            </th>
            <th scope="col">{columns.changed}</th>
            <th scope="col">{columns.cached}</th>
          </tr>
        </thead>
        <tbody>
          {tier.items.slice(hidden).map((item, place) => (
            <ItemRow key={`${item.key} ${place}`} item={item} openFile={openFile} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ItemRow({
  item,
  openFile,
}: {
  item: CacheItem;
  openFile: (path: string) => void;
}): JSX.Element {
  const notes = [words.kinds[item.kind], item.stale ? words.replaced : ''].filter(
    (one) => one !== '',
  );
  return (
    <tr class={`item ${partOf(item)}`} data-testid="item" data-key={item.key}>
      <th scope="row">
        <span class={`swatch ${partOf(item)}`} aria-hidden="true" />
        {item.path === '' ? (
          <span title={item.key}>{item.label}</span>
        ) : (
          <button
            type="button"
            class="link"
            title={words.open(item.path)}
            onClick={() => openFile(item.path)}
          >
            {item.label}
          </button>
        )}
        {notes.length > 0 && <span class="quiet"> {notes.join(', ')}</span>}
      </th>
      <td class="number">{exact(item.tokens)}</td>
      <td class="number">{item.age > 0 ? item.age : ''}</td>
      <td class="number">{item.hazard > 0 ? `${Math.round(100 * item.hazard)} %` : ''}</td>
      <td>
        {item.change !== '' && (
          <span class={`change ${item.change}`}>{words.changes[item.change]}</span>
        )}
      </td>
      <td>
        <span
          role="img"
          aria-label={item.cached ? words.yes : words.no}
          class={item.cached ? 'codicon codicon-check' : 'codicon codicon-dash'}
        />
        {item.marked && (
          <span
            role="img"
            aria-label={words.breakpoint}
            title={words.breakpoint}
            class="codicon codicon-bookmark"
          />
        )}
      </td>
    </tr>
  );
}
