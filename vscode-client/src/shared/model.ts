/**
 * What the chat shows, as a pure function of the server's state and its events.
 *
 * The extension host and the webview reduce the same stream; neither invents state of its own.
 */
import type {
  Budget,
  CacheReport,
  ChatMessage,
  CompactionError,
  ConsentInfo,
  EditInfo,
  Event,
  EventBody,
  FileInfo,
  Notice,
  ProviderInfo,
  QueuedPrompt,
  State,
  ToolCallInfo,
  TurnFinished,
} from '../protocol';

export type Mode = State['mode'];

/** A message with facts about its turn. */
export interface ShownMessage extends ChatMessage {
  /** Stays the same while a reply turns from streaming to finished, so its element is kept. */
  key: string;
  error: string;
  advice: string;
  code: string;
  /** The turn's cache report; known only in the window that saw the turn. */
  cache: CacheReport | null;
}

export interface RunningTurn {
  id: string;
  text: string;
  reasoning: string;
  /** Why nothing streams, e.g. a retry that is due; empty while text arrives. */
  waiting: string;
}

export interface ShownNotice {
  id: number;
  level: Notice['level'];
  text: string;
  code: string;
  /** Key of the message after which it appeared; empty at the top. */
  after: string;
}

export interface Model {
  seq: number;
  sessionId: string;
  branch: string;
  messages: readonly ShownMessage[];
  files: readonly FileInfo[];
  budget: Budget;
  mode: Mode;
  provider: ProviderInfo;
  turn: RunningTurn | null;
  notices: readonly ShownNotice[];
  compacting: boolean;
  /** Questions that wait for the user. */
  consents: readonly ConsentInfo[];
  edits: readonly EditInfo[];
  /** Prompts that wait, the next one first. */
  queue: readonly QueuedPrompt[];
  /** Turns that have left the queue and not begun yet. */
  beginning: readonly string[];
  version: string;
  root: string;
}

/**
 * A state with facts that only the host knows, so that a new webview shows what the old one did.
 */
export interface Snapshot extends State {
  messages: (ChatMessage & Partial<ShownMessage>)[];
  notices?: readonly ShownNotice[];
  turn?: RunningTurn | null;
  beginning?: readonly string[];
}

/** The model after an event. ``resync``: it no longer matches the server; ask for the state. */
export interface Step {
  model: Model;
  resync: boolean;
}

const MAX_NOTICES = 30;

export function turnKey(turnId: string): string {
  return `turn:${turnId}`;
}

/**
 * The model for a fresh state. Notices, errors and context lines of messages that are still
 * there are carried over from ``previous``, since the state does not repeat them.
 */
export function fromState(state: Snapshot, previous?: Model): Model {
  const same = previous !== undefined && previous.sessionId === state.sessionId;
  const known = new Map(same ? previous.messages.map((message) => [message.id, message]) : []);
  const messages = state.messages.map((message) => shown(message, known.get(message.id)));
  const before = state.turn ?? (same ? previous.turn : null);
  const running = before?.id === state.busyTurn ? before : null;
  const notices = state.notices ?? (same ? previous.notices : []);
  const keys = new Set(messages.map((message) => message.key));
  return {
    seq: state.seq,
    sessionId: state.sessionId,
    branch: state.branch,
    messages,
    files: state.files,
    budget: state.budget,
    mode: state.mode,
    provider: state.provider,
    turn: state.busyTurn
      ? {
          id: state.busyTurn,
          text: state.partialText,
          reasoning: running?.reasoning ?? '',
          waiting: (state.partialText === '' && running?.waiting) || '',
        }
      : null,
    notices: notices.filter((notice) => notice.after === '' || keys.has(notice.after)),
    compacting: state.compacting,
    consents: state.consents ?? [],
    edits: state.edits ?? [],
    queue: state.queue ?? [],
    beginning: state.beginning ?? [],
    version: state.version,
    root: state.root,
  };
}

/** One event. Events that the state already contains are ignored; a gap asks for the state. */
export function apply(model: Model, event: Event): Step {
  if (event.seq <= model.seq) return { model, resync: false };
  if (event.seq !== model.seq + 1) return { model, resync: true };
  const next = { ...model, seq: event.seq };
  if (event.sessionId !== model.sessionId && event.body.kind !== 'stateChanged') {
    return { model: next, resync: true };
  }
  return reduce(next, event.body);
}

