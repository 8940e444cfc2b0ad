/** What stands between a webview and the editor. Threat model: docs/security.md. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { CacheView } from '../src/extension/cacheView';
import type { VirtualDocuments } from '../src/extension/documents';
import type { Session } from '../src/extension/session';
import { webviewPage } from '../src/extension/webviewPage';
import { parseCacheToHost, parseCacheToView } from '../src/shared/cache';
import { parseToHost, parseToWebview } from '../src/shared/messages';
import * as fake from './fake/vscode';

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const log = fake.fakeLog() as unknown as vscode.LogOutputChannel;
const webview = {
  cspSource: 'https://host.example',
  asWebviewUri: (uri: vscode.Uri) => uri,
} as unknown as vscode.Webview;

beforeEach(() => vi.clearAllMocks());

/** The directives of a page's policy. */
function policyOf(html: string): Map<string, string[]> {
  const text = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? '';
  return new Map(
    text.split(';').map((one) => {
      const [name = '', ...sources] = one.trim().split(/\s+/);
      return [name, sources];
    }),
  );
}

describe.each(['webview', 'cacheView'])('the page of %s', (name) => {
  const page = (): string => webviewPage(webview, vscode.Uri.parse('file:///ext/dist'), name, 'T');

  it('lets in nothing but its own script and styles', () => {
    const policy = policyOf(page());
    expect(policy.get('default-src')).toEqual(["'none'"]);
    expect(policy.get('script-src')).toEqual([expect.stringMatching(/^'nonce-[\w+/]{24}'$/)]);
    expect(policy.get('style-src')).toEqual(['https://host.example']);
    expect(policy.get('font-src')).toEqual(['https://host.example']);
    // Pictures in a reply cannot tell anybody anything: only data that is already here is shown.
    expect(policy.get('img-src')).toEqual(['data:']);
    expect(policy.get('form-action')).toEqual(["'none'"]);
    expect(policy.get('base-uri')).toEqual(["'none'"]);
    for (const sources of policy.values())
      for (const source of sources) expect(source).not.toMatch(/unsafe|\*|^https?:$|blob:|ws/);
    // What is not named falls back to default-src: connections, frames, workers, objects.
    for (const directive of ['connect-src', 'frame-src', 'child-src', 'worker-src', 'object-src'])
      expect(policy.has(directive)).toBe(false);
  });

  it('has no script and no style but by file, and a nonce of its own each time', () => {
    const html = page();
    const nonce = policyOf(html).get('script-src')?.[0]?.slice(7, -1);
    expect(html.match(/<script[^>]*>/g)).toEqual([
      `<script nonce="${nonce}" src="file:///ext/dist/${name}.js">`,
    ]);
    expect(html).not.toMatch(/ style=|<style|\son\w+=|javascript:/);
    const nonces = new Set(
      Array.from({ length: 200 }, () => policyOf(page()).get('script-src')?.[0]),
    );
    expect(nonces.size).toBe(200);
  });
});

const NAMES = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'executeCommand', 'eval'];
const VALUES: unknown[] = [
  null,
  undefined,
  0,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  true,
  '',
  'ready',
  [],
  [{ type: 'ready' }],
  {},
  { type: null },
  { type: ['ready'] },
  { type: { toString: () => 'ready' } },
  () => 0,
  Symbol('ready'),
  1n,
  new Date(0),
  ...NAMES.map((type) => ({ type })),
];

/** Wrong in one place each: another type, too long, one more field, one fewer. */
function spoiled(message: Record<string, unknown>): unknown[] {
  const found: unknown[] = [{ ...message, extra: 1 }, JSON.stringify(message), [message]];
  for (const [key, value] of Object.entries(message)) {
    const { [key]: _gone, ...rest } = message;
    found.push(rest);
    for (const wrong of [null, {}, Symbol('x'), Number.NaN, -1.5])
      if (wrong !== value) found.push({ ...message, [key]: wrong });
    if (typeof value === 'string') found.push({ ...message, [key]: 'x'.repeat(50_000_000) });
  }
  return found;
}

