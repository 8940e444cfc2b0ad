/** As much of the editor's API as the host's modules touch in tests; every part can be spied on. */
import { vi } from 'vitest';

type Listener<T> = (value: T) => unknown;

export class Disposable {
  constructor(private readonly run: () => void) {}
  dispose(): void {
    this.run();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query = '',
  ) {}
  static parse(text: string, strict = false): Uri {
    const match = /^([a-z][a-z0-9+.-]*):(?:\/\/[^/]*)?(.*)$/i.exec(text);
    if (match === null && strict) throw new Error('no scheme');
    return new Uri(match?.[1] ?? 'file', decodeURIComponent(match?.[2] ?? text));
  }
  static from(parts: { scheme: string; path?: string; query?: string }): Uri {
    return new Uri(parts.scheme, parts.path ?? '', parts.query);
  }
  static file(path: string): Uri {
    return new Uri('file', path);
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, [base.path, ...parts].join('/'));
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${encodeURI(this.path)}`;
  }
}

export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class MarkdownString {
  constructor(
    public value = '',
    readonly supportThemeIcons = false,
  ) {}
  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
  appendCodeblock(code: string): this {
    this.value += `\n${code}\n`;
    return this;
  }
}
export class FileDecoration {
  constructor(
    readonly badge?: string,
    readonly tooltip?: string,
    readonly color?: ThemeColor,
  ) {}
}
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState = 0,
  ) {}
}
export class TabInputText {
  constructor(readonly uri: Uri) {}
}
export class TabInputNotebook {
  constructor(readonly uri: Uri) {}
}

export class FileSystemError extends Error {
  static NoPermissions = (): FileSystemError => new FileSystemError('No permissions');
  static Unavailable = (text: string): FileSystemError => new FileSystemError(text);
}
export const FileType = { Unknown: 0, File: 1, Directory: 2 };
export const FileChangeType = { Changed: 1, Created: 2, Deleted: 3 };

export const StatusBarAlignment = { Left: 1, Right: 2 };
export const ProgressLocation = { Window: 10, Notification: 15 };
export const ViewColumn = { Active: -1 };
export const QuickPickItemKind = { Separator: -1, Default: 0 };

export const statusBarItem = {
  name: '',
  text: '',
  tooltip: undefined as unknown,
  command: undefined as unknown,
  backgroundColor: undefined as ThemeColor | undefined,
  accessibilityInformation: undefined as unknown,
  show: vi.fn(),
  dispose: vi.fn(),
};

export enum ConfigurationTarget {
  Global = 1,
  Workspace,
  WorkspaceFolder,
}
export const configuration: Record<string, unknown> = {};
export const configurationChanged = new EventEmitter<{
  affectsConfiguration(name: string): boolean;
}>();

export const l10n = {
  bundle: undefined as Record<string, string> | undefined,
  t: (text: string, ...values: unknown[]): string =>
    text.replace(/\{(\d+)\}/g, (_, index) => String(values[Number(index)])),
};

export const commands = {
  executeCommand: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  registerCommand: vi.fn(() => new Disposable(() => {})),
};

interface PickItem {
  label: string;
  buttons?: unknown[];
}

/** The one quick pick that ``createQuickPick`` gives out. */
export const quickPick = {
  title: '',
  placeholder: '',
  value: '',
  busy: false,
  matchOnDescription: false,
  matchOnDetail: false,
  items: [] as PickItem[],
  selectedItems: [] as PickItem[],
  changed: new EventEmitter<string>(),
  accepted: new EventEmitter<void>(),
  triggered: new EventEmitter<unknown>(),
  pressed: new EventEmitter<unknown>(),
  buttons: [] as unknown[],
  hidden: new EventEmitter<void>(),
  onDidChangeValue: (listener: Listener<string>) => quickPick.changed.event(listener),
  onDidAccept: (listener: Listener<void>) => quickPick.accepted.event(listener),
  onDidTriggerItemButton: (listener: Listener<unknown>) => quickPick.triggered.event(listener),
  onDidTriggerButton: (listener: Listener<unknown>) => quickPick.pressed.event(listener),
  onDidHide: (listener: Listener<void>) => quickPick.hidden.event(listener),
  show: vi.fn(),
  hide: () => quickPick.hidden.fire(),
  dispose: () => {
    const { changed, accepted, triggered, pressed } = quickPick;
    for (const emitter of [changed, accepted, triggered, pressed]) emitter.dispose();
  },
};

export const UIKind = { Desktop: 1, Web: 2 };
export const env = {
  language: 'en',
  remoteName: undefined as string | undefined,
  uiKind: UIKind.Desktop,
  clipboard: {
    writeText: vi.fn(async (_text: string) => {}),
    readText: vi.fn(async () => ''),
  },
  openExternal: vi.fn(async (_uri: Uri) => true),
};

export const TreeItemCheckboxState = { Unchecked: 0, Checked: 1 };
/** Ticks in a tree. */
export const checkboxes = new EventEmitter<unknown>();
export const shellExecutions = new EventEmitter<unknown>();

export const window = {
  state: { focused: true },
  activeTextEditor: undefined as unknown,
  activeTerminal: undefined as unknown,
  terminals: [] as unknown[],
  onDidStartTerminalShellExecution: shellExecutions.event,
  onDidChangeVisibleTextEditors: new EventEmitter<unknown>().event,
  createTextEditorDecorationType: vi.fn(() => ({ dispose: () => {} })),
  visibleTextEditors: [] as unknown[],
  tabGroups: { all: [] as unknown[], activeTabGroup: { activeTab: undefined as unknown } },
  onDidChangeActiveTextEditor: new EventEmitter<unknown>().event,
  onDidChangeTextEditorSelection: new EventEmitter<unknown>().event,
  createQuickPick: () => quickPick,
  createTreeView: vi.fn(() => ({
    selection: [],
    onDidChangeCheckboxState: checkboxes.event,
    dispose: () => {},
  })),
  createStatusBarItem: vi.fn(() => statusBarItem),
  registerWebviewViewProvider: vi.fn(() => new Disposable(() => {})),
  registerFileDecorationProvider: vi.fn(() => new Disposable(() => {})),
  showInformationMessage: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  showWarningMessage: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  showErrorMessage: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  showQuickPick: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  showInputBox: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  showSaveDialog: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  showOpenDialog: vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined),
  withProgress: vi.fn(
    async (
      _options: unknown,
      task: (progress: unknown, token: unknown) => Promise<unknown>,
    ): Promise<unknown> =>
      await task({ report: () => {} }, { onCancellationRequested: () => new Disposable(() => {}) }),
  ),
};

export const workspace = {
  isTrusted: true,
  name: undefined as string | undefined,
  registerTextDocumentContentProvider: vi.fn(() => new Disposable(() => {})),
  workspaceFolders: [] as unknown[],
  onDidChangeConfiguration: configurationChanged.event,
  onDidGrantWorkspaceTrust: new EventEmitter<void>().event,
  onDidChangeWorkspaceFolders: new EventEmitter<void>().event,
  onDidChangeTextDocument: new EventEmitter<unknown>().event,
  fs: {
    writeFile: vi.fn(async (_uri: Uri, _bytes: Uint8Array) => {}),
    stat: vi.fn(async (_uri: Uri): Promise<unknown> => {
      throw new Error('There is no such file.');
    }),
  },
  getWorkspaceFolder: vi.fn((_uri: Uri): unknown => undefined),
  openTextDocument: vi.fn(async (_uri: Uri): Promise<unknown> => undefined),
  registerFileSystemProvider: vi.fn(() => new Disposable(() => {})),
  asRelativePath: (uri: Uri): string => uri.path.replace(/^\/ws\//, ''),
  getConfiguration: (section = 'tierline') => ({
    get: (name: string, fallback?: unknown) =>
      configuration[section === 'http' ? `http.${name}` : name] ?? fallback,
    inspect: (name: string) => ({ globalValue: configuration[name] }),
    update: vi.fn(async (name: string, value: unknown) => {
      configuration[name] = value;
    }),
  }),
};

export function fakeLog(): Record<string, ReturnType<typeof vi.fn>> {
  return Object.fromEntries(
    ['trace', 'debug', 'info', 'warn', 'error', 'show', 'append', 'appendLine'].map((name) => [
      name,
      vi.fn(),
    ]),
  );
}

export const lm = {
  selectChatModels: vi.fn(async (_selector?: unknown): Promise<unknown[]> => []),
};
export class LanguageModelTextPart {
  constructor(readonly value: string) {}
}
export class LanguageModelToolCallPart {
  constructor(
    readonly callId: string,
    readonly name: string,
    readonly input: object,
  ) {}
}
export class LanguageModelToolResultPart {
  constructor(
    readonly callId: string,
    readonly content: unknown[],
  ) {}
}
export class LanguageModelDataPart {
  constructor(
    readonly data: Uint8Array,
    readonly mimeType: string,
  ) {}
  static image(data: Uint8Array, type: string): LanguageModelDataPart {
    return new LanguageModelDataPart(data, type);
  }
}
export class LanguageModelThinkingPart {
  constructor(readonly value: string | string[]) {}
}
export const LanguageModelChatMessage = {
  User: (content: unknown[]) => ({ role: 'user', content }),
  Assistant: (content: unknown[]) => ({ role: 'assistant', content }),
};
export const LanguageModelError = {
  NotFound: (text: string) => Object.assign(new Error(text), { code: 'NotFound' }),
};
export class CancellationTokenSource {
  readonly token = { isCancellationRequested: false };
  cancel(): void {
    this.token.isCancellationRequested = true;
  }
  dispose(): void {}
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
  compareTo(other: Position): number {
    return this.line - other.line || this.character - other.character;
  }
}
export class Range {
  constructor(
    readonly start: Position,
    readonly end: Position,
  ) {}
  get isEmpty(): boolean {
    return this.start.compareTo(this.end) === 0;
  }
  contains(other: Position): boolean {
    return this.start.compareTo(other) <= 0 && other.compareTo(this.end) <= 0;
  }
  union(other: Range): Range {
    const start = this.start.compareTo(other.start) <= 0 ? this.start : other.start;
    const end = this.end.compareTo(other.end) >= 0 ? this.end : other.end;
    return new Range(start, end);
  }
  intersection(other: Range): Range | undefined {
    const start = this.start.compareTo(other.start) >= 0 ? this.start : other.start;
    const end = this.end.compareTo(other.end) <= 0 ? this.end : other.end;
    return start.compareTo(end) > 0 ? undefined : new Range(start, end);
  }
}
/** A document of the editor, for what reads its lines. */
export function textDocument(uri: Uri, text: string): unknown {
  const lines = text.split('\n');
  const last = lines.length - 1;
  const whole = new Range(new Position(0, 0), new Position(last, lines[last]?.length ?? 0));
  return {
    uri,
    languageId: 'python',
    lineCount: lines.length,
    lineAt: (line: number) => ({
      range: new Range(new Position(line, 0), new Position(line, lines[line]?.length ?? 0)),
    }),
    getText: ({ start, end }: Range = whole) =>
      lines
        .slice(start.line, end.line + 1)
        .map((line, at) => (at === end.line - start.line ? line.slice(0, end.character) : line))
        .join('\n'),
  };
}
export class CodeActionKind {
  static readonly QuickFix = new CodeActionKind('quickfix');
  static readonly Refactor = new CodeActionKind('refactor');
  private constructor(readonly value: string) {}
}
export const CodeActionTriggerKind = { Invoke: 1, Automatic: 2 };
export class CodeAction {
  command: unknown;
  diagnostics: unknown;
  constructor(
    readonly title: string,
    readonly kind: CodeActionKind,
  ) {}
}
export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: unknown,
  ) {}
}
export const SymbolKind = Object.fromEntries(
  ['Class', 'Method', 'Constructor', 'Function', 'Interface', 'Struct', 'Enum', 'Namespace']
    .concat('Module')
    .map((name, index) => [name, index]),
);
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };
export const languages = {
  getDiagnostics: vi.fn((_uri?: Uri): unknown[] => []),
  registerCodeActionsProvider: vi.fn(() => new Disposable(() => {})),
  registerCodeLensProvider: vi.fn(() => new Disposable(() => {})),
};