function reduce(model: Model, body: EventBody): Step {
  const done = (changed: Partial<Model>): Step => ({
    model: { ...model, ...changed },
    resync: false,
  });
  switch (body.kind) {
    case 'turnStarted':
      return done({
        messages: upsert(model.messages, {
          ...shown(body.message),
          contextLine: body.contextLine || body.message.contextLine,
        }),
        turn: { id: body.turnId, text: '', reasoning: '', waiting: '' },
        beginning: without(model.beginning, body.turnId),
      });
    case 'textDelta':
      return withTurn(model, body.turnId, (turn) => ({
        ...turn,
        text: turn.text + body.text,
        waiting: '',
      }));
    case 'reasoningDelta':
      return withTurn(model, body.turnId, (turn) => ({
        ...turn,
        text: body.wasText ? '' : turn.text,
        reasoning: turn.reasoning + body.text,
        waiting: '',
      }));
    case 'waiting':
      return withTurn(model, body.turnId, (turn) => ({ ...turn, waiting: body.text }));
    case 'notice':
      return done({ notices: addNotice(model, body) });
    case 'messageAdded':
      return done({
        messages: upsert(model.messages, shown(body.message)),
        turn: { id: body.turnId, text: '', reasoning: '', waiting: '' },
      });
    case 'consentAsked':
      return done({ consents: [...model.consents, body.consent] });
    case 'consentClosed':
      return done({ consents: model.consents.filter((consent) => consent.id !== body.id) });
    case 'queueChanged':
      return done({ queue: body.prompts, beginning: begun(model, body.prompts) });
    case 'editChanged':
      return done({ edits: withEdit(model.edits, body.edit) });
    case 'toolChanged':
      return done({ messages: withCall(model.messages, body.call) });
    case 'turnFinished':
      return done(finish(model, body));
    case 'budgetChanged':
      return done({ budget: body.budget });
    case 'filesChanged':
      return done({ files: body.files });
    case 'modeChanged':
      return done({ mode: body.mode });
    case 'providerChanged':
      return done({ provider: body.provider });
    case 'compactionStart':
      return done({ compacting: true });
    case 'compactionComplete': {
      const known = new Map(model.messages.map((message) => [message.id, message]));
      const messages = body.messages.map((message) => shown(message, known.get(message.id)));
      return done({ messages, compacting: false });
    }
    case 'compactionError':
      return done({ notices: addNotice(model, failure(body)), compacting: false });
    case 'compactionNone':
      return done({ compacting: false });
    case 'stateChanged':
      return { model, resync: true };
    default:
      // A newer server may send kinds that this client does not know.
      return { model, resync: false };
  }
}

/**
 * Apply the facts of an event that a state does not contain: context line, error, usage, notices,
 * thinking.
 */
export function annotate(model: Model, body: EventBody): Model {
  const detail = (id: string | undefined, details: Partial<ShownMessage>): Model => ({
    ...model,
    messages: model.messages.map((message) =>
      message.id === id ? { ...message, ...details } : message,
    ),
  });
  const turn = 'turnId' in body && model.turn?.id === body.turnId ? model.turn : null;
  switch (body.kind) {
    case 'turnStarted':
      return body.contextLine === ''
        ? model
        : detail(body.message.id, { contextLine: body.contextLine });
    case 'turnFinished':
      return detail(body.message?.id, details(body));
    case 'notice':
      return { ...model, notices: addNotice(model, body) };
    case 'compactionError':
      return { ...model, notices: addNotice(model, failure(body)) };
    case 'waiting':
      return turn === null || turn.text !== ''
        ? model
        : { ...model, turn: { ...turn, waiting: body.text } };
    case 'reasoningDelta':
      return turn === null
        ? model
        : { ...model, turn: { ...turn, reasoning: turn.reasoning + body.text } };
    default:
      return model;
  }
}

function withTurn(model: Model, id: string, change: (turn: RunningTurn) => RunningTurn): Step {
  const turn = model.turn?.id === id ? model.turn : { id, text: '', reasoning: '', waiting: '' };
  return { model: { ...model, turn: change(turn) }, resync: false };
}

function finish(model: Model, body: TurnFinished): Partial<Model> {
  const turn = model.turn?.id === body.turnId ? model.turn : null;
  const rest = {
    turn: turn === null ? model.turn : null,
    beginning: without(model.beginning, body.turnId),
  };
  if (body.message !== null) {
    return {
      ...rest,
      messages: upsert(model.messages, { ...shown(body.message), ...details(body) }),
    };
  }
  if (body.outcome === 'ok') return rest;
  const asked = model.messages.findLast((message) => message.role === 'user');
  const placeholder: ShownMessage = {
    id: turnKey(body.turnId),
    groupId: asked?.groupId ?? '',
    role: 'assistant',
    text: turn?.text ?? '',
    status: body.outcome,
    timestamp: '',
    tokens: 0,
    images: [],
    files: [],
    attached: [],
    sent: [],
    note: '',
    contextLine: '',
    state: '',
    thinking: turn?.reasoning ?? '',
    thinkingSeconds: 0,
    calls: [],
    covered: '',
    compaction: '',
    embedded: model.provider.origin === 'embedded',
    ...details(body),
  };
  return { ...rest, messages: upsert(model.messages, placeholder) };
}

