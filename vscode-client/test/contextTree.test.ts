import { describe, expect, it } from 'vitest';
import type { FileInfo, PinInfo, RetrievalCandidate, UrlInfo } from '../src/protocol';
import { groups, type Sources } from '../src/shared/contextTree';

const file = (path: string, changes: Partial<FileInfo> = {}): FileInfo => ({
  path,
  uri: `file:///w/${path}`,
  tokens: 100,
  pin: 'none',
  state: 'ok',
  reason: '',
  tier: '',
  aliases: [],
  origin: 'added by you',
  folder: '',
  dirty: false,
  code: '',
  confirmable: false,
  ...changes,
});

const pin = (path: string, symbol: string, changes: Partial<PinInfo> = {}): PinInfo => ({
  key: symbol === '' ? `file:${path}` : `card:${path}#${symbol}`,
  path,
  uri: `file:///w/${path}`,
  pin: 'sticky',
  symbol,
  line: 3,
  end: 9,
  tokens: 0,
  scope: '',
  activation: 0,
  why: 'because',
  ...changes,
});

const found = (path: string, symbol: string, included = true): RetrievalCandidate => ({
  key: `card:${path}#${symbol}`,
  path,
  uri: `file:///w/${path}`,
  symbol,
  kind: 'function',
  line: 7,
  end: 9,
  score: 1,
  why: 'fits the prompt',
  included,
  code: included ? '' : 'mode_limit',
  reason: '',
  tokens: 20,
  hop: false,
  activation: 0,
  pin: 'none',
});

const page: UrlInfo = {
  key: 'url:0011223344556677',
  url: 'https://example.org/guide',
  title: 'Guide',
  fetched: '2026-11-28T08:00:00.000Z',
  tokens: 300,
  finalUrl: '',
  mediaType: 'text/html',
  tier: 'L3',
};

const nothing: Sources = {
  files: [],
  pins: { pins: [], suggested: [] },
  retrieval: null,
  urls: [],
  plan: null,
  instructions: [],
};

const retrieval = (...candidates: RetrievalCandidate[]): Sources['retrieval'] => ({
  setId: 's',
  turnId: 't',
  mode: 'light',
  query: '',
  line: '',
  cluster: 0,
  task: '',
  candidates,
  mapTokens: 0,
  cardTokens: 0,
  changes: [],
  note: '',
});

describe('the Context view', () => {
  it('is empty without anything in the context', () => {
    expect(groups(nothing)).toEqual([]);
  });

  it('groups by how firmly something is held', () => {
    const made = groups({
      ...nothing,
      files: [file('src/a.ts'), file('src/b.ts', { pin: 'sticky', tier: 'L1' })],
      pins: {
        pins: [pin('src/b.ts', ''), pin('src/c.ts', 'run')],
        suggested: [pin('src/d.ts', '', { pin: 'none', tokens: 50 })],
      },
      retrieval: retrieval(found('src/e.ts', 'go'), found('src/f.ts', 'out', false)),
      urls: [page],
    });
    expect(made.map((group) => [group.name, group.entries.map((entry) => entry.key)])).toEqual([
      ['pinned', ['file:src/b.ts', 'card:src/c.ts#run']],
      ['selected', ['file:src/a.ts']],
      ['suggested', ['file:src/d.ts']],
      ['retrieved', ['card:src/e.ts#go']],
      ['urls', ['url:0011223344556677']],
    ]);
    expect(made.map((group) => group.entries.map((entry) => entry.kind))).toEqual([
      ['pinnedFile', 'pinnedCard'],
      ['file'],
      ['suggestion'],
      ['found'],
      ['page'],
    ]);
  });

  it('lists a file once, and a pinned card not among those that were retrieved', () => {
    const made = groups({
      ...nothing,
      files: [file('src/b.ts', { pin: 'sticky' })],
      pins: { pins: [pin('src/b.ts', ''), pin('src/c.ts', 'run')], suggested: [] },
      retrieval: retrieval(found('src/c.ts', 'run')),
    });
    const keys = made.flatMap((group) => group.entries.map((entry) => entry.key));
    expect(keys).toEqual(['file:src/b.ts', 'card:src/c.ts#run']);
  });

  it('takes tokens and tier from the plan where the item itself does not say', () => {
    const plan = {
      planId: 'p',
      sessionId: '',
      turnId: '',
      created: '',
      model: 'm',
      mode: 'light' as const,
      totalTokens: 0,
      requestSha256: '',
      entries: [
        { key: 'card:src/c.ts#run', section: 'retrieved', tokens: 42, included: true },
        { key: 'file:src/a.ts', section: 'files', tokens: 99, included: true },
      ].map((entry) => ({ tier: 'L2', code: '', reason: '', ...entry })),
    };
    const made = groups({
      ...nothing,
      plan,
      files: [file('src/a.ts', { tier: 'active' })],
      pins: { pins: [pin('src/c.ts', 'run')], suggested: [] },
    });
    const entries = made.flatMap((group) => group.entries);
    expect(entries.map(({ tokens, tier }) => [tokens, tier])).toEqual([
      [42, 'L2'],
      [100, 'active'],
    ]);
    expect(made.map((group) => group.tokens)).toEqual([42, 100]);
  });

  it('says why a file is not sent, and counts no suggestion', () => {
    const made = groups({
      ...nothing,
      files: [file('gone.ts', { state: 'missing', reason: 'It was deleted.', tokens: 0 })],
      pins: { pins: [], suggested: [pin('src/d.ts', 'x', { tokens: 50 })] },
    });
    expect(made[0]?.entries[0]?.problem).toBe('It was deleted.');
    expect(made[0]?.entries[0]?.cut).toBe('');
    const reason = 'Only the first 5 of its 9 tokens are sent.';
    const [cut] = groups({ ...nothing, files: [file('big.ts', { reason, code: 'cut' })] });
    expect(cut?.entries[0]).toMatchObject({ problem: '', cut: reason });
    expect(made[1]?.tokens).toBe(0);
  });

  it('names a page without a title by its address', () => {
    const made = groups({ ...nothing, urls: [{ ...page, title: '' }] });
    expect(made[0]?.entries[0]).toMatchObject({
      label: 'https://example.org/guide',
      uri: 'https://example.org/guide',
      why: 'read on 2026-11-28',
      tokens: 300,
      tier: 'L3',
    });
  });
});
