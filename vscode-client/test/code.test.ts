import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { CodeActions } from '../src/extension/code/actions';
import { InlineAsk } from '../src/extension/code/inlineAsk';
import { Proposals } from '../src/extension/code/proposals';
import { Mentions } from '../src/extension/mentions/mentions';
import { MentionMenus } from '../src/extension/mentions/menus';
import { problemsOf } from '../src/extension/mentions/provide';
import { Terminals } from '../src/extension/mentions/terminals';
import type { Session } from '../src/extension/session';
import type { ToWebview } from '../src/shared/messages';
import { edit } from './fake/state';
import * as fake from './fake/vscode';

const text = 'def f():\n    return 1\n\ndef g():\n    return 2\n';
const uri = vscode.Uri.parse('file:///ws/src/a.py');
const at = (line: number, character = 0): vscode.Position => new vscode.Position(line, character);
const range = (from: number, to: number): vscode.Range => new vscode.Range(at(from), at(to));
const document = fake.textDocument(uri as never, text) as unknown as vscode.TextDocument;
const wrong = {
  message: 'undefined name',
  range: new vscode.Range(at(1, 4), at(1, 10)),
  severity: 0,
  source: 'ruff',
  code: { value: 'F821' },
} as unknown as vscode.Diagnostic;

const chat = { attach: vi.fn(), ask: vi.fn(), focus: vi.fn(async () => {}) };
const capture = vi.fn();

beforeEach(() => {
  vi.clearAllMocks();
  fake.workspace.openTextDocument.mockResolvedValue(document);
  fake.languages.getDiagnostics.mockReturnValue([]);
  fake.window.activeTextEditor = undefined;
});

describe('code actions', () => {
  const actions = (): CodeActions => new CodeActions(chat, { capture });
  const titles = (diagnostics: vscode.Diagnostic[], span: vscode.Range, triggerKind: number) =>
    actions()
      .provideCodeActions(document, span, {
        diagnostics,
        only: undefined,
        triggerKind,
      } as unknown as vscode.CodeActionContext)
      .map(({ title, kind }) => [title, kind?.value]);

  it('are offered on a problem, on a selection, and elsewhere only when asked for', () => {
    expect(titles([wrong], range(1, 1), 2)).toEqual([
      ['Fix with Tierline', 'quickfix'],
      ['Explain with Tierline', 'quickfix'],
    ]);
    expect(titles([], range(1, 1), 2)).toEqual([]);
    const all = ['Explain', 'Write Tests', 'Document'].map((verb) => `${verb} with Tierline`);
    expect(titles([], range(1, 1), 1).map(([title]) => title)).toEqual([...all, 'Ask Tierline…']);
    expect(titles([], range(0, 1), 2)).toHaveLength(4);
  });

  it('send the problem and the right code', async () => {
    fake.commands.executeCommand.mockResolvedValueOnce([
      { kind: vscode.SymbolKind.Function, range: range(0, 2), children: [] },
    ]);
    const cursor = new vscode.Range(at(1, 4), at(1, 4));
    await actions().run('fix', { uri, range: cursor, diagnostics: [wrong] });
    expect(capture).toHaveBeenCalledWith({
      kind: 'problems',
      uri: 'file:///ws/src/a.py',
      problems: [
        {
          uri: 'file:///ws/src/a.py',
          message: 'undefined name',
          line: 2,
          severity: 'error',
          source: 'ruff',
          code: 'F821',
        },
      ],
    });
    expect(chat.attach).toHaveBeenCalledWith(
      expect.objectContaining({ label: 'src/a.py:1-2', text: 'def f():\n    return 1' }),
    );
    expect(chat.ask).toHaveBeenCalledWith('Fix this problem.', true);
  });

  it('find the problems themselves when the menu names none, and only those of the code', async () => {
    const other = { ...wrong, range: range(4, 4) };
    fake.languages.getDiagnostics.mockReturnValue([wrong, other]);
    await actions().run('fix', { uri, range: range(0, 2), diagnostics: [] });
    expect(capture.mock.calls[0]?.[0].problems).toHaveLength(1);
  });

  it('take the line of the gutter, or the selection that it lies in', async () => {
    const selection = new vscode.Range(at(3), at(4, 3));
    fake.window.activeTextEditor = { document, selection };
    await actions().run('explain', { lineNumber: 1, uri });
    expect(chat.attach.mock.calls[0]?.[0]).toMatchObject({ firstLine: 1, lastLine: 1 });
    await actions().run('explain', { lineNumber: 5, uri });
    expect(chat.attach.mock.calls[1]?.[0]).toMatchObject({ firstLine: 4, lastLine: 5 });
    expect(chat.ask).toHaveBeenLastCalledWith('Explain this code.', true);
  });
});

