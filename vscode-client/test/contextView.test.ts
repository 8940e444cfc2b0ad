import { beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { ContextTree } from '../src/extension/contextTree';
import { ContextViews } from '../src/extension/contextViews';
import type { VirtualDocuments } from '../src/extension/documents';
import type { Change, Session } from '../src/extension/session';
import { file } from './fake/state';
import * as fake from './fake/vscode';

const settle = (): Promise<void> => vi.advanceTimersByTimeAsync(400).then(() => undefined);
const documents = {} as VirtualDocuments;

let answers: Record<string, unknown>;
let changes: fake.EventEmitter<Change>;
let session: Session;

beforeEach(() => {
  vi.clearAllMocks();
  vi.useFakeTimers();
  answers = {
    'tierline/files/list': { files: [file('src/a.py')] },
    'tierline/pins/list': { pins: [], suggested: [] },
    'tierline/urls/list': { urls: [] },
    'tierline/plan/get': { entries: [] },
  };
  changes = new fake.EventEmitter<Change>();
  const server = {
    ready: true,
    request: async (method: string): Promise<unknown> => {
      if (!(method in answers)) throw new Error(method);
      return answers[method];
    },
  };
  session = { server, onChange: changes.event } as unknown as Session;
});

describe('the Context view', () => {
  const changed = (): void =>
    changes.fire({ event: { body: { kind: 'filesChanged' } } } as unknown as Change);

  it('draws its rows anew only when they say something else', async () => {
    const tree = new ContextTree(session, documents);
    const drawn = vi.fn();
    tree.onDidChangeTreeData(drawn);
    expect(await tree.getChildren()).toHaveLength(1);
    changed();
    await settle();
    expect(drawn).not.toHaveBeenCalled();
    answers['tierline/files/list'] = { files: [file('src/a.py', { tokens: 7 })] };
    changed();
    changed();
    await settle();
    expect(drawn).toHaveBeenCalledTimes(1);
    expect((await tree.getChildren())[0]).toMatchObject({ tokens: 7 });
    tree.dispose();
  });

  it('lists instruction files with their size, each with a switch', async () => {
    const request = vi.spyOn(session.server, 'request');
    const rule = { folder: '', globs: ['*.ts'], description: 'Style', imports: [], notices: [] };
    answers['tierline/instructions/list'] = {
      files: [
        { ...rule, key: 'AGENTS.md', name: 'AGENTS.md', uri: 'file:///ws/AGENTS.md', tokens: 120 },
        { ...rule, key: 'b', name: '.cursor/rules/b.mdc', uri: 'file:///ws/b', tokens: 80 },
      ].map((one, index) => ({
        ...{ ...one, kind: 'agents', enabled: index === 0, active: index === 0, tier: '' },
        why: index === 0 ? '' : 'You switched it off.',
      })),
    };
    answers['tierline/instructions/set'] = { files: [] };
    const tree = new ContextTree(session, documents);
    const [group] = (await tree.getChildren()) as [Parameters<ContextTree['getTreeItem']>[0]];
    expect(tree.getTreeItem(group)).toMatchObject({ label: 'Instructions' });
    expect(group).toMatchObject({ name: 'instructions', tokens: 120 });
    const [first, second] = (await tree.getChildren(group)).map((one) => tree.getTreeItem(one));
    expect(first).toMatchObject({ label: 'AGENTS.md', checkboxState: { state: 1 } });
    expect(second).toMatchObject({ label: 'b.mdc', checkboxState: { state: 0 } });
    expect(second?.tooltip).toContain('for *.ts');
    const [, off] = await tree.getChildren(group);
    fake.checkboxes.fire({ items: [[off, 1]] });
    await settle();
    expect(request).toHaveBeenCalledWith('tierline/instructions/set', { key: 'b', enabled: true });
    tree.dispose();
  });

  it('asks again after the server could not answer', async () => {
    const tree = new ContextTree(session, documents);
    const drawn = vi.fn();
    tree.onDidChangeTreeData(drawn);
    await tree.getChildren();
    const files = answers['tierline/files/list'];
    delete answers['tierline/files/list'];
    changed();
    await settle();
    expect(drawn).toHaveBeenCalledTimes(1);
    await expect(tree.getChildren()).rejects.toThrow();
    answers['tierline/files/list'] = files;
    expect(await tree.getChildren()).toHaveLength(1);
    tree.dispose();
  });

  it('gives files the icon of their language, and colours only what is not sent', async () => {
    const refused = file('b.py', { state: 'refused' as never, reason: 'It is ignored.' });
    answers['tierline/files/list'] = { files: [file('src/a.py'), refused] };
    const tree = new ContextTree(session, documents);
    const [group] = await tree.getChildren();
    const items = (await tree.getChildren(group)).map((one) => tree.getTreeItem(one));
    const uris = items.map((item) => item.resourceUri as vscode.Uri);
    expect(uris.map(({ path, query }) => [path, query])).toEqual([
      ['/src/a.py', ''],
      ['/b.py', 'problem'],
    ]);
    expect(items[0]?.iconPath).toMatchObject({ id: 'file' });
    expect(uris.map((uri) => tree.provideFileDecoration(uri) !== undefined)).toEqual([false, true]);
    tree.dispose();
  });
});

describe('what went with a prompt', () => {
  it('says each reason once', async () => {
    const one = { path: 'a.py', symbol: '', tokens: 5, uri: 'file:///a.py', line: 1 };
    answers['tierline/retrieval/get'] = {
      ...{ line: 'CTX light', mode: 'light', note: '', changes: [] },
      candidates: [
        { ...one, included: true, why: 'holds a word', reason: 'holds a word.' },
        { ...one, included: false, why: 'edited lately', reason: 'The whole file is sent.' },
      ],
    };
    await new ContextViews(session, documents).showTurn('t1');
    const items = fake.window.showQuickPick.mock.calls[0]?.[0] as vscode.QuickPickItem[];
    expect(items.map((item) => item.detail).filter((detail) => detail !== undefined)).toEqual([
      'holds a word',
      'The whole file is sent. · edited lately',
    ]);
  });
});
