/**
 * The Context view's content as data: groups, entries, what each says and what can be done with it.
 */
import type {
  FileInfo,
  InstructionInfo,
  PinInfo,
  PinsResult,
  PlanInfo,
  RetrievalCandidate,
  RetrievalInfo,
  UrlInfo,
} from '../protocol';
import { t } from './l10n';

export type GroupName = 'instructions' | 'pinned' | 'selected' | 'suggested' | 'retrieved' | 'urls';

/** Which actions an entry has, as the view's menus name them in `viewItem`. */
export type EntryKind =
  | 'pinnedFile'
  | 'file'
  | 'pinnedCard'
  | 'suggestion'
  | 'found'
  | 'page'
  | 'instructions';

export interface Entry {
  group: GroupName;
  kind: EntryKind;
  /** Key of the item in plans. */
  key: string;
  label: string;
  path: string;
  symbol: string;
  /** Where it is shown; for pages the web address. */
  uri: string;
  /** First line, from 1; 0 for a whole file. */
  line: number;
  tokens: number;
  tier: string;
  /** Why it is there. */
  why: string;
  /** Why it is not sent; empty if it is. */
  problem: string;
  /** What is missing, if only its beginning is sent. */
  cut: string;
  /** State of its switch: whether it is used; null if it has no switch. */
  used: boolean | null;
}

export interface Group {
  name: GroupName;
  entries: Entry[];
  tokens: number;
}

export interface Sources {
  files: readonly FileInfo[];
  pins: PinsResult;
  retrieval: RetrievalInfo | null;
  urls: readonly UrlInfo[];
  plan: PlanInfo | null;
  instructions: readonly InstructionInfo[];
}

/** Groups with entries, ordered by how firmly the entries are held. */
export function groups(sources: Sources): Group[] {
  const planned = new Map(sources.plan?.entries.map((entry) => [entry.key, entry]) ?? []);
  const placed = (entry: Entry): Entry => {
    const known = planned.get(entry.key);
    return {
      ...entry,
      tokens: entry.tokens || (known?.included ? known.tokens : 0),
      tier: entry.tier || known?.tier || '',
    };
  };
  const pinnedFiles = sources.files.filter((file) => file.pin !== 'none');
  const pinnedCards = sources.pins.pins.filter((pin) => pin.symbol !== '');
  const held = new Set(pinnedCards.map((pin) => pin.key));
  const found = sources.retrieval?.candidates.filter(
    (candidate) => candidate.included && !held.has(candidate.key),
  );
  const all: [GroupName, Entry[]][] = [
    ['instructions', sources.instructions.map(fromInstructions)],
    ['pinned', [...pinnedFiles.map(fromFile), ...pinnedCards.map((pin) => fromPin(pin, 'pinned'))]],
    ['selected', sources.files.filter((file) => file.pin === 'none').map(fromFile)],
    ['suggested', sources.pins.suggested.map((pin) => fromPin(pin, 'suggested'))],
    ['retrieved', (found ?? []).map(fromCandidate)],
    ['urls', sources.urls.map(fromPage)],
  ];
  return all
    .filter(([, entries]) => entries.length > 0)
    .map(([name, raw]) => {
      const entries = raw.map(placed);
      const sent = name === 'suggested' ? [] : entries.filter(({ used }) => used !== false);
      const tokens = sent.reduce((sum, one) => sum + one.tokens, 0);
      return { name, entries, tokens };
    });
}

function fromFile(file: FileInfo): Entry {
  const pinned = file.pin !== 'none';
  return {
    group: pinned ? 'pinned' : 'selected',
    kind: pinned ? 'pinnedFile' : 'file',
    key: `file:${file.path}`,
    label: file.path,
    path: file.path,
    symbol: '',
    uri: file.uri,
    line: 0,
    tokens: file.tokens,
    tier: file.tier,
    why: file.origin,
    problem: file.state === 'ok' ? '' : file.reason,
    cut: file.state === 'ok' ? file.reason : '',
    used: null,
  };
}

function fromPin(pin: PinInfo, group: 'pinned' | 'suggested'): Entry {
  return {
    group,
    kind: group === 'suggested' ? 'suggestion' : 'pinnedCard',
    key: pin.key,
    label: pin.symbol || pin.path,
    path: pin.path,
    symbol: pin.symbol,
    uri: pin.uri,
    line: pin.line,
    tokens: pin.tokens,
    tier: '',
    why: pin.why,
    problem: '',
    cut: '',
    used: null,
  };
}

function fromCandidate(found: RetrievalCandidate): Entry {
  return {
    group: 'retrieved',
    kind: 'found',
    key: found.key,
    label: found.symbol || found.path,
    path: found.path,
    symbol: found.symbol,
    uri: found.uri,
    line: found.line,
    tokens: found.tokens,
    tier: '',
    why: found.why,
    problem: '',
    cut: '',
    used: null,
  };
}

function fromPage(page: UrlInfo): Entry {
  return {
    group: 'urls',
    kind: 'page',
    key: page.key,
    label: page.title || page.url,
    path: '',
    symbol: '',
    uri: page.url,
    line: 0,
    tokens: page.tokens,
    tier: page.tier,
    why: t('read on {0}', page.fetched.slice(0, 10)),
    problem: '',
    cut: '',
    used: null,
  };
}

function fromInstructions(file: InstructionInfo): Entry {
  const { key, name, uri, tokens, tier, enabled, active, why, folder, globs } = file;
  const scope = globs.length > 0 ? globs.join(', ') : folder;
  return {
    group: 'instructions',
    kind: 'instructions',
    key,
    label: name,
    path: name,
    symbol: '',
    uri,
    line: 0,
    tokens,
    tier,
    why: [file.description, scope === '' ? '' : t('for {0}', scope), active ? '' : why]
      .concat(file.imports.length > 0 ? [t('brings {0}', file.imports.join(', '))] : [])
      .filter((part) => part !== '')
      .join('. '),
    // An instruction file for other files is no problem; its hover says why it is not sent.
    problem: '',
    cut: file.notices.join(' '),
    used: enabled,
  };
}