describe('messages from a webview', () => {
  const chat: Record<string, unknown>[] = [
    { type: 'ready' },
    { type: 'send', ticket: 1, text: 'hi', images: [], agreed: [], steer: false, editing: '' },
    { type: 'command', ticket: 1, text: '/undo' },
    { type: 'file', verb: 'pin', path: 'a.py' },
    { type: 'turn', verb: 'drop', groupId: 'g', messageId: 'm' },
    { type: 'consent', id: 'c', answer: 'once' },
    { type: 'edit', verb: 'accept', id: 'e', hunks: [0], reason: '' },
    { type: 'dropped', uris: ['file:///ws/a.py'] },
    { type: 'complete', ticket: 1, query: '/u' },
    { type: 'openLink', href: 'https://example.org' },
    { type: 'copy', text: 'x' },
    { type: 'insert', text: 'x' },
  ];
  const cache: Record<string, unknown>[] = [
    { type: 'show', which: 'next' },
    { type: 'open', path: 'a.py' },
    { type: 'explain' },
  ];

  it('are taken if they are right, so that what follows means something', () => {
    for (const one of chat) expect(parseToHost(one), JSON.stringify(one)).toEqual(one);
    for (const one of cache) expect(parseCacheToHost(one)).toEqual(one);
  });

  it('are dropped if anything about them is wrong', () => {
    for (const one of chat.flatMap(spoiled)) expect(parseToHost(one)).toBeNull();
    for (const one of cache.flatMap(spoiled)) expect(parseCacheToHost(one)).toBeNull();
    for (const value of VALUES) {
      expect(parseToHost(value)).toBeNull();
      expect(parseCacheToHost(value)).toBeNull();
      expect(parseToWebview(value)).toBeNull();
      expect(parseCacheToView(value)).toBeNull();
    }
  });

  it('of one view mean nothing to the other', () => {
    for (const one of cache) expect(parseToHost(one)).toBeNull();
    for (const one of chat) expect(parseCacheToHost(one)).toBeNull();
  });

  it('cannot change what objects are', () => {
    const evil = JSON.parse('{"type":"ready","__proto__":{"polluted":1}}') as unknown;
    parseToHost(evil);
    parseCacheToHost(evil);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe('the cache viewer', () => {
  let receive: (value: unknown) => void;
  let options: unknown;
  const request = vi.fn(async () => {
    throw new Error('not now');
  });

  beforeEach(() => {
    const panel = {
      webview: {
        cspSource: 'https://host.example',
        html: '',
        asWebviewUri: (uri: vscode.Uri) => uri,
        onDidReceiveMessage: (listener: (value: unknown) => void) => {
          receive = listener;
        },
        postMessage: async () => true,
      },
      onDidChangeViewState: vi.fn(),
      onDidDispose: vi.fn(),
      reveal: vi.fn(),
      dispose: vi.fn(),
    };
    const createWebviewPanel = vi.fn(
      (_type: string, _title: string, _column: number, given: unknown) => {
        options = given;
        return panel;
      },
    );
    Object.assign(vscode.window, { createWebviewPanel });
    const session = {
      onChange: () => ({ dispose: () => {} }),
      server: { request },
      model: null,
    } as unknown as Session;
    new CacheView(
      vscode.Uri.parse('file:///ext'),
      session,
      {} as unknown as VirtualDocuments,
      log,
    ).show();
  });

  it('reads files of the extension’s bundle only', () => {
    const { localResourceRoots } = options as { localResourceRoots: vscode.Uri[] };
    expect(localResourceRoots.map(String)).toEqual(['file:///ext/dist']);
  });

  it('does nothing for messages that are not its own, and says so in the log', async () => {
    for (const value of [...VALUES, { type: 'send', ticket: 1, text: 'x', images: [] }])
      receive(value);
    await settle();
    expect(request).not.toHaveBeenCalled();
    expect(vscode.commands.executeCommand).not.toHaveBeenCalled();
    expect(log.warn).toHaveBeenCalledTimes(VALUES.length + 1);
  });

  it('opens no file outside the workspace', async () => {
    for (const path of ['/etc/passwd', '../../secret', 'file:///etc/passwd', 'command:x'])
      receive({ type: 'open', path });
    await settle();
    expect(vscode.commands.executeCommand).not.toHaveBeenCalled();
  });
});
