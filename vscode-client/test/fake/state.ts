/** States, messages and events to test with. */
import type {
  Budget,
  ChatMessage,
  EditInfo,
  Event,
  EventBody,
  FileInfo,
  State,
  ToolCallInfo,
  UsageInfo,
} from '../../src/protocol';

export function budget(changes: Partial<Budget> = {}): Budget {
  return {
    model: 'm',
    provider: 'local',
    used: 300,
    maxInputTokens: 1_000,
    maxOutputTokens: 100,
    remaining: 700,
    percent: 30,
    sections: [
      { name: 'System', tokens: 100, detail: '' },
      { name: 'Files', tokens: 200, detail: '2 files' },
    ],
    accuracy: 'estimated',
    marginPercent: 5,
    limitSource: 'table',
    historyTokens: 0,
    compactionTriggerTokens: 0,
    lastReported: null,
    lifetimeInputTokens: 0,
    lifetimeOutputTokens: 0,
    ...changes,
  };
}

export function file(path: string, changes: Partial<FileInfo> = {}): FileInfo {
  return {
    path,
    uri: `file:///ws/${path}`,
    tokens: 10,
    pin: 'none',
    state: 'ok',
    reason: '',
    tier: '',
    aliases: [],
    origin: '',
    folder: '',
    dirty: false,
    code: '',
    confirmable: false,
    ...changes,
  };
}

export function message(id: string, changes: Partial<ChatMessage> = {}): ChatMessage {
  return {
    id,
    groupId: `g-${id}`,
    role: 'user',
    text: `text of ${id}`,
    status: 'ok',
    timestamp: '2026-01-01T00:00:00Z',
    tokens: 0,
    images: [],
    files: [],
    attached: [],
    sent: [],
    note: '',
    contextLine: '',
    state: '',
    thinking: '',
    thinkingSeconds: 0,
    embedded: false,
    covered: '',
    compaction: '',
    calls: [],
    usage: null,
    last: null,
    cacheOutcome: null,
    ...changes,
  };
}

export function took(changes: Partial<UsageInfo> = {}): UsageInfo {
  return {
    inputTokens: 400,
    outputTokens: 5,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    estimated: false,
    cost: 0.002,
    saved: 0,
    requests: 1,
    ...changes,
  };
}

export function state(changes: Partial<State> = {}): State {
  return {
    seq: 10,
    sessionId: 's1',
    branch: 'main',
    messages: [],
    files: [],
    budget: budget(),
    mode: 'light',
    provider: {
      name: 'local',
      available: true,
      model: 'small',
      why: '',
      models: ['small'],
      active: true,
      needsConsent: false,
      title: 'Local',
      origin: 'embedded',
      takesKey: false,
      keyPrefix: '',
      baseUrl: '',
    },
    queue: [],
    busyTurn: '',
    partialText: '',
    version: '0.1.0',
    root: '',
    compacting: false,
    consents: [],
    edits: [],
    ...changes,
  };
}

export function call(id: string, changes: Partial<ToolCallInfo> = {}): ToolCallInfo {
  return {
    id,
    messageId: 'm1',
    name: 'read_file',
    title: 'src/a.py',
    status: 'running',
    note: '',
    arguments: '{"path": "src/a.py"}',
    result: '',
    milliseconds: 0,
    editId: '',
    ...changes,
  };
}

export function edit(changes: Partial<EditInfo> = {}): EditInfo {
  return {
    id: 'e1',
    turnId: 't1',
    messageId: 'm1',
    callId: 'c1',
    path: 'src/a.py',
    uri: 'file:///w/src/a.py',
    state: 'open',
    create: false,
    added: 2,
    removed: 1,
    hunks: [
      { index: 0, line: 3, before: 'old\n', after: 'new\n', choice: '' },
      { index: 1, line: 9, before: '', after: 'more\n', choice: '' },
    ],
    accepted: [],
    reason: '',
    review: '',
    ...changes,
  };
}

export function event(seq: number, body: EventBody, sessionId = 's1'): Event {
  return { seq, sessionId, body };
}

export function started(turnId: string, id: string): EventBody {
  return { kind: 'turnStarted', turnId, message: message(id), contextLine: '1 file' };
}

export function delta(turnId: string, text: string): EventBody {
  return { kind: 'textDelta', turnId, text };
}

export function finished(
  turnId: string,
  changes: Partial<Extract<EventBody, { kind: 'turnFinished' }>> = {},
): EventBody {
  return {
    kind: 'turnFinished',
    turnId,
    outcome: 'ok',
    message: null,
    usage: null,
    last: null,
    code: '',
    error: '',
    advice: '',
    cache: null,
    seconds: 0,
    ...changes,
  };
}