describe('asking in the editor', () => {
  it('marks the place while the user types, and sends nothing after Esc', async () => {
    const setDecorations = vi.fn();
    const editor = {
      document,
      selection: range(0, 1),
      setDecorations,
      revealRange: vi.fn(),
    };
    fake.window.activeTextEditor = editor;
    const inline = new InlineAsk(chat);
    await inline.run(undefined);
    expect(setDecorations.mock.calls.map((call) => call[1].length)).toEqual([1, 0]);
    expect(chat.ask).not.toHaveBeenCalled();
    fake.window.showInputBox.mockResolvedValueOnce(' make it 3 ');
    await inline.run(undefined);
    expect(chat.attach).toHaveBeenCalledWith(expect.objectContaining({ label: 'src/a.py:1' }));
    expect(chat.ask).toHaveBeenCalledWith('make it 3', true);
  });
});

describe('a proposed edit in its file', () => {
  const open = edit({
    id: 'e1',
    path: 'src/a.py',
    uri: 'file:///ws/src/a.py',
    hunks: [
      { index: 0, line: 2, before: '    return 1\n', after: '    return 3\n', choice: '' },
      { index: 1, line: 5, before: '', after: '    # end\n    pass\n', choice: 'leave' },
    ],
  });
  const changes = new fake.EventEmitter<unknown>();
  const request = vi.fn(async () => ({}));
  const session = {
    model: { edits: [open, { ...open, id: 'e2', state: 'applied' }] },
    onChange: changes.event,
    server: { request },
  } as unknown as Session;

  it('can be accepted and rejected part by part, and as a whole', async () => {
    const proposals = new Proposals(session);
    const found = proposals
      .provideCodeLenses(document)
      .map(({ range, command }) => [range.start.line, command?.command]);
    expect(found).toEqual([
      [1, 'tierline.takePart'],
      [1, 'tierline.leavePart'],
      [1, 'tierline.acceptEdit'],
      [1, 'tierline.rejectEdit'],
      [1, 'tierline.previewEdit'],
      [4, 'tierline.takePart'],
      [4, 'tierline.leavePart'],
    ]);
    await proposals.choose('e1', 0, true);
    expect(request).toHaveBeenCalledWith('tierline/edit/choose', { id: 'e1', hunk: 0, take: true });
  });

  it('that was applied first is marked where it is now, and kept or undone there', () => {
    const hunk = { line: 3, before: '    return 0\n', after: '    return 1\n' };
    const gone = { line: 9, before: 'x\n', after: 'what nobody finds\n' };
    const applied = edit({
      ...open,
      state: 'applied',
      review: 'open',
      accepted: [0, 1],
      hunks: [
        { index: 0, ...hunk, choice: '' },
        { index: 1, ...gone, choice: '' },
      ],
    });
    const setDecorations = vi.fn();
    const told = new fake.EventEmitter<unknown>();
    fake.window.visibleTextEditors = [{ document, setDecorations }];
    const proposals = new Proposals({
      model: { edits: [applied] },
      onChange: told.event,
    } as unknown as Session);
    told.fire({ event: null });
    const marks = setDecorations.mock.calls.map((call) => call[1]).at(2);
    expect(marks.map((one: { range: vscode.Range }) => one.range.start.line)).toEqual([1]);
    expect(marks[0].hoverMessage.value).toContain('return 0');
    const lenses = proposals.provideCodeLenses(document).map(({ command }) => command);
    expect(lenses.map((one) => [one?.command, one?.arguments])).toEqual([
      ['tierline.keepEdits', ['e1', 0]],
      ['tierline.undoEdits', ['e1', 0]],
      ['tierline.keepEdits', ['e1']],
      ['tierline.undoEdits', ['e1']],
    ]);
  });

  it('is marked where it would change the text, with the new text behind it', () => {
    const setDecorations = vi.fn();
    fake.window.visibleTextEditors = [{ document, setDecorations }];
    new Proposals(session);
    changes.fire({ event: null });
    const [removed, added] = setDecorations.mock.calls.map((call) => call[1]);
    expect(removed).toHaveLength(1);
    expect(added[0].renderOptions.after.contentText).toBe('→ return 3');
    expect(added[0].hoverMessage.value).toContain('return 3');
  });
});

