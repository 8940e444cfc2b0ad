import { beforeEach, describe, expect, it, type Mock, vi } from 'vitest';
import * as vscode from 'vscode';
import { ActiveEditor } from '../src/extension/activeEditor';
import { ChatView } from '../src/extension/chatView';
import { Decorations } from '../src/extension/decorations';
import type { VirtualDocuments } from '../src/extension/documents';
import { Files } from '../src/extension/files';
import { type KeyOwner, Keys, ownersOf } from '../src/extension/keys';
import { Mentions } from '../src/extension/mentions/mentions';
import { Models } from '../src/extension/models';
import { Notes } from '../src/extension/notes';
import { Replies } from '../src/extension/replies';
import type { ServerController } from '../src/extension/server/controller';
import { describeError, NotConnectedError } from '../src/extension/server/errors';
import { parseLine } from '../src/extension/server/logLines';
import { Session } from '../src/extension/session';
import { Sessions } from '../src/extension/sessions';
import { nest } from '../src/extension/settings';
import { SlashCommands } from '../src/extension/slash';
import { breakdown, StatusBar } from '../src/extension/statusBar';
import { readyFor } from '../src/extension/waiting';
import { ModelWays } from '../src/extension/ways';
import type { Event, EventBody, KeyCheckResult, ProviderInfo, SessionInfo } from '../src/protocol';
import type { Connection, ToWebview } from '../src/shared/messages';
import { budget, delta, edit, event, file, message, started, state } from './fake/state';
import * as fake from './fake/vscode';

type Answers = Record<string, (params: unknown) => unknown>;

/** A server that answers from a table and lets tests emit events. */
class FakeServer {
  private readonly connections = new fake.EventEmitter<Connection>();
  private readonly events = new fake.EventEmitter<Event>();
  readonly asked: [string, unknown][] = [];
  connection: Connection = { kind: 'starting', text: '', advice: '' };
  onConnection = this.connections.event;
  onEvent = this.events.event;

  constructor(readonly answers: Answers = {}) {}

