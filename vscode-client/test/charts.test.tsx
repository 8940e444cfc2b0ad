// @vitest-environment jsdom
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { exportCharts } from '../src/extension/chartExport';
import type { Session } from '../src/extension/session';
import type { RequestStats } from '../src/protocol';
import { type CacheToHost, parseCacheToHost } from '../src/shared/cache';
import { ceiling, charts, MAX_TURNS, svgFile } from '../src/shared/charts';
import type { Shape } from '../src/shared/svg';
import { csv, hitRate, tierNames, turnFigures } from '../src/shared/turns';
import { Charts } from '../src/webview/cache/charts';
import * as fake from './fake/vscode';

function request(turnId: string, changes: Partial<RequestStats> = {}): RequestStats {
  return {
    turnId,
    at: '2026-11-28T12:00:00+00:00',
    provider: 'anthropic',
    model: 'claude',
    outcome: 'hit',
    code: 'none',
    windowTokens: 10_000,
    inputTokens: 1_000,
    outputTokens: 50,
    readTokens: 600,
    writtenTokens: 100,
    cost: 0.01,
    saved: 0.02,
    tiers: [
      { tier: 'head', name: 'Head', tokens: 400, cachedTokens: 400 },
      { tier: 'log', name: 'Conversation', tokens: 600, cachedTokens: 200 },
    ],
    ...changes,
  };
}

function all(drawing: Shape, tag: string): Shape[] {
  return drawing.kids.flatMap((kid) =>
    typeof kid === 'string' ? [] : [...(kid.tag === tag ? [kid] : []), ...all(kid, tag)],
  );
}

describe('the figures of turns', () => {
  it('sum the requests of a turn; the size is that of its last one', () => {
    const [first, second] = turnFigures([
      request('a', { inputTokens: 900, readTokens: 0 }),
      request('a', { inputTokens: 1_100, readTokens: 1_000 }),
      request('b'),
    ]);
    expect(first).toMatchObject({ number: 1, requests: 2, size: 1_100, input: 2_000, read: 1_000 });
    expect(first?.cost).toBeCloseTo(0.02);
    expect(hitRate(first as never)).toBe(50);
    expect(second).toMatchObject({ number: 2, requests: 1, size: 1_000 });
  });

  it('are not known if one request of the turn said nothing', () => {
    const [turn] = turnFigures([
      request('a', { readTokens: -1, cost: null, saved: null }),
      request('a'),
    ]);
    expect(turn).toMatchObject({ read: null, cost: null, saved: null });
    expect(hitRate(turn as never)).toBeNull();
  });

  it('are written as CSV, with nothing where nothing is known and no formulas', () => {
    const lines = csv(
      turnFigures([
        request('=1+1', { model: 'a "b", c', readTokens: -1, cost: null, tiers: [] }),
        request('b'),
      ]),
    ).split('\r\n');
    expect(lines[0]).toBe(
      'turn,turn_id,time,model,requests,size_tokens,window_tokens,input_tokens,output_tokens,cache_read_tokens,cache_written_tokens,cost_usd,saved_usd,tier_head_tokens,tier_log_tokens',
    );
    expect(lines[1]).toBe(
      '1,\'=1+1,2026-11-28T12:00:00+00:00,"a ""b"", c",1,1000,10000,1000,50,,100,,0.02,,',
    );
    expect(lines[2]).toMatch(/^2,b,.*,600,100,0.01,0.02,400,600$/);
    expect(lines).toHaveLength(4);
  });

  it('name tiers in the order of the request, also those that come later', () => {
    const tier = (name: string) => ({ tier: name, name, tokens: 1, cachedTokens: 0 });
    const turns = turnFigures([
      request('a', { tiers: [tier('head'), tier('log')] }),
      request('b', { tiers: [tier('head'), tier('L1'), tier('log'), tier('tail')] }),
    ]);
    expect(tierNames(turns)).toEqual(['head', 'L1', 'log', 'tail']);
  });
});

