// @vitest-environment jsdom
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { CacheView } from '../src/extension/cacheView';
import type { VirtualDocuments } from '../src/extension/documents';
import type { Change, Session } from '../src/extension/session';
import { webviewPage } from '../src/extension/webviewPage';
import type { CacheItem, CacheReport, CacheTier, CacheTiers, SessionStats } from '../src/protocol';
import {
  type CacheToHost,
  clock,
  explanation,
  money,
  parseCacheToHost,
  parseCacheToView,
  share,
} from '../src/shared/cache';
import { CacheApp, type CacheState } from '../src/webview/cache/app';
import * as fake from './fake/vscode';

function item(key: string, changes: Partial<CacheItem> = {}): CacheItem {
  return {
    key,
    label: key.replace('file:', ''),
    section: 'files',
    kind: 'item',
    tokens: 100,
    path: key.startsWith('file:') ? key.slice(5) : '',
    age: 3,
    hazard: 0.25,
    stale: false,
    cached: true,
    marked: false,
    change: '',
    ...changes,
  };
}

function tier(name: string, items: CacheItem[]): CacheTier {
  const sum = (some: CacheItem[]): number => some.reduce((total, one) => total + one.tokens, 0);
  return {
    tier: name,
    name: name === 'log' ? 'Conversation' : 'Stable',
    tokens: sum(items),
    cachedTokens: sum(items.filter((one) => one.cached)),
    staleTokens: sum(items.filter((one) => one.stale)),
    deltaTokens: sum(items.filter((one) => one.kind !== 'item')),
    items,
  };
}

function report(changes: Partial<CacheReport> = {}): CacheReport {
  return {
    outcome: 'miss',
    code: 'edited',
    sentence: 'b.py was edited; from there on the bytes differ.',
    turnId: 't1',
    planId: 'p1',
    at: '2026-11-28T12:00:00+00:00',
    provider: 'anthropic',
    model: 'claude',
    policy: 'fixed',
    item: 'file:b.py',
    itemLabel: 'b.py',
    inputTokens: 617,
    outputTokens: 170,
    readTokens: 412,
    writtenTokens: -1,
    uncachedTokens: 205,
    offeredTokens: 600,
    readableTokens: 412,
    idleSeconds: 12,
    cost: 0.0021,
    saved: -0.0004,
    decisions: [{ code: 'ttl', sentence: 'Five minutes.', numbers: { rent: 12.3456 } }],
    ...changes,
  };
}

function tiers(changes: Partial<CacheTiers> = {}): CacheTiers {
  const rows = [
    tier('L1', [
      item('file:a.py', { marked: true }),
      item('file:b.py', { stale: true, change: 'edited' }),
    ]),
    tier('log', [
      item('history:1'),
      item('file:b.py', { kind: 'delta', cached: false, tokens: 40, change: 'new' }),
    ]),
  ];
  return {
    which: 'next',
    policy: 'log_structured',
    provider: 'anthropic',
    model: 'claude',
    caching: 'explicit',
    tokens: 340,
    cachedTokens: 300,
    tiers: rows,
    ttl: '5m',
    secondsLeft: 125,
    decisions: [{ code: 'defer', sentence: 'It does not pay yet.', numbers: { price: 5 } }],
    report: report(),
    ...changes,
  };
}

function stats(changes: Partial<SessionStats> = {}): SessionStats {
  const keepAlive = {
    requests: 2,
    readTokens: 100,
    cost: 0.001,
    saved: 0.01,
    enabled: true,
    decision: { code: 'waiting', sentence: 'It is too early.', numbers: { chance: 0.5 } },
  };
  return {
    sessionId: 's',
    title: '',
    requests: 3,
    reported: 3,
    inputTokens: 1000,
    outputTokens: 100,
    readTokens: 800,
    writtenTokens: 100,
    uncachedTokens: 100,
    hitRate: 0.8,
    cost: 0.5,
    saved: 1.25,
    priced: 3,
    beside: 0,
    causes: {},
    keepAlive,
    ...changes,
  };
}