  get ready(): boolean {
    return this.connection.kind === 'ready';
  }
  async whenReady(): Promise<void> {}
  async request(method: string, params: unknown): Promise<unknown> {
    this.asked.push([method, params]);
    const answer = this.answers[method];
    if (answer === undefined) throw Object.assign(new Error('Unhandled'), { code: -32601 });
    return await answer(params);
  }
  async connect(kind: Connection['kind'] = 'ready', text = ''): Promise<void> {
    this.connection = { kind, text, advice: '' };
    this.connections.fire(this.connection);
    await settle();
  }
  emit(seq: number, body: EventBody): void {
    this.events.fire(event(seq, body));
  }
  count(method: string): number {
    return this.asked.filter(([name]) => name === method).length;
  }
  get controller(): ServerController {
    return this as unknown as ServerController;
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const log = fake.fakeLog() as unknown as vscode.LogOutputChannel;
const mock = (run: unknown): Mock => run as Mock;

let server: FakeServer;
let session: Session;
beforeEach(() => {
  vi.clearAllMocks();
  server = new FakeServer({ 'tierline/state/get': () => state() });
  session = new Session(server.controller, log);
});

function memento(): vscode.Memento {
  const values = new Map<string, unknown>();
  return {
    get: (key: string, fallback: unknown) => values.get(key) ?? fallback,
    update: async (key: string, value: unknown) => void values.set(key, value),
    keys: () => [...values.keys()],
  } as unknown as vscode.Memento;
}

describe('the session', () => {
  it('fetches the state when the server is ready and follows the events', async () => {
    await server.connect();
    server.emit(11, started('t1', 'u1'));
    server.emit(12, delta('t1', 'Hi'));
    expect(session.model?.turn?.text).toBe('Hi');
    expect(server.count('tierline/state/get')).toBe(1);
  });

  it('fetches it again after a gap and after a reconnection', async () => {
    await server.connect();
    server.emit(15, delta('t1', 'Hi'));
    expect(server.count('tierline/state/get')).toBe(2);
    await settle();
    await server.connect('restarting');
    await server.connect();
    expect(server.count('tierline/state/get')).toBe(3);
  });

  it('does not take what is no state', async () => {
    server.answers['tierline/state/get'] = () => ({ nonsense: true });
    await server.connect();
    expect(session.model).toBeNull();
    expect(log.warn).toHaveBeenCalled();
  });
});

describe('the status bar', () => {
  it('shows the budget and turns yellow, then red', async () => {
    const bar = new StatusBar(session);
    expect(fake.statusBarItem.text).toBe('$(sync~spin) Tierline');
    await server.connect();
    expect(fake.statusBarItem.text).toBe('$(layers) 300 / 1k');
    expect(fake.statusBarItem.backgroundColor).toBeUndefined();
    server.emit(11, { kind: 'budgetChanged', budget: budget({ percent: 75 }) });
    expect(fake.statusBarItem.backgroundColor?.id).toBe('statusBarItem.warningBackground');
    server.emit(12, { kind: 'budgetChanged', budget: budget({ percent: 93 }) });
    expect(fake.statusBarItem.backgroundColor?.id).toBe('statusBarItem.errorBackground');
    await server.connect('failed', 'It crashed.');
    expect(fake.statusBarItem).toMatchObject({ text: '$(error) Tierline', tooltip: 'It crashed.' });
    bar.dispose();
  });

  it('has a hover whose lines add up, with names as plain text', () => {
    const text = breakdown(
      budget({
        sections: [
          { name: 'a|b [x](command:y)', tokens: 100, detail: '' },
          { name: 'Files', tokens: 200, detail: '' },
        ],
      }),
    );
    const figures = [...text.matchAll(/\| \**([\d,]+)\** \| \**\d+ %/g)].map((match) =>
      Number(match[1]),
    );
    expect(figures.slice(0, -1).reduce((sum, one) => sum + one, 0)).toBe(figures.at(-1));
    expect(text).toContain('A\\|b \\[x\\]\\(command:y\\)');
  });

  it('shows what the provider itself counted', () => {
    const lastReported = {
      inputTokens: 1200,
      outputTokens: 50,
      cacheReadTokens: 1000,
      cacheWriteTokens: 100,
      requests: 1,
      estimated: false,
      cost: 0,
      saved: 0,
    };
    expect(breakdown(budget({ lastReported }))).toContain(
      '1,200 in (1,000 read from cache, 100 written), 50 out',
    );
  });
});

describe('files', () => {
  it('that are added before the server is ready are added when it is', async () => {
    server.answers['tierline/files/add'] = () => ({ files: [], refused: [], notices: [] });
    let ready = (): void => {};
    server.whenReady = () => new Promise((resolve) => (ready = resolve));
    const uri = fake.Uri.file('/project/a.py') as unknown as vscode.Uri;
    const done = new Files(session).command('add', uri);
    await settle();
    expect(server.asked).toEqual([]);
    ready();
    await done;
    expect(server.asked).toEqual([['tierline/files/add', { uri: uri.toString() }]]);
    expect(fake.window.showErrorMessage).not.toHaveBeenCalled();
  });

  it('are not added, and the user reads why, if the server cannot be had', async () => {
    server.whenReady = () => Promise.reject(new NotConnectedError('No Python.', 'Install it.'));
    await new Files(session).command('add', fake.Uri.file('/project/a.py'));
    expect(fake.window.showErrorMessage).toHaveBeenCalledWith('No Python. Install it.');
    expect(server.asked).toEqual([]);
  });

  it('other commands wait too, but none opens a dialog after minutes of setting up', async () => {
    const starting = new FakeServer();
    let ready = (): void => {};
    starting.whenReady = () => new Promise((resolve) => (ready = resolve));
    let went = false;
    const waiting = readyFor('tierline.sessions', starting.controller).then(() => (went = true));
    await readyFor('tierline.showLog', starting.controller);
    await settle();
    expect(went).toBe(false);
    ready();
    await waiting;
    await starting.connect('installing');
    await expect(readyFor('tierline.sessions', starting.controller)).rejects.toThrow('set up');
    await readyFor('tierline.addFile', starting.controller);
  });

  const uri = vscode.Uri.parse('file:///ws/.env');
  const refusal = file('.env', {
    state: 'refused',
    reason: '.env looks like a file of secrets.',
    confirmable: true,
  });

  it('are sent one by one from a selection of several', async () => {
    server.answers['tierline/files/pin'] = () => ({ files: [], refused: [], notices: [] });
    const other = vscode.Uri.parse('file:///ws/b.py');
    await new Files(session).command('pin', uri, [uri, other, uri]);
    expect(server.asked.map(([, params]) => params)).toEqual([
      { uri: uri.toString() },
      { uri: other.toString() },
    ]);
  });

  it('that are refused are sent again only after a modal confirmation', async () => {
    server.answers['tierline/files/add'] = () => ({ files: [], refused: [refusal], notices: [] });
    await new Files(session).command('add', uri);
    expect(server.count('tierline/files/add')).toBe(1);
    const [question, options, ...buttons] =
      mock(vscode.window.showWarningMessage).mock.calls[0] ?? [];
    expect(question).toBe('Send .env to the language model?');
    expect(options).toEqual({ modal: true, detail: '.env looks like a file of secrets.' });
    // The first has the focus: Enter sends nothing. One that closes would be put last.
    expect(buttons).toEqual(['Do Not Add', 'Add Anyway']);

    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Do Not Add');
    await new Files(session).command('add', uri);
    expect(server.asked.every(([, params]) => !(params as { confirm?: boolean }).confirm)).toBe(
      true,
    );
    server.answers['tierline/files/pin'] = server.answers['tierline/files/add'];
    await new Files(session).command('pin', uri);
    const pin = mock(vscode.window.showWarningMessage).mock.calls.at(-1);
    expect(pin?.slice(2)).toEqual(['Do Not Pin', 'Pin Anyway']);

    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Add Anyway');
    await new Files(session).command('add', uri);
    expect(server.asked.at(-1)).toEqual([
      'tierline/files/add',
      { uri: refusal.uri, confirm: true },
    ]);
  });

  it('that cannot be had at all are only explained', async () => {
    const binary = file('x.bin', { state: 'refused', reason: 'It is binary.' });
    server.answers['tierline/files/add'] = () => ({ files: [], refused: [binary], notices: [] });
    await new Files(session).command('add', uri);
    expect(vscode.window.showWarningMessage).toHaveBeenCalledWith('x.bin: It is binary.');
    expect(server.count('tierline/files/add')).toBe(1);
  });

  it('get a badge when they are pinned, and keys for the menus', async () => {
    const decorations = new Decorations(session);
    const changed = vi.fn();
    decorations.onDidChangeFileDecorations(changed);
    await server.connect();
    server.emit(11, {
      kind: 'filesChanged',
      files: [file('a.py', { pin: 'sticky' }), file('b.py')],
    });
    expect(decorations.provideFileDecoration(vscode.Uri.parse('file:///ws/a.py'))?.badge).toBe('P');
    expect(decorations.provideFileDecoration(vscode.Uri.parse('file:///ws/b.py'))).toBeUndefined();
    expect(changed.mock.calls.at(-1)?.[0].map(String)).toEqual(['file:///ws/a.py']);
    expect(vscode.commands.executeCommand).toHaveBeenCalledWith('setContext', 'tierline.pinned', [
      'file:///ws/a.py',
    ]);
  });

  it('tells the walkthrough of the first reply, and not of one that failed', async () => {
    new Decorations(session);
    await server.connect();
    const told = ['setContext', 'tierline.answered', true];
    expect(vscode.commands.executeCommand).not.toHaveBeenCalledWith(...told);
    const reply = (status: string) =>
      state({ messages: [message('m1', { role: 'assistant', status: status as never })] });
    server.answers['tierline/state/get'] = () => reply('error');
    await session.refresh();
    expect(vscode.commands.executeCommand).not.toHaveBeenCalledWith(...told);
    server.answers['tierline/state/get'] = () => reply('ok');
    await session.refresh();
    expect(vscode.commands.executeCommand).toHaveBeenCalledWith(...told);
  });
});

describe('sessions', () => {
  const documents = { show: vi.fn(async (_name: string, _text: () => Promise<string>) => {}) };
  const sessions = (): Sessions => new Sessions(session, documents as unknown as VirtualDocuments);
  const info = (sessionId: string, changes: object = {}): SessionInfo => ({
    sessionId,
    timestamp: '2026-01-02T03:04:05Z',
    messageCount: 4,
    preview: `about ${sessionId}`,
    firstRole: 'user',
    title: '',
    current: false,
    archived: false,
    ...changes,
  });

  beforeEach(() => {
    server.answers['tierline/history/listSessions'] = () => ({
      sessions: [info('s2', { title: 'Mine' }), info('s1', { current: true })],
      damaged: [],
    });
    server.answers['tierline/history/search'] = () => ({
      hits: [
        {
          messageId: 'm',
          sessionId: 's2',
          groupId: 'g',
          role: 'user',
          timestamp: '',
          snippet: 'a needle',
        },
      ],
      partial: false,
    });
  });

  it('are listed, searched by what is typed, and opened', async () => {
    server.answers['tierline/history/loadSession'] = () => state();
    await sessions().browse();
    const pick = fake.quickPick;
    expect(pick.items.map((item) => item.label)).toEqual([
      '$(comment-discussion) Mine',
      '$(check) about s1',
    ]);
    pick.value = 'needle';
    pick.changed.fire('needle');
    await expect.poll(() => pick.items.at(-1)?.label).toBe('$(search) a needle');
    pick.selectedItems = pick.items.slice(-1);
    pick.accepted.fire();
    expect(server.asked.at(-1)).toEqual(['tierline/history/loadSession', { sessionId: 's2' }]);
  });

  it('go into the archive, are listed and searched there, and come back', async () => {
    fake.quickPick.value = '';
    server.answers['tierline/history/archiveSession'] = () => ({ sessions: [], damaged: [] });
    await sessions().browse();
    const pick = fake.quickPick;
    const press = async (): Promise<unknown> => {
      const item = pick.items[0];
      pick.triggered.fire({ item, button: item?.buttons?.[2] });
      await settle();
      return server.asked.findLast(([method]) => method === 'tierline/history/archiveSession')?.[1];
    };
    expect(await press()).toEqual({ sessionId: 's2', away: true });
    server.answers['tierline/history/listSessions'] = (params) => ({
      sessions: (params as { archived?: boolean }).archived ? [info('s9', { archived: true })] : [],
      damaged: [],
    });
    pick.pressed.fire(pick.buttons[0]);
    await expect
      .poll(() => pick.items.map((item) => item.label))
      .toEqual(['$(comment-discussion) about s9']);
    expect(pick.title).toBe('Archived Sessions');
    expect(await press()).toEqual({ sessionId: 's9', away: false });
    pick.value = 'needle';
    pick.changed.fire('needle');
    await expect
      .poll(() => server.asked.findLast(([method]) => method === 'tierline/history/search')?.[1])
      .toMatchObject({ query: 'needle', archived: true });
    pick.pressed.fire(pick.buttons[0]);
    await expect.poll(() => pick.title).toBe('Sessions');
  });

  it('can be read without opening, and are deleted only after a question', async () => {
    server.answers['tierline/history/getSession'] = () => ({
      sessionId: 's2',
      messages: [message('u1', { text: 'Hello' })],
    });
    await sessions().browse();
    const pick = fake.quickPick;
    const item = pick.items[0];
    const [preview, , , trash] = item?.buttons ?? [];
    pick.triggered.fire({ item, button: preview });
    await settle();
    expect(documents.show.mock.calls[0]?.[0]).toBe('Mine.md');
    expect(await documents.show.mock.calls[0]?.[1]()).toMatch(/^# Mine\n\n## You · .*\n\nHello\n$/);
    pick.triggered.fire({ item, button: trash });
    await settle();
    expect(server.count('tierline/history/deleteSession')).toBe(0);
    const asked = mock(vscode.window.showWarningMessage).mock.calls[0];
    expect(asked?.[1]).toMatchObject({ modal: true });
    expect(asked?.slice(2), 'Enter deletes nothing').toEqual(['Keep Session', 'Delete']);
  });

  it('lose a turn only after a question, and hide or fork it at once', async () => {
    for (const verb of ['remove', 'drop', 'restore']) {
      server.answers[`tierline/history/${verb}`] = () => state();
    }
    server.answers['tierline/branch/fork'] = () => state();
    const made = sessions();
    await made.turn('remove', 'g', 'm');
    expect(server.count('tierline/history/remove')).toBe(0);
    const asked = mock(vscode.window.showWarningMessage).mock.calls.at(-1);
    expect(asked?.slice(2), 'Enter removes nothing').toEqual(['Keep Turn', 'Remove']);
    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Remove');
    await made.turn('remove', 'g', 'm');
    await made.turn('drop', 'g', 'm');
    await made.turn('fork', 'g', 'm');
    expect(server.asked).toEqual([
      ['tierline/history/remove', { groupId: 'g' }],
      ['tierline/history/drop', { groupId: 'g' }],
      ['tierline/branch/fork', { messageId: 'm' }],
    ]);
  });
});

describe('keys', () => {
  it('go from the secret storage to the server, and nowhere else', async () => {
    const stored = new Map([['tierline.key.anthropic', 'sk-ant-1']]);
    const changes = new fake.EventEmitter<{ key: string }>();
    const secrets = {
      get: async (name: string) => stored.get(name),
      store: async (name: string, value: string) => {
        stored.set(name, value);
        changes.fire({ key: name });
      },
      delete: async (name: string) => {
        stored.delete(name);
        changes.fire({ key: name });
      },
      onDidChange: changes.event,
    } as unknown as vscode.SecretStorage;
    server.answers['tierline/provider/setKey'] = () => ({
      ...state().provider,
      origin: 'service',
    });
    let outcome: KeyCheckResult = { outcome: 'ok', message: 'It is good.', models: [] };
    server.answers['tierline/provider/checkKey'] = () => outcome;
    const openRouter = {
      name: 'openrouter',
      title: 'OpenRouter',
      baseUrl: '',
      keyPrefix: 'sk-or-',
    };
    server.answers['tierline/provider/list'] = () => ({
      providers: [],
      presets: [{ ...openRouter, own: false }],
    });
    const keys = new Keys(secrets, server.controller, log);
    await keys.sendAll();
    expect(server.asked).toEqual([
      ['tierline/provider/setKey', { provider: 'anthropic', key: 'sk-ant-1' }],
    ]);

    await server.connect();
    mock(vscode.window.showQuickPick).mockImplementationOnce(async (items: { label: string }[]) =>
      items.find((item) => item.label === 'OpenAI'),
    );
    mock(vscode.window.showInputBox).mockResolvedValueOnce(' sk-2 ');
    await keys.set();
    await settle();
    expect(server.asked.at(-1)).toEqual([
      'tierline/provider/setKey',
      { provider: 'openai', key: 'sk-2' },
    ]);
    expect(mock(vscode.window.showInputBox).mock.calls[0]?.[0]).toMatchObject({ password: true });

    // A key that is refused is not stored; one that nobody could try only if the user says so.
    const pick = (label: string) =>
      mock(vscode.window.showQuickPick).mockImplementationOnce(async (items: { label: string }[]) =>
        items.find((item) => item.label === label),
      );
    outcome = { outcome: 'refused', message: 'OpenRouter did not accept the key.', models: [] };
    pick('OpenRouter');
    mock(vscode.window.showInputBox).mockResolvedValueOnce('sk-or-1');
    await keys.set();
    expect(mock(vscode.window.showErrorMessage).mock.calls.at(-1)?.[0]).toContain('did not accept');
    expect(await secrets.get('tierline.key.openrouter')).toBeUndefined();
    outcome = { outcome: 'unreachable', message: 'OpenRouter cannot be reached.', models: [] };
    pick('OpenRouter');
    mock(vscode.window.showInputBox).mockResolvedValueOnce('sk-or-2');
    await keys.set();
    expect(await secrets.get('tierline.key.openrouter')).toBeUndefined();
    pick('OpenRouter');
    mock(vscode.window.showInputBox).mockResolvedValueOnce('sk-or-3');
    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Store It Untried');
    await keys.set();
    expect(await secrets.get('tierline.key.openrouter')).toBe('sk-or-3');
    await keys.sendAll();
    expect(server.asked).toContainEqual([
      'tierline/provider/setKey',
      { provider: 'openrouter', key: 'sk-or-3' },
    ]);

    mock(vscode.window.showQuickPick).mockImplementationOnce(
      async (items: { label: string }[]) => items[0],
    );
    await keys.clear();
    await settle();
    expect(server.asked.at(-1)).toEqual([
      'tierline/provider/setKey',
      { provider: 'anthropic', key: '' },
    ]);
    const written = JSON.stringify([mock(log.info).mock.calls, mock(log.warn).mock.calls]);
    expect(written).not.toContain('sk-');
  });
});

describe('what is done with a reply', () => {
  const replies = (): Replies => new Replies(session);
  const block = { type: 'code' as const, path: '', language: 'bash', messageId: 'm1' };

  it('runs a command only after the user has seen it whole', async () => {
    const sendText = vi.fn();
    Object.assign(vscode.window, {
      createTerminal: vi.fn(() => ({ show: vi.fn(), sendText, exitStatus: undefined })),
    });
    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Do not run');
    await replies().code({ ...block, verb: 'run', text: '$ make' });
    expect(sendText).not.toHaveBeenCalled();
    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Run');
    await replies().code({ ...block, verb: 'run', text: '$ make\n$ ls' });
    expect(mock(vscode.window.showWarningMessage).mock.calls.at(-1)?.[1]).toMatchObject({
      modal: true,
      detail: 'make\nls',
    });
    expect(sendText).toHaveBeenCalledWith('make\nls', true);
    const before = mock(vscode.window.showWarningMessage).mock.calls.length;
    await replies().code({ ...block, verb: 'run', text: 'ls \u202Efr mr' });
    await replies().code({ ...block, verb: 'run', text: 'x'.repeat(3_000) });
    const asked = mock(vscode.window.showWarningMessage).mock.calls.slice(before);
    expect(asked.map(([text]) => text)).toEqual([
      'The command has hidden characters in it and is not run.',
      'That is too long to be shown here; put it into a new file.',
    ]);
    expect(sendText).toHaveBeenCalledTimes(1);
  });

  it('proposes code for the file that it names, and says what the server refuses', async () => {
    server.answers['tierline/edit/propose'] = () => edit();
    await replies().code({ ...block, verb: 'apply', text: 'x = 1', path: 'src/a.py' });
    expect(server.asked.at(-1)).toEqual([
      'tierline/edit/propose',
      { code: 'x = 1', messageId: 'm1', path: 'src/a.py' },
    ]);
    server.answers['tierline/edit/propose'] = () => {
      throw new Error('Not applied.');
    };
    await replies().code({ ...block, verb: 'apply', text: 'x = 1', path: 'src/a.py' });
    expect(mock(vscode.window.showWarningMessage).mock.calls.at(-1)?.[0]).toContain('Not applied.');
  });
});

describe('a pasted key', () => {
  const known = [
    { id: 'anthropic', label: 'Anthropic', prefix: 'sk-ant-' },
    { id: 'openai', label: 'OpenAI', prefix: 'sk-' },
    { id: 'openrouter', label: 'OpenRouter', prefix: 'sk-or-' },
    { id: 'deepseek', label: 'DeepSeek', prefix: 'sk-' },
    { id: 'gemini', label: 'Google Gemini', prefix: '' },
    { id: 'groq', label: 'Groq', prefix: 'gsk_' },
  ] as KeyOwner[];
  it.each([
    ['sk-ant-api03-x', ['anthropic']],
    ['sk-or-v1-x', ['openrouter']],
    ['sk-proj-x', ['openai']],
    ['gsk_x', ['groq']],
    ['AIzaSy', ['gemini']],
    // Another provider would see it if it were tried there: the user is asked.
    ['sk-0123', ['openai', 'deepseek', 'gemini']],
    ['0123', ['gemini']],
  ])('%s is known by how it begins, or its owner is asked for', (key, owners) => {
    expect(ownersOf(key, known).map(({ id }) => id)).toEqual(owners);
  });
});

describe('a model server that was found on this machine', () => {
  const found: ProviderInfo = {
    ...state().provider,
    name: 'Ollama',
    active: false,
    available: false,
    needsConsent: true,
    baseUrl: 'http://127.0.0.1:11434/v1',
    origin: 'found',
  };
  beforeEach(() => {
    server.answers['tierline/provider/list'] = () => ({ providers: [found], presets: [] });
    server.answers['tierline/provider/select'] = () => found;
  });

  it('is used after the user agreed, and without asking the next time', async () => {
    const memory = memento();
    mock(vscode.window.showInformationMessage).mockResolvedValueOnce('Use It');
    await new Models(session, memory, log).offerFound();
    const consent = [
      'tierline/provider/select',
      { name: 'Ollama', model: '', consent: true, baseUrl: found.baseUrl },
    ];
    expect(server.asked.at(-1)).toEqual(consent);
    await new Models(session, memory, log).offerFound();
    expect(server.asked.at(-1)).toEqual(consent);
    expect(vscode.window.showInformationMessage).toHaveBeenCalledTimes(1);
  });

  it('is taken with one click on the first page, which asks no second time', async () => {
    server.answers['tierline/provider/list'] = () => ({
      providers: [{ ...found, model: 'qwen', models: ['qwen', 'llama'] }],
      presets: [],
    });
    const memory = memento();
    const models = new Models(session, memory, log);
    const ways = new ModelWays(session, { paste: async () => true }, models);
    expect(await ways.list()).toEqual({
      servers: [{ name: 'Ollama', baseUrl: found.baseUrl, model: 'qwen', more: 1 }],
      editor: [],
      embedded: false,
    });
    models.onPage = () => true;
    await models.offerFound();
    expect(server.count('tierline/provider/select')).toBe(0);
    await ways.take({ type: 'way', way: 'server', name: found.baseUrl });
    expect(server.asked.at(-1)).toEqual([
      'tierline/provider/select',
      { name: 'Ollama', model: 'qwen', consent: true, baseUrl: found.baseUrl },
    ]);
    await ways.take({ type: 'way', way: 'embedded', name: '' });
    expect(fake.commands.executeCommand).toHaveBeenCalledWith('tierline.installModel');
    expect(vscode.window.showInformationMessage).not.toHaveBeenCalled();
  });

  it('is not changed without a word where that loses what the cache holds', async () => {
    server.answers['tierline/cache/forecast'] = () => ({
      tokens: 100_000,
      readableTokens: 90_000,
      readableThen: 0,
      cost: 0.05,
      costThen: 0.5,
      secondsLeft: 200,
      warn: true,
      sentence: '',
    });
    const memory = memento();
    mock(vscode.window.showInformationMessage).mockResolvedValueOnce('Use It');
    await new Models(session, memory, log).offerFound();
    const asked = mock(vscode.window.showWarningMessage).mock.calls.at(-1);
    expect(asked?.[0]).toContain('90,000 tokens anew');
    expect(asked?.[0]).toContain('$0.5000 instead of $0.0500');
    expect(server.count('tierline/provider/select')).toBe(0);
    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Change the Model');
    await new Models(session, memory, log).offerFound();
    expect(server.count('tierline/provider/select')).toBe(1);
  });

  it('is not asked about when a key has been given', async () => {
    const keyed = {
      ...found,
      name: 'anthropic',
      takesKey: true,
      active: true,
      available: true,
      needsConsent: false,
    };
    server.answers['tierline/provider/list'] = () => ({ providers: [keyed, found], presets: [] });
    await new Models(session, memento(), log).offerFound();
    expect(vscode.window.showInformationMessage).not.toHaveBeenCalled();
  });

  it('is not used when the user closes the question, and not asked about again after a no', async () => {
    const memory = memento();
    await new Models(session, memory, log).offerFound();
    expect(server.count('tierline/provider/select')).toBe(0);
    mock(vscode.window.showInformationMessage).mockResolvedValueOnce('Don’t Ask Again');
    await new Models(session, memory, log).offerFound();
    await new Models(session, memory, log).offerFound();
    expect(vscode.window.showInformationMessage).toHaveBeenCalledTimes(2);
    expect(server.count('tierline/provider/select')).toBe(0);
  });

  it('or the embedded model, which can be installed where it is missing', async () => {
    const local = {
      ...found,
      name: 'local',
      title: 'Embedded model',
      origin: 'embedded',
      available: false,
      needsConsent: false,
      why: 'It is not installed.',
    };
    server.answers['tierline/provider/list'] = () => ({ providers: [local], presets: [] });
    mock(vscode.window.showQuickPick).mockImplementationOnce(async (items) =>
      items.find((item: vscode.QuickPickItem) => item.label.endsWith(') Embedded model')),
    );
    mock(vscode.window.showWarningMessage).mockResolvedValueOnce('Install It (132 MB)');
    await new Models(session, memento(), log).select();
    expect(mock(vscode.window.showWarningMessage).mock.calls[0]?.[0]).toBe('It is not installed.');
    expect(fake.commands.executeCommand).toHaveBeenCalledWith('tierline.installModel');
  });
});

describe('the chat view', () => {
  let posted: ToWebview[];
  let receive: (value: unknown) => void;
  let html: string;
  const turn = vi.fn(async () => {});
  const showTurn = vi.fn(async () => {});
  const show = vi.fn(async (_name: string, _text: () => Promise<string>) => {});
  let active: ActiveEditor;
  beforeEach(() => {
    active = new ActiveEditor(memento());
    Object.assign(vscode.window, { activeTextEditor: undefined });
  });
  const slash = {
    run: vi.fn(async (line: string) => `done ${line}`),
    complete: async (query: string) => [{ path: `/${query}x`, detail: 'what it does' }],
  };

  async function open(): Promise<ChatView> {
    const chat = new ChatView(
      vscode.Uri.parse('file:///ext'),
      session,
      new Files(session),
      { turn },
      new Mentions(session, { show }),
      slash,
      { showTurn },
      active,
      { show },
      log,
    );
    posted = [];
    const webview = {
      options: {},
      html: '',
      cspSource: 'https://host.example',
      asWebviewUri: (uri: vscode.Uri) => uri,
      onDidReceiveMessage: (listener: (value: unknown) => void) => {
        receive = listener;
      },
      postMessage: async (message: ToWebview) => posted.push(message),
    };
    chat.resolveWebviewView({
      webview,
      visible: true,
      onDidDispose: vi.fn(),
      onDidChangeVisibility: vi.fn(),
    } as unknown as vscode.WebviewView);
    html = webview.html;
    await settle();
    return chat;
  }

  it('has a strict policy: scripts by nonce, nothing remote, nothing inline', async () => {
    await open();
    const policy = /content="([^"]+)"/.exec(html)?.[1] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|http:/);
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '?';
    expect(html.match(/<script[^>]*>/g)).toEqual([expect.stringContaining(`nonce="${nonce}"`)]);
    expect(html).not.toMatch(/ style=|<style| on\w+=/);
    await open();
    expect(html).not.toContain(nonce);
  });

  it('carries out commands, and gives back those that fail', async () => {
    await server.connect();
    await open();
    receive({ type: 'ready' });
    receive({ type: 'command', ticket: 3, text: '/undo' });
    await settle();
    expect(posted.at(-1)).toEqual({ type: 'commandDone', ticket: 3, text: 'done /undo' });
    slash.run.mockRejectedValueOnce(
      Object.assign(new Error('There is nothing to undo.'), { data: { code: 'not_found' } }),
    );
    receive({ type: 'command', ticket: 4, text: '/undo' });
    await settle();
    expect(posted.at(-1)).toMatchObject({ type: 'refused', ticket: 4, code: 'not_found' });
    receive({ type: 'complete', ticket: 5, query: '/und' });
    await settle();
    expect(posted.at(-1)).toMatchObject({ type: 'completions', items: [{ path: '/undx' }] });
  });

  it('says nothing before the webview listens, then everything', async () => {
    await server.connect();
    await open();
    server.emit(11, started('t1', 'u1'));
    expect(posted).toEqual([]);
    receive({ type: 'ready' });
    await settle();
    expect(posted.map((one) => one.type)).toEqual([
      'connection',
      'state',
      'selection',
      'active',
      'place',
    ]);
    expect(posted[4]).toEqual({
      type: 'place',
      place: { trusted: true, virtual: false, roots: [] },
    });
    server.emit(12, delta('t1', 'x'));
    expect(posted.at(-1)).toMatchObject({ type: 'event', event: { seq: 12 } });
  });

  it('gives the state of a running turn, so that a new webview goes on where the old one was', async () => {
    await server.connect();
    server.emit(11, started('t1', 'u1'));
    server.emit(12, delta('t1', 'So far'));
    await open();
    receive({ type: 'ready' });
    await settle();
    expect(posted[1]).toMatchObject({
      type: 'state',
      state: { seq: 12, busyTurn: 't1', partialText: 'So far' },
    });
  });

  it('sends a prompt with the active file and the selection, once', async () => {
    server.answers['tierline/chat/send'] = () => ({
      turnId: 't1',
      messageId: 'u1',
      queued: false,
      notices: [],
    });
    const chat = await open();
    receive({ type: 'ready' });
    await chat.attach({
      text: 'x = 1',
      label: 'a.py:1',
      uri: 'file:///ws/a.py',
      firstLine: 1,
      lastLine: 1,
    });
    receive({
      type: 'send',
      ticket: 3,
      text: 'why?',
      images: [],
      agreed: [],
      steer: false,
      editing: '',
    });
    await settle();
    expect(server.asked.at(-1)?.[1]).toEqual({
      text: 'why?',
      images: [],
      activeUri: 'file:///ws/a.py',
      selection: 'x = 1',
      editor: { uri: 'file:///ws/a.py', firstLine: 1, lastLine: 1, cursorLine: 1 },
      steer: false,
      mentions: 'ask',
      agreed: [],
      given: [],
    });
    expect(posted.at(-1)).toMatchObject({ type: 'sent', ticket: 3, messageId: 'u1' });
    server.answers['tierline/chat/edit'] = server.answers['tierline/chat/send'] ?? null;
    receive({
      type: 'send',
      ticket: 9,
      text: 'why not?',
      images: [],
      agreed: [],
      steer: false,
      editing: 'g1',
    });
    await settle();
    expect(server.asked.at(-1)).toMatchObject([
      'tierline/chat/edit',
      { groupId: 'g1', prompt: { text: 'why not?', mentions: 'ask' } },
    ]);
    receive({ type: 'queue', verb: 'steer', turnId: 't2', text: '', to: 0 });
    await settle();
    expect(server.asked.at(-1)).toEqual(['tierline/queue/steer', { turnId: 't2', steer: true }]);
    receive({
      type: 'send',
      ticket: 4,
      text: 'and now?',
      images: [],
      agreed: [],
      steer: false,
      editing: '',
    });
    await settle();
    expect(server.asked.at(-1)?.[1]).toMatchObject({ selection: '' });
  });

  it('sends what the user looks at until one click takes it off, and remembers that', async () => {
    server.answers['tierline/chat/send'] = () => ({
      turnId: 't1',
      messageId: 'u1',
      queued: false,
      notices: [],
    });
    const selection = { isEmpty: true, start: { line: 4 }, end: { line: 4 }, active: { line: 4 } };
    Object.assign(vscode.window, {
      activeTextEditor: {
        document: { uri: vscode.Uri.parse('file:///ws/src/a.py'), getText: () => '' },
        selection,
        visibleRanges: [{ start: { line: 0 }, end: { line: 40 } }],
      },
    });
    await open();
    receive({ type: 'ready' });
    await settle();
    expect(posted.find(({ type }) => type === 'active')).toMatchObject({
      active: { label: 'a.py', selected: false, on: true },
    });
    receive({
      type: 'send',
      ticket: 1,
      text: 'Explain this',
      images: [],
      agreed: [],
      steer: false,
      editing: '',
    });
    await settle();
    expect(server.asked.at(-1)?.[1]).toMatchObject({
      editor: { uri: 'file:///ws/src/a.py', firstLine: 1, lastLine: 41, cursorLine: 5 },
    });
    receive({ type: 'toggleActive' });
    await settle();
    expect(posted.at(-1)).toMatchObject({ type: 'active', active: { on: false } });
    receive({
      type: 'send',
      ticket: 2,
      text: 'And now?',
      images: [],
      agreed: [],
      steer: false,
      editing: '',
    });
    await settle();
    expect(server.asked.at(-1)?.[1]).toMatchObject({ editor: null, selection: '' });
  });

  it('opens the very text that went along', async () => {
    const attached = {
      kind: 'selection' as const,
      label: 'a.py:2',
      path: 'a.py',
      uri: 'file:///ws/a.py',
      firstLine: 2,
      lastLine: 2,
      text: 'return 1',
    };
    server.answers['tierline/state/get'] = () =>
      state({ messages: [message('u1', { attached: [attached] })] });
    await server.connect();
    await open();
    receive({ type: 'ready' });
    receive({ type: 'openAttached', messageId: 'u1', index: 0 });
    await settle();
    expect(show.mock.calls[0]?.[0]).toBe('a.py:2');
    expect(await show.mock.calls[0]?.[1]()).toBe('return 1');
  });

  it('reports a refused prompt with what to do, and keeps the selection for the next attempt', async () => {
    server.answers['tierline/chat/send'] = () => {
      throw Object.assign(new Error('No model.'), {
        code: -32001,
        data: { code: 'no_provider', advice: 'Get one.' },
      });
    };
    const chat = await open();
    receive({ type: 'ready' });
    await chat.attach({
      text: 'x = 1',
      label: 'a.py:1',
      uri: 'file:///ws/a.py',
      firstLine: 1,
      lastLine: 1,
    });
    receive({
      type: 'send',
      ticket: 1,
      text: 'why?',
      images: [],
      agreed: [],
      steer: false,
      editing: '',
    });
    await settle();
    expect(posted.at(-1)).toEqual({
      type: 'refused',
      ticket: 1,
      code: 'no_provider',
      error: 'No model.',
      advice: 'Get one.',
    });
    receive({
      type: 'send',
      ticket: 2,
      text: 'why?',
      images: [],
      agreed: [],
      steer: false,
      editing: '',
    });
    expect(server.asked.at(-1)?.[1]).toMatchObject({ text: 'why?' });
  });

  it('drops messages that are not ours', async () => {
    await open();
    receive({ type: 'executeCommand', command: 'workbench.action.quit' });
    await settle();
    expect(vscode.commands.executeCommand).not.toHaveBeenCalled();
    expect(log.warn).toHaveBeenCalled();
  });

  it('opens web links only', async () => {
    await open();
    receive({ type: 'ready' });
    receive({ type: 'openLink', href: 'command:workbench.action.quit' });
    receive({ type: 'openLink', href: 'javascript:alert(1)' });
    await settle();
    expect(vscode.env.openExternal).not.toHaveBeenCalled();
    expect(posted.at(-1)).toMatchObject({ type: 'hint', level: 'warning' });
    receive({ type: 'openLink', href: 'https://example.org/' });
    await settle();
    expect(vscode.env.openExternal).toHaveBeenCalledTimes(1);
  });

  it('hands on what is to be done with a turn', async () => {
    await open();
    receive({ type: 'turn', verb: 'drop', groupId: 'g', messageId: 'm' });
    expect(turn).toHaveBeenCalledWith('drop', 'g', 'm');
  });

  it('does not open files outside the workspace', async () => {
    await open();
    receive({ type: 'ready' });
    receive({ type: 'openLink', href: '/etc/passwd' });
    await settle();
    expect(vscode.commands.executeCommand).not.toHaveBeenCalled();
    expect(posted.at(-1)).toMatchObject({ type: 'hint' });
  });
});

describe('the log of the server', () => {
  it('keeps its levels, and a traceback together', () => {
    expect(parseLine('2026-11-28 03:55:25,839 WARNING a.b: text')).toEqual({
      level: 'warn',
      text: 'a.b: text',
    });
    expect(parseLine('INFO x')).toEqual({ level: 'info', text: 'x' });
    expect(parseLine('  File "x.py"')).toEqual({ level: null, text: '  File "x.py"' });
    expect(parseLine('Traceback (most recent call last):').level).toBe('error');
    expect(parseLine('INFORMATION').level).toBeNull();
  });
});

describe('errors and settings', () => {
  it('are told with the code and the advice of the server', () => {
    expect(
      describeError({
        code: -32001,
        message: 'No model.',
        data: { code: 'no_provider', advice: 'Get one.' },
      }),
    ).toEqual({
      code: 'no_provider',
      message: 'No model.',
      advice: 'Get one.',
    });
    expect(describeError({ code: -32005, message: 'Busy.' }).code).toBe('conflict');
    expect(describeError({ code: -32097, message: 'Pending response rejected' }).message).toBe(
      'The server ended before it answered.',
    );
    expect(describeError('odd')).toEqual({ code: '', message: 'odd', advice: '' });
    expect(describeError(null).message).toBe('null');
  });

  it('that the user has not set are left to the server', () => {
    const values: Record<string, unknown> = {
      model: 'x',
      provider: 'openai',
      contextMode: 'heavy',
      maxInputTokens: 0,
    };
    expect(nest((name) => values[name])).toEqual({
      provider: { name: 'openai', model: 'x' },
      context: { mode: 'heavy', maxInputTokens: 0 },
    });
    expect(nest(() => undefined)).toEqual({});
  });
});

describe('commands and notes', () => {
  let documents: { show: Mock; refresh: Mock };
  let notes: Notes;
  let slash: SlashCommands;
  const offer = vi.fn(async () => {});
  let text = '- plan';

  beforeEach(async () => {
    text = '- plan';
    const version = (): string => `v${text.length}`;
    Object.assign(server.answers, {
      'tierline/scratchpad/get': () => ({ text, version: version() }),
      'tierline/scratchpad/set': (params: { text: string; version: string }) => {
        if (params.version !== version()) {
          throw Object.assign(new Error('Changed meanwhile.'), { data: { code: 'conflict' } });
        }
        text = params.text;
        return { text, version: version() };
      },
      'tierline/history/anchor': () => ({ text: '### STATE\nGoal: x', fields: {}, enabled: true }),
      'tierline/chat/commands': () => ({
        commands: [
          { usage: '/undo [GID]', doc: 'Take back' },
          { usage: '/context window <N>', doc: 'Window' },
        ],
      }),
      'tierline/chat/command': (params: { text: string }) =>
        params.text === '/context show'
          ? { title: 'Exact context', text: '# all', document: true, prompt: '' }
          : {
              title: 'T',
              text: `said ${params.text}`,
              document: false,
              prompt: params.text === '/explain' ? 'Explain this.' : '',
            },
    });
    await server.connect();
    documents = { show: vi.fn(async () => {}), refresh: vi.fn() };
    const shown = documents as unknown as VirtualDocuments;
    notes = new Notes(session, shown);
    const sessions = { offerAfterUndo: offer } as unknown as Sessions;
    slash = new SlashCommands(session, sessions, notes, shown);
  });

  const pad = (id = 's1'): vscode.Uri =>
    vscode.Uri.from({ scheme: 'tierline-notes', path: `/${id}/Scratchpad.md` });
  const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
  const read = async (uri = pad()): Promise<string> =>
    new TextDecoder().decode(await notes.readFile(uri));

  it('reads and saves the scratchpad, and never over a newer one', async () => {
    expect(await read()).toBe('- plan');
    const before = (await notes.stat(pad())).mtime;
    await notes.writeFile(pad(), bytes('- plan\n- more'));
    expect(text).toBe('- plan\n- more');
    const after = await notes.stat(pad());
    expect(after.mtime).toBeGreaterThan(before);
    expect(after.size).toBe(13);
    text = 'the model wrote this meanwhile';
    await expect(notes.writeFile(pad(), bytes('mine'))).rejects.toThrow('Changed meanwhile');
    expect(text).toBe('the model wrote this meanwhile');
    await expect(notes.readFile(pad('another'))).rejects.toThrow();
  });

  it('lets a scratchpad that VS Code brings back wait for the server', async () => {
    const starting = new FakeServer(server.answers);
    let ready = (): void => {};
    starting.whenReady = () => new Promise((resolve) => (ready = resolve));
    const early = new Notes(new Session(starting.controller, log), documents as never);
    const reading = early.readFile(pad());
    await settle();
    expect(starting.asked).toEqual([]);
    ready();
    expect(new TextDecoder().decode(await reading)).toBe('- plan');
    const other = early.stat(pad('another'));
    ready();
    await expect(other).rejects.toThrow('another session');
  });

  it('tells the editor when the model changes the scratchpad', () => {
    const changes: vscode.FileChangeEvent[] = [];
    notes.onDidChangeFile((some) => changes.push(...some));
    server.emit(11, { kind: 'notesChanged', which: 'scratchpad' });
    server.emit(12, { kind: 'notesChanged', which: 'anchor' });
    expect(changes.map((change) => change.uri.path)).toEqual(['/s1/Scratchpad.md']);
  });

  it('shows STATE to read, anew when it changes', async () => {
    await notes.openState();
    const [name, make] = documents.show.mock.calls[0] as [string, () => Promise<string>];
    expect(name).toBe('STATE.md');
    expect(await make()).toBe('### STATE\nGoal: x\n');
    server.emit(11, { kind: 'notesChanged', which: 'anchor' });
    expect(documents.refresh).toHaveBeenCalledWith('STATE.md');
  });

  it('says short answers, opens long ones and sends what stands for a prompt', async () => {
    const send = vi.fn(async () => undefined);
    expect(await slash.run('/explain', send)).toBe('');
    expect(send).toHaveBeenCalledExactlyOnceWith('Explain this.');
    expect(await slash.run('/context window 2', send)).toBe('said /context window 2');
    expect(await slash.run('/context show', send)).toBe('');
    expect(documents.show).toHaveBeenCalledWith('Exact context.md', expect.any(Function));
    expect(await slash.run('/undo', send)).toBe('');
    expect(offer).toHaveBeenCalledWith('said /undo');
    expect((await slash.complete('con')).map((one) => one.path)).toEqual(['/context window <N>']);
    expect(server.count('tierline/chat/commands')).toBe(1);
    // A list that opens anew may have others.
    await slash.complete('');
    expect(server.count('tierline/chat/commands')).toBe(2);
  });

  it('asks before a new session whether the files stay, says their cost, and remembers', async () => {
    const sessions = new Sessions(session, documents as unknown as VirtualDocuments);
    const own = new SlashCommands(
      session,
      sessions,
      notes,
      documents as unknown as VirtualDocuments,
    );
    Object.assign(server.answers, {
      'tierline/history/newSessionFiles': () => ({
        entries: [
          { name: 'src/', files: 12, tokens: 8_400, pinned: false },
          { name: 'README.md', files: 1, tokens: 800, pinned: true },
        ],
        tokens: 9_200,
        cost: 0.028,
        sentence: 'Do the files stay?',
        ask: true,
      }),
      'tierline/history/newSession': () => state(),
    });
    const begun = (): unknown =>
      server.asked.findLast(([method]) => method === 'tierline/history/newSession')?.[1];
    const pick = mock(vscode.window.showQuickPick);
    pick.mockResolvedValueOnce(undefined);
    expect(await sessions.create()).toBe(false);
    expect(server.count('tierline/history/newSession')).toBe(0);

    pick.mockImplementationOnce(async (items: { label: string; detail?: string }[], options) => {
      expect(items[0]?.detail).toBe('src/ (12 files, 8.4k), README.md (800)');
      expect(options.placeHolder).toContain('9.2k tokens with the first prompt, about $0.02');
      return items.find(({ label }) => label === 'Always begin without them');
    });
    expect(await sessions.create()).toBe(true);
    expect(begun()).toEqual({ files: 'drop' });
    expect(fake.configuration.newSessionFiles).toBe('drop');
    delete fake.configuration.newSessionFiles;

    expect(await own.run('/new keep', async () => {})).toBe('');
    expect(begun()).toEqual({ files: 'keep' });
    expect(pick).toHaveBeenCalledTimes(2);
  });

  it('offers after an undo what can be done then', async () => {
    const sessions = new Sessions(session, documents as unknown as VirtualDocuments);
    Object.assign(server.answers, { 'tierline/history/restore': () => state() });
    mock(vscode.window.showInformationMessage).mockResolvedValueOnce('Bring It Back');
    await sessions.offerAfterUndo('The last turn was taken back.');
    expect(server.count('tierline/history/restore')).toBe(1);
  });

  it('compares the current branch with the only other one', async () => {
    const sessions = new Sessions(session, documents as unknown as VirtualDocuments);
    const branch = { parent: '', forkMessage: '', headMessage: '' };
    Object.assign(server.answers, {
      'tierline/branch/list': () => ({
        branches: [
          { ...branch, branch: 'main', current: false },
          { ...branch, branch: 'try', current: true },
        ],
        current: 'try',
      }),
      'tierline/branch/compare': (params: unknown) => ({ text: JSON.stringify(params) }),
    });
    await sessions.compare();
    const [name, make] = documents.show.mock.calls[0] as [string, () => Promise<string>];
    expect(name).toBe('try and main.md');
    expect(await make()).toBe('{"a":"try","b":"main"}');
  });
});