describe('what is added from elsewhere', () => {
  function mentions(): { mentions: Mentions; said: ToWebview[] } {
    const server = { ready: true, request: vi.fn(async () => ({ mentions: [], given: [] })) };
    const found = new Mentions({ server } as unknown as Session, { show: vi.fn() });
    const said: ToWebview[] = [];
    found.onSay((one) => said.push(one));
    return { mentions: found, said };
  }

  /** A terminal with something to copy, and a clipboard; returns what that holds. */
  function copying(shown: string): () => string {
    let clipboard = 'mine';
    fake.env.clipboard.readText.mockImplementation(async () => clipboard);
    fake.env.clipboard.writeText.mockImplementation(async (one) => {
      clipboard = one;
    });
    fake.commands.executeCommand.mockImplementation(async (id) => {
      if (id === 'workbench.action.terminal.copySelection') clipboard = shown;
    });
    return () => clipboard;
  }

  it('is listed again while the server says that more comes, unless something else is sought', async () => {
    vi.useFakeTimers();
    const answers = [
      { items: [], incomplete: true },
      {
        items: [{ text: '@symbol:parse', kind: 'symbol', label: 'parse', tokens: 3 }],
        incomplete: false,
      },
    ];
    const request = vi.fn(async () => answers[Math.min(request.mock.calls.length, 2) - 1]);
    const found = new Mentions({ server: { ready: true, request } } as unknown as Session, {
      show: vi.fn(),
    });
    const shown: string[][] = [];
    const show = (items: { path: string }[]): number => shown.push(items.map(({ path }) => path));
    const listed = found.complete('symbol:par', show);
    await vi.runAllTimersAsync();
    await listed;
    expect(shown).toEqual([[], ['@symbol:parse']]);
    request.mockClear();
    const first = found.complete('symbol:pa', show);
    await vi.advanceTimersByTimeAsync(1);
    const second = found.complete('symbol:par', show);
    await vi.runAllTimersAsync();
    await Promise.all([first, second]);
    expect(request.mock.calls).toHaveLength(2);
    vi.useRealTimers();
  });

  it('is a mention of the file or the folder, and says what lies outside', async () => {
    fake.workspace.getWorkspaceFolder.mockImplementation((one) =>
      one.path.startsWith('/ws/') ? {} : undefined,
    );
    fake.workspace.fs.stat.mockImplementation(async (one) => ({
      type: one.path.endsWith('src') ? 2 : 1,
    }));
    const { mentions: all, said } = mentions();
    const menus = new MentionMenus(chat, all, new Terminals());
    await menus.files(vscode.Uri.parse('file:///ws/src'), [
      vscode.Uri.parse('file:///ws/src'),
      vscode.Uri.parse('file:///ws/my docs/a.md'),
      vscode.Uri.parse('file:///etc/passwd'),
    ]);
    expect(said.slice(0, 2)).toEqual([
      { type: 'mention', text: '@src/' },
      { type: 'mention', text: '@"my docs/a.md"' },
    ]);
    expect(said[2]).toMatchObject({ type: 'hint', level: 'warning' });
    await menus.files({ resourceUri: vscode.Uri.parse('file:///ws/b.py') }, undefined);
    expect(said.at(-1)).toEqual({ type: 'mention', text: '@b.py' });
  });

  it('is what the terminal has selected, and leaves the clipboard as it was', async () => {
    fake.window.activeTerminal = { name: 'bash' };
    const clipboard = copying('E   assert 1 == 2');
    const { mentions: all } = mentions();
    await new MentionMenus(chat, all, new Terminals()).terminal('selection');
    expect(all.given).toEqual([{ kind: 'terminal', label: 'bash', text: 'E   assert 1 == 2' }]);
    expect(clipboard()).toBe('mine');
    all.sent(all.given);
    expect(all.given).toEqual([]);
    fake.commands.executeCommand.mockImplementation(async () => undefined);
  });

  it('is what a command printed, where the shell says so', async () => {
    const terminals = new Terminals();
    const terminal = { name: 'zsh' };
    fake.window.activeTerminal = terminal;
    fake.shellExecutions.fire({
      terminal,
      execution: {
        commandLine: { value: 'make test' },
        read: async function* () {
          yield '\u001b[31m1 failed';
          yield '\u001b[0m\r\n';
        },
      },
    });
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(await terminals.output()).toEqual({ label: 'zsh', text: '$ make test\n1 failed' });
    expect(await terminals.output('other')).toEqual({ label: 'other', text: '' });
  });

  it('is what the terminal shows while no output of its commands is known', async () => {
    const clipboard = copying('$ echo 42\n42');
    const terminals = new Terminals();
    const terminal = { name: 'zsh' };
    fake.window.activeTerminal = terminal;
    fake.shellExecutions.fire({
      terminal,
      execution: { commandLine: { value: 'echo 42' }, read: async function* () {} },
    });
    expect(await terminals.output()).toEqual({ label: 'zsh', text: '$ echo 42\n42' });
    expect(clipboard()).toBe('mine');
    fake.commands.executeCommand.mockImplementation(async () => undefined);
    expect(await terminals.output()).toEqual({ label: 'zsh', text: '$ echo 42\n' });
  });

  it('are the problems of a file, the worst first', () => {
    const hint = { ...wrong, severity: 3, message: 'unused', code: undefined };
    fake.languages.getDiagnostics.mockReturnValue([
      [uri, [hint, wrong]],
      [vscode.Uri.parse('file:///ws/b.py'), [wrong]],
    ]);
    expect(problemsOf(uri.toString()).map(({ message, code }) => [message, code])).toEqual([
      ['undefined name', 'F821'],
      ['unused', ''],
    ]);
    expect(problemsOf('')).toHaveLength(3);
  });
});