/**
 * Turns that have left the queue: they begin now, or the next event says that they were stopped.
 */
function begun(model: Model, prompts: readonly QueuedPrompt[]): string[] {
  const waiting = new Set(prompts.map(({ turnId }) => turnId));
  const left = model.queue.map(({ turnId }) => turnId).filter((id) => !waiting.has(id));
  return [...model.beginning, ...left];
}

function without(turns: readonly string[], id: string): readonly string[] {
  return turns.includes(id) ? turns.filter((one) => one !== id) : turns;
}

function details(
  body: TurnFinished,
): Pick<
  ShownMessage,
  'key' | 'error' | 'advice' | 'code' | 'usage' | 'last' | 'cacheOutcome' | 'cache'
> {
  const { error, advice, code, usage, cache } = body;
  const last = body.last ?? null; // absent from an older server
  const cacheOutcome = body.message?.cacheOutcome ?? cache?.outcome ?? null;
  return { key: turnKey(body.turnId), error, advice, code, usage, last, cacheOutcome, cache };
}

function shown(
  message: ChatMessage & Partial<ShownMessage>,
  previous?: ShownMessage,
): ShownMessage {
  return {
    ...message,
    calls: message.calls ?? [],
    covered: message.covered ?? '',
    compaction: message.compaction ?? '',
    key: message.key ?? previous?.key ?? message.id,
    contextLine: message.contextLine || previous?.contextLine || '',
    error: message.error ?? previous?.error ?? '',
    advice: message.advice ?? previous?.advice ?? '',
    code: message.code ?? previous?.code ?? '',
    usage: message.usage ?? previous?.usage ?? null,
    last: message.last ?? previous?.last ?? null,
    cacheOutcome: message.cacheOutcome ?? previous?.cacheOutcome ?? null,
    cache: message.cache ?? previous?.cache ?? null,
  };
}

function failure(error: CompactionError): Notice {
  const text = `${error.message} ${error.advice}`.trim();
  return { kind: 'notice', level: 'warning', text, code: error.code, turnId: '' };
}

function upsert(messages: readonly ShownMessage[], message: ShownMessage): ShownMessage[] {
  const at = messages.findIndex((known) => known.id === message.id);
  if (at < 0) return [...messages, message];
  return messages.map((known, index) => (index === at ? message : known));
}

function withEdit(edits: readonly EditInfo[], edit: EditInfo): EditInfo[] {
  const known = edits.some((one) => one.id === edit.id);
  return known ? edits.map((one) => (one.id === edit.id ? edit : one)) : [...edits, edit];
}

/** The messages with a call's new state. */
function withCall(messages: readonly ShownMessage[], call: ToolCallInfo): ShownMessage[] {
  return messages.map((message) =>
    message.id === call.messageId
      ? {
          ...message,
          calls: message.calls.map((known) => (known.id === call.id ? call : known)),
        }
      : message,
  );
}

function addNotice(model: Model, body: Notice): ShownNotice[] {
  const last = model.notices.at(-1);
  const after =
    model.turn !== null && model.turn.text !== ''
      ? turnKey(model.turn.id)
      : (model.messages.at(-1)?.key ?? '');
  if (last !== undefined && last.text === body.text && last.after === after) {
    return [...model.notices];
  }
  const notice: ShownNotice = {
    id: model.seq,
    level: body.level,
    text: body.text,
    code: body.code,
    after,
  };
  return [...model.notices, notice].slice(-MAX_NOTICES);
}

/** The group that a retry would send again: that of a last prompt without a complete reply. */
export function retryGroup(model: Model): string | null {
  if (model.turn !== null) return null;
  const last = model.messages.findLast(({ role }) => role !== 'system' && role !== 'tool');
  if (last === undefined) return null;
  const unanswered =
    last.role === 'user' && last.status !== 'dropped' && !model.beginning.includes(last.groupId);
  const failed = ['error', 'interrupted', 'tool_call'].includes(last.status);
  return unanswered || failed ? last.groupId : null;
}