describe('the viewer', () => {
  const root = document.createElement('div');
  const sent: CacheToHost[] = [];
  let state: CacheState;

  const draw = (): void => {
    act(() =>
      render(
        <CacheApp
          state={state}
          post={(one) => sent.push(one)}
          choose={(which) => {
            state.which = which;
          }}
          toggle={(one) => {
            if (!state.open.delete(one)) state.open.add(one);
          }}
          now={state.received + 5_000}
        />,
        root,
      ),
    );
  };
  const all = (selector: string): HTMLElement[] => [
    ...root.querySelectorAll<HTMLElement>(selector),
  ];
  const rows = (): HTMLElement[] => all('[data-testid=tier]');

  beforeEach(() => {
    document.body.replaceChildren(root);
    sent.length = 0;
    state = {
      which: 'next',
      open: new Set(['L1', 'log']),
      tiers: tiers(),
      stats: stats(),
      requests: [],
      error: '',
      received: 1_000,
    };
    draw();
  });

  it('shows a row per tier, in the order of the request', () => {
    expect(rows().map((row) => row.dataset.tier)).toEqual(['L1', 'log']);
    expect(rows()[0]?.textContent).toContain('200');
    expect(rows()[0]?.textContent).toContain('2 items');
  });

  it('shows tokens, age, hazard and what changed of every item', () => {
    const b = all('[data-tier=L1] [data-key="file:b.py"]')[0];
    expect([...(b?.children ?? [])].map((cell) => cell.textContent?.trim())).toEqual([
      'b.py replaced later',
      '100',
      '3',
      '25 %',
      'edited',
      '',
    ]);
    const delta = all('[data-tier=log] [data-key="file:b.py"]')[0];
    expect(delta?.textContent).toContain('difference');
    expect(delta?.querySelector('[aria-label="not cached"]')).not.toBeNull();
    const a = all('[data-key="file:a.py"]')[0];
    expect(a?.querySelector('[aria-label="cached"]')).not.toBeNull();
    expect(a?.querySelector('[aria-label="Cache breakpoint"]')).not.toBeNull();
  });

  it('says every bar in words, and colours are not the only sign', () => {
    const labels = all('[role=img].bar').map((bar) => bar.getAttribute('aria-label'));
    expect(labels).toEqual([
      '200 tokens cached, 0 to be sent anew, 100 replaced later',
      '100 tokens cached, 40 to be sent anew, 40 of appended changes',
    ]);
    expect(all('.whole')[0]?.getAttribute('aria-label')).toContain('340 tokens: 300 tokens cached');
    expect(all('.legend li').map((one) => one.textContent?.trim())).toEqual([
      'cached 200',
      'appended change 40',
      'replaced later 100',
      'cache breakpoint',
    ]);
  });

  it('opens and closes tiers by buttons that say so', () => {
    const head = rows()[0]?.querySelector('button');
    expect(head?.getAttribute('aria-expanded')).toBe('true');
    expect(head?.getAttribute('aria-controls')).toBe(rows()[0]?.querySelector('.items')?.id);
    act(() => head?.click());
    draw();
    expect(head?.getAttribute('aria-expanded')).toBe('false');
    expect(all('[data-tier=L1] [data-testid=item]')).toEqual([]);
  });

  it('opens files, explains, and changes between the next and the last request', () => {
    act(() => all('[data-key="file:a.py"] button')[0]?.click());
    act(() => all('.outcome button')[0]?.click());
    expect(sent).toEqual([{ type: 'open', path: 'a.py' }, { type: 'explain' }]);
    for (const one of sent) expect(parseCacheToHost(one)).toEqual(one);
    act(() => all('input[value=last]')[0]?.click());
    expect(state.which).toBe('last');
  });

  it('says what became of the newest request, with dashes where nobody knows', () => {
    const outcome = all('[data-testid=outcome]')[0]?.textContent ?? '';
    for (const words of ['Cache miss', 'b.py was edited', 'Input617', 'Read from cache412'])
      expect(outcome).toContain(words);
    expect(outcome).toContain('Written to cache–');
    expect(outcome).toContain('$0.0021');
    expect(outcome).toContain('More than with no cache$0.0004');
    expect(outcome).not.toContain('Saved');
  });

  it('shows the time left, money, and what keep-alive decided by', () => {
    expect(all('[data-testid=facts]')[0]?.textContent).toContain('expires in 2:00');
    const session = all('[data-testid=session]')[0]?.textContent ?? '';
    expect(session).toContain('80 % read from the cache');
    expect(session).toContain('$1.25 saved');
    expect(session).toContain('keep-alive: 2 requests');
    expect(session).toContain('It is too early. (chance 0.5)');
    state.stats = stats({ saved: -0.0012 });
    draw();
    const loss = all('[data-testid=session]')[0]?.textContent ?? '';
    expect(loss).toContain('cost $0.0012 more than with no cache');
    expect(loss).not.toContain('saved');
    state.stats = stats();
    state.tiers = tiers({ secondsLeft: 3 });
    draw();
    expect(all('[data-testid=facts]')[0]?.textContent).toContain('the cache has expired');
  });

  it('shows the newest of a long conversation first, and the rest on demand', () => {
    const many = tier(
      'log',
      Array.from({ length: 100 }, (_, n) => item(`history:${n}`)),
    );
    state.tiers = tiers({ tiers: [many] });
    draw();
    expect(all('[data-testid=item]')).toHaveLength(60);
    expect(all('[data-testid=item]').at(-1)?.dataset.key).toBe('history:99');
    act(() => all('.items > .link')[0]?.click());
    expect(all('[data-testid=item]')).toHaveLength(100);
  });

  it('says when there is nothing yet, and when something failed', () => {
    state = { ...state, tiers: tiers({ tiers: [], report: null }), error: 'It failed.' };
    draw();
    expect(all('[role=alert]')[0]?.textContent).toContain('It failed.');
    expect(root.textContent).toContain('Nothing has been sent in this session yet');
    expect(root.querySelector('[data-testid=facts]')).toBeNull();
    state = { ...state, tiers: null, error: '' };
    draw();
    expect(root.textContent).toContain('Looking at the cache');
  });

  it('has a heading for every part and no element that only a mouse can reach', () => {
    for (const one of all('[onclick]')) expect(one.tagName).toBe('BUTTON');
    expect(all('h2').length).toBeGreaterThan(1);
    expect(all('table')[0]?.getAttribute('aria-label')).toBe('L1: Stable');
    expect(all('th[scope=row]')).toHaveLength(4);
  });
});