describe('the charts', () => {
  it('give each tier a colour of its own', () => {
    const names = ['head', 'L0', 'L1', 'L2', 'L3', 'log', 'tail'];
    const tiers = names.map((tier) => ({ tier, name: tier, tokens: 9, cachedTokens: 0 }));
    const found = charts(turnFigures([request('a', { tiers })])).find(({ id }) => id === 'tiers');
    const colours = JSON.stringify(found).match(/"tier\d"/g) ?? [];
    expect(new Set(colours).size).toBe(names.length);
  });

  it('show size, tiers, cost and hits, each with a sentence', () => {
    const found = charts(turnFigures([request('a'), request('b', { inputTokens: 2_000 })]));
    expect(found.map((one) => one.id)).toEqual(['budget', 'tiers', 'cost', 'hits']);
    expect(found[0]?.label).toBe(
      'Budget over turns, 2 turns. The newest request had 2k tokens, 20 % of 10k; the largest 2k.',
    );
    expect(found[1]?.label).toContain('Instructions 400, Conversation 600');
    expect(found[2]?.label).toContain('$0.0200 in all, $0.0400 saved');
    const loss = charts(turnFigures([request('a', { saved: -0.0012 })]))[2];
    expect(loss?.label).toContain('$0.0100 in all, $0.0012 more than with no cache');
    expect(JSON.stringify(loss?.drawing)).toContain('$0.0100, $0.0012 more than with no cache');
    expect(found[3]?.label).toContain('45 % of the input on average, 30 % of the newest');
  });

  it('draw bars as high as what they stand for, stacked', () => {
    const [, tiers] = charts(turnFigures([request('a')]));
    const rects = all(tiers?.drawing as Shape, 'g').flatMap((group) => all(group, 'rect'));
    const [low, high] = rects.map((rect) => rect.attrs as Record<string, number>);
    expect((high?.height ?? 0) / (low?.height ?? 1)).toBeCloseTo(1.5, 1);
    expect((high?.y ?? 0) + (high?.height ?? 0)).toBeCloseTo(low?.y ?? 0, 1);
  });

  it('leave out what nobody knows', () => {
    const silent = request('a', { readTokens: -1, cost: null, saved: null, tiers: [] });
    expect(charts(turnFigures([silent])).map((one) => one.id)).toEqual(['budget']);
    expect(charts([])).toEqual([]);
  });

  it('draw the window only where it does not dwarf everything', () => {
    const lines = (inputTokens: number): number =>
      all(charts(turnFigures([request('a', { inputTokens })]))[0]?.drawing as Shape, 'line').filter(
        (one) => one.attrs.class === 'limit',
      ).length;
    expect(lines(1_000)).toBe(0);
    expect(lines(6_000)).toBe(1);
  });

  it('draw the newest of many turns, with their numbers', () => {
    const many = turnFigures(Array.from({ length: MAX_TURNS + 5 }, (_, n) => request(`t${n}`)));
    const drawing = charts(many)[0]?.drawing as Shape;
    expect(all(drawing, 'g')).toHaveLength(MAX_TURNS);
    expect(all(drawing, 'title')[0]?.kids[0]).toMatch(/^Turn 6: /);
  });

  it('have scales that end in round numbers', () => {
    expect([0, 1, 1.2, 3, 7, 12, 2_300, 0.004].map(ceiling)).toEqual([
      1, 1, 2, 5, 10, 20, 2_500, 0.005,
    ]);
  });

  it('are one SVG file that stands alone, whatever the model is called', () => {
    const text = svgFile(turnFigures([request('a')]), 'Tierline · <b>&"x"');
    const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
    expect(parsed.querySelector('parsererror')).toBeNull();
    expect(parsed.querySelectorAll('svg > svg')).toHaveLength(4);
    expect(text).not.toMatch(/var\(|href|url\(/);
    expect(parsed.documentElement.textContent).toContain('<b>&"x"');
  });
});

describe('the charts in the viewer', () => {
  const root = document.createElement('div');
  const sent: CacheToHost[] = [];

  it('are pictures with words, followed by a table of the same figures', () => {
    document.body.append(root);
    const requests = [
      request('a'),
      request('b', { readTokens: -1, cost: null, saved: null }),
      request('c', { saved: -0.0012 }),
    ];
    act(() => render(<Charts requests={requests} post={(one) => sent.push(one)} />, root));
    const drawings = [...root.querySelectorAll('figure svg')];
    expect(drawings).toHaveLength(4);
    for (const drawing of drawings) {
      expect(drawing.getAttribute('role')).toBe('img');
      expect(drawing.getAttribute('aria-label')).toContain('3 turns');
    }
    const rows = [...root.querySelectorAll('tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.textContent),
    );
    expect(rows).toEqual([
      ['1', '1,000', '10 %', '600', '60 %', '50', '$0.0100', '$0.0200'],
      ['2', '1,000', '10 %', '–', '–', '50', '–', '–'],
      ['3', '1,000', '10 %', '600', '60 %', '50', '$0.0100', 'cost $0.0012 more'],
    ]);
    for (const button of root.querySelectorAll<HTMLElement>('.exports button')) button.click();
    expect(sent).toEqual([
      { type: 'export', format: 'svg' },
      { type: 'export', format: 'csv' },
    ]);
    for (const one of sent) expect(parseCacheToHost(one)).toEqual(one);
  });

  it('are absent before the first turn', () => {
    act(() => render(<Charts requests={[]} post={() => {}} />, root));
    expect(root.textContent).toBe('');
  });
});

describe('the export', () => {
  let requests: RequestStats[];
  const session = {
    server: { request: async () => ({ sessionId: '0123456789', requests, leftOut: 0 }) },
  } as unknown as Session;
  const written = (): string =>
    new TextDecoder().decode(fake.workspace.fs.writeFile.mock.calls[0]?.[1]);

  beforeEach(() => {
    vi.clearAllMocks();
    requests = [request('a')];
  });

  it('writes what was asked for to the file that was named', async () => {
    const target = fake.Uri.file('/ws/out.csv');
    fake.window.showSaveDialog.mockResolvedValue(target);
    await exportCharts(session, 'csv');
    expect(fake.workspace.fs.writeFile.mock.calls[0]?.[0]).toBe(target);
    expect(written()).toMatch(/^turn,turn_id/);
    fake.workspace.fs.writeFile.mockClear();
    fake.window.showQuickPick.mockResolvedValue({ format: 'svg' });
    await exportCharts(session);
    expect(written()).toMatch(/^<\?xml/);
  });

  it('writes nothing when it is called off, and says so when there is nothing', async () => {
    fake.window.showSaveDialog.mockResolvedValue(undefined);
    await exportCharts(session, 'svg');
    fake.window.showQuickPick.mockResolvedValue(undefined);
    await exportCharts(session);
    requests = [];
    await exportCharts(session, 'svg');
    expect(fake.workspace.fs.writeFile).not.toHaveBeenCalled();
    expect(fake.window.showInformationMessage.mock.calls.flat().join()).toContain(
      'nothing to export',
    );
  });
});