describe('the host of the viewer', () => {
  const log = fake.fakeLog() as unknown as vscode.LogOutputChannel;
  const changes = new fake.EventEmitter<Change>();
  const documents = { show: vi.fn(async (_name: string, _text: () => Promise<string>) => {}) };
  let asked: [string, unknown][];
  let posted: unknown[];
  let receive: (value: unknown) => void;
  let panels: number;
  let view: CacheView;
  let answers: Record<string, () => unknown>;

  beforeEach(() => {
    vi.clearAllMocks();
    asked = [];
    posted = [];
    panels = 0;
    answers = {
      'tierline/cache/tiers': () => tiers(),
      'tierline/stats/get': () => ({ sessions: [stats()], total: stats() }),
      'tierline/stats/requests': () => ({ sessionId: 's', requests: [], leftOut: 0 }),
      'tierline/cache/explain': () => ({
        sentence: 'x',
        report: report(),
        requests: [],
        lastMiss: null,
      }),
    };
    const webview = {
      cspSource: 'vscode-resource:',
      html: '',
      asWebviewUri: (uri: unknown) => uri,
      onDidReceiveMessage: (listener: (value: unknown) => void) => {
        receive = listener;
      },
      postMessage: async (value: unknown) => posted.push(value),
    };
    Object.assign(fake.window, {
      createWebviewPanel: () => {
        panels += 1;
        return {
          webview,
          visible: true,
          reveal: () => {},
          dispose: () => {},
          onDidDispose: () => {},
          onDidChangeViewState: () => {},
        };
      },
    });
    const session = {
      onChange: changes.event,
      server: {
        request: async (method: string, params: unknown) => {
          asked.push([method, params]);
          return answers[method]?.();
        },
      },
    } as unknown as Session;
    const extension = fake.Uri.file('/ext') as unknown as vscode.Uri;
    view = new CacheView(extension, session, documents as unknown as VirtualDocuments, log);
  });

  afterEach(() => view.dispose());

  const settle = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it('sends tiers that the view understands, once for one panel', async () => {
    view.show();
    view.show();
    expect(panels).toBe(1);
    await settle();
    posted.length = 0;
    receive({ type: 'show', which: 'last' });
    await settle();
    expect(asked.at(-3)).toEqual(['tierline/cache/tiers', { which: 'last' }]);
    expect(posted).toHaveLength(1);
    expect(parseCacheToView(posted[0])).toEqual(posted[0]);
  });

  it('looks again after a turn, once, and drops what it does not understand', async () => {
    view.show();
    asked.length = 0;
    const model = {} as Change['model'];
    const body = { kind: 'turnFinished' };
    for (let n = 0; n < 3; n += 1) changes.fire({ model, event: { body } } as unknown as Change);
    changes.fire({ model, event: { body: { kind: 'textDelta' } } } as unknown as Change);
    await settle(400);
    expect(asked.filter(([name]) => name === 'tierline/cache/tiers')).toHaveLength(1);
    receive({ type: 'format the disk' });
    expect(log.warn).toHaveBeenCalled();
  });

  it('shows an error in the view', async () => {
    answers['tierline/cache/tiers'] = () => {
      throw new Error('no model');
    };
    view.show();
    receive({ type: 'show', which: 'next' });
    await settle();
    expect(posted.at(-1)).toMatchObject({ type: 'error' });
  });

  it('answers why the cache missed, with the details as a document', async () => {
    fake.window.showInformationMessage.mockResolvedValueOnce('Show Details');
    await view.explain();
    expect(fake.window.showInformationMessage.mock.calls[0]?.[0]).toContain('b.py was edited');
    const [name, text] = documents.show.mock.calls[0] ?? [];
    expect(name).toBe('Prompt cache.md');
    expect(await text?.()).toContain('| First item that differs | `file:b.py` |');
  });

  it('says of a hit that it did not miss, and names the last miss', async () => {
    answers['tierline/cache/explain'] = () => ({
      sentence: 'All was read.',
      report: report({ outcome: 'hit', sentence: 'All was read.' }),
      requests: [],
      lastMiss: report({ sentence: 'a.py was edited.' }),
    });
    await view.explain();
    expect(fake.window.showInformationMessage.mock.calls[0]?.[0]).toBe(
      'It did not miss. All was read. The last miss: a.py was edited.',
    );
  });

  it('lets the page load nothing from elsewhere', () => {
    const webview = { cspSource: 'here:', asWebviewUri: (uri: unknown) => uri };
    const html = webviewPage(
      webview as unknown as vscode.Webview,
      fake.Uri.file('/dist') as unknown as vscode.Uri,
      'cacheView',
      'Prompt Cache',
    );
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain('unsafe');
    expect(html).toMatch(/<script nonce="[^"]{20,}" src="[^"]*cacheView\.js">/);
  });
});

describe('figures', () => {
  it('read as people write them', () => {
    expect([money(0), money(0.00123), money(12.345), money(-2)]).toEqual([
      '$0.00',
      '$0.0012',
      '$12.35',
      '−$2.00',
    ]);
    expect([clock(0), clock(65), clock(3723), clock(-4)]).toEqual([
      '0:00',
      '1:05',
      '1:02:03',
      '0:00',
    ]);
    expect([share(1, 4), share(1, 0)]).toEqual([25, 0]);
  });

  it('make an explanation with numbers and the last miss', () => {
    const text = explanation(
      report({ outcome: 'hit' }),
      report({ planId: 'p0', sentence: 'c.py was removed.' }),
    );
    expect(text).toContain('# Cache hit');
    expect(text).toContain('- Five minutes. (rent 12.35)');
    expect(text).toContain('## The last miss before it');
    expect(text).toContain('c.py was removed.');
    expect(explanation(report(), report())).not.toContain('## The last miss');
  });
});
