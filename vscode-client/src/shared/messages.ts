/**
 * The messages between the webview and the extension host. Both sides validate what they receive
 * with these schemas, and drop anything else.
 */
import * as v from 'valibot';
import type { Event, State } from '../protocol';
import { IMAGE_TYPES, MAX_IMAGE_BASE64, MAX_IMAGES } from './images';
import type { Snapshot } from './model';
import { MAX_PATH, MAX_PATHS } from './paths';
import { way, ways } from './ways';

const MAX_TEXT = 2_000_000;
const MAX_NAME = 4_096;

const name = v.pipe(v.string(), v.maxLength(MAX_NAME));
const text = v.pipe(v.string(), v.maxLength(MAX_TEXT));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const image = v.strictObject({
  mediaType: v.picklist(IMAGE_TYPES),
  data: v.pipe(v.string(), v.maxLength(MAX_IMAGE_BASE64), v.regex(/^[A-Za-z0-9+/]+={0,2}$/)),
});

const toHost = v.variant('type', [
  /** The webview is drawn and wants everything. */
  v.strictObject({ type: v.literal('ready') }),
  /** The webview missed an event. */
  v.strictObject({ type: v.literal('resync') }),
  v.strictObject({
    type: v.literal('send'),
    /** Chosen by the webview; returned in ``sent`` or ``refused``. */
    ticket: count,
    text,
    /** Send it with the running turn's next request. */
    steer: v.boolean(),
    /** The turn whose prompt this is to stand for, on a new branch; empty for a new prompt. */
    editing: name,
    images: v.pipe(v.array(image), v.maxLength(MAX_IMAGES)),
    /** Mentions that the user chose with their size in view. */
    agreed: v.pipe(v.array(name), v.maxLength(200)),
  }),
  /** A command; comes back as ``commandDone`` or, not carried out, as ``refused``. */
  v.strictObject({ type: v.literal('command'), ticket: count, text }),
  /** What is done with a prompt that waits. */
  v.strictObject({
    type: v.literal('queue'),
    verb: v.picklist(['change', 'move', 'remove', 'steer', 'wait']),
    turnId: name,
    text,
    to: count,
  }),
  v.strictObject({ type: v.literal('stop') }),
  v.strictObject({ type: v.literal('retry'), groupId: name }),
  v.strictObject({ type: v.literal('newSession') }),
  v.strictObject({ type: v.literal('sessions') }),
  v.strictObject({ type: v.literal('switchBranch') }),
  v.strictObject({
    type: v.literal('turn'),
    verb: v.picklist(['fork', 'drop', 'restore', 'remove', 'back']),
    groupId: name,
    messageId: name,
  }),
  v.strictObject({ type: v.literal('undoCompaction'), id: name }),
  v.strictObject({ type: v.literal('cycleMode') }),
  v.strictObject({ type: v.literal('selectModel') }),
  v.strictObject({ type: v.literal('setApiKey') }),
  /** The first page asks which ways to a model there are; comes back as ``ways``. */
  v.strictObject({ type: v.literal('ways') }),
  way,
  v.strictObject({ type: v.literal('showBudget') }),
  v.strictObject({ type: v.literal('showTurn'), groupId: name }),
  v.strictObject({ type: v.literal('showContext') }),
  v.strictObject({ type: v.literal('showCache') }),
  v.strictObject({ type: v.literal('showLog') }),
  v.strictObject({ type: v.literal('restart') }),
  v.strictObject({ type: v.literal('openSettings') }),
  v.strictObject({ type: v.literal('manageTrust') }),
  v.strictObject({ type: v.literal('addCurrentFile') }),
  v.strictObject({
    type: v.literal('file'),
    verb: v.picklist(['pin', 'unpin', 'remove', 'open', 'explain']),
    path: name,
  }),
  v.strictObject({
    type: v.literal('consent'),
    id: name,
    answer: v.picklist(['once', 'always', 'deny']),
  }),
  v.strictObject({
    type: v.literal('edit'),
    verb: v.picklist(['accept', 'acceptAll', 'reject', 'preview']),
    id: name,
    hunks: v.pipe(v.array(count), v.maxLength(1_000)),
    reason: name,
  }),
  /** Keep or undo edits that were applied at once: one, or those of a turn, of a file, or all. */
  v.strictObject({
    type: v.literal('review'),
    verb: v.picklist(['keep', 'undo']),
    id: name,
    hunks: v.pipe(v.array(count), v.maxLength(1_000)),
    turnId: name,
    path: name,
  }),
  v.strictObject({ type: v.literal('dropped'), uris: v.pipe(v.array(name), v.maxLength(200)) }),
  v.strictObject({ type: v.literal('dropSelection') }),
  v.strictObject({ type: v.literal('toggleActive') }),
  v.strictObject({ type: v.literal('openAttached'), messageId: name, index: count }),
  /** What was sent with a turn's prompt; answered with ``sentList``. */
  v.strictObject({ type: v.literal('sentList'), turnId: name }),
  /** Open the text of one entry. */
  v.strictObject({ type: v.literal('openSent'), turnId: name, key: name }),
  v.strictObject({ type: v.literal('complete'), ticket: count, query: name }),
  /** The draft, whose mentions have changed; comes back as ``mentioned``. */
  v.strictObject({ type: v.literal('mentions'), text }),
  /** Text that was pasted and may be the path of a file; comes back as ``located`` if it is. */
  v.strictObject({ type: v.literal('pasted'), text: name }),
  /** Open what a mention stands for. */
  v.strictObject({ type: v.literal('openMention'), kind: name, text: name }),
  /** What was taken from the editor for the next prompt, by its place in the list. */
  v.strictObject({ type: v.literal('capture'), verb: v.picklist(['open', 'drop']), index: count }),
  v.strictObject({ type: v.literal('copy'), text }),
  v.strictObject({ type: v.literal('insert'), text }),
  v.strictObject({ type: v.literal('openLink'), href: name }),
  /** Which of these are files here? Comes back as ``paths``. */
  v.strictObject({
    type: v.literal('paths'),
    paths: v.pipe(v.array(v.pipe(v.string(), v.maxLength(MAX_PATH))), v.maxLength(MAX_PATHS)),
  }),
  /** An action on a code block of a reply. */
  v.strictObject({
    type: v.literal('code'),
    verb: v.picklist(['apply', 'new', 'run']),
    text,
    path: name,
    language: name,
    messageId: name,
  }),
]);

export type ToHost = v.InferOutput<typeof toHost>;

const looseEvent = v.pipe(
  v.looseObject({
    seq: count,
    sessionId: v.string(),
    body: v.looseObject({ kind: v.string() }),
  }),
  v.transform((value) => value as unknown as Event),
);

const message = v.looseObject({
  id: v.string(),
  groupId: v.string(),
  role: v.string(),
  text: v.string(),
  status: v.string(),
});

const looseState = v.pipe(
  v.looseObject({
    seq: count,
    sessionId: v.string(),
    messages: v.array(message),
    files: v.array(v.looseObject({ path: v.string(), uri: v.string() })),
    budget: v.looseObject({
      used: v.number(),
      maxInputTokens: v.number(),
      sections: v.array(v.looseObject({ name: v.string(), tokens: v.number() })),
    }),
    mode: v.string(),
    provider: v.looseObject({ name: v.string(), model: v.string() }),
  }),
  v.transform((value) => value as unknown as State),
);

/** How the server is; what the sidebar says while there is no conversation to show. */
const connection = v.strictObject({
  kind: v.picklist([
    'starting',
    'installing',
    'ready',
    'restarting',
    'noPython',
    'noServer',
    'failed',
    'stopped',
  ]),
  /** What is going on or what went wrong, in a sentence; empty when all is well. */
  text: v.string(),
  /** What to do about it; empty when nothing. */
  advice: v.string(),
});

export type Connection = v.InferOutput<typeof connection>;

/** The folder as the editor sees it: whether it is trusted, and whether it is virtual. */
const place = v.strictObject({
  trusted: v.boolean(),
  virtual: v.boolean(),
  /** Names of the folders behind the first; the paths of their files begin with them. */
  roots: v.array(v.string()),
});

export type Place = v.InferOutput<typeof place>;

/** The active editor as a chip: what it shows, and whether it is sent. */
const activeChip = v.strictObject({
  label: v.string(),
  path: v.string(),
  selected: v.boolean(),
  on: v.boolean(),
});

export type ActiveChip = v.InferOutput<typeof activeChip>;

/** What a list of completions offers. */
const completion = v.strictObject({
  /** What is put into the text: a mention with its ``@``, or a command with its slash. */
  path: v.string(),
  detail: v.string(),
  kind: v.optional(v.string()),
  label: v.optional(v.string()),
  /** In tokens; null where it is not known. */
  tokens: v.optional(v.nullable(v.number())),
  /** More has to be typed: `@symbol:` asks for a name. */
  expands: v.optional(v.boolean()),
});

export type Completion = v.InferOutput<typeof completion>;

/** A mention of the draft, or something taken from the editor for it, as a chip. */
const mentioned = v.strictObject({
  /** As it stands in the draft; empty for what is not written there. */
  text: v.string(),
  kind: v.string(),
  label: v.string(),
  /** A sentence: what is sent, or why it is not. */
  detail: v.string(),
  tokens: v.nullable(v.number()),
  state: v.picklist(['ok', 'ask', 'unknown', 'refused']),
});

export type Mentioned = v.InferOutput<typeof mentioned>;

/** Something that was sent beside the conversation. */
const sentEntry = v.object({
  key: v.string(),
  kind: v.string(),
  label: v.string(),
  tokens: v.number(),
});

export type SentEntry = v.InferOutput<typeof sentEntry>;

const toWebview = v.variant('type', [
  v.strictObject({ type: v.literal('place'), place }),
  v.strictObject({ type: v.literal('connection'), connection }),
  v.strictObject({
    type: v.literal('state'),
    state: v.pipe(
      looseState,
      v.transform((value): Snapshot => value),
    ),
  }),
  v.strictObject({ type: v.literal('event'), event: looseEvent }),
  v.strictObject({
    type: v.literal('sent'),
    ticket: count,
    turnId: v.string(),
    messageId: v.string(),
    queued: v.boolean(),
    notices: v.array(v.string()),
  }),
  v.strictObject({
    type: v.literal('refused'),
    ticket: count,
    code: v.string(),
    error: v.string(),
    advice: v.string(),
  }),
  v.strictObject({ type: v.literal('commandDone'), ticket: count, text: v.string() }),
  v.strictObject({
    type: v.literal('completions'),
    ticket: count,
    items: v.array(completion),
  }),
  v.strictObject({
    type: v.literal('mentioned'),
    mentions: v.array(mentioned),
    given: v.array(mentioned),
  }),
  /** The pasted ``text`` is this file or folder. */
  v.strictObject({ type: v.literal('located'), text: v.string(), mention: v.string() }),
  /** A mention that the user chose elsewhere: in the explorer, a menu, a drop. */
  v.strictObject({ type: v.literal('mention'), text: v.string() }),
  /** A prompt that a menu or a code action brought, to be sent as if it had been typed. */
  v.strictObject({ type: v.literal('ask'), text: v.string(), send: v.boolean() }),
  /** The selection that is sent with the next prompt; null if there is none. */
  v.strictObject({
    type: v.literal('selection'),
    selection: v.nullable(v.strictObject({ label: v.string(), characters: count })),
  }),
  v.strictObject({ type: v.literal('active'), active: v.nullable(activeChip) }),
  v.strictObject({
    type: v.literal('sentList'),
    turnId: v.string(),
    entries: v.array(sentEntry),
  }),
  v.strictObject({ type: v.literal('ways'), ways }),
  v.strictObject({
    type: v.literal('paths'),
    asked: v.array(v.string()),
    found: v.array(v.string()),
  }),
  v.strictObject({ type: v.literal('focusInput') }),
  /** A message to the user from the client itself. */
  v.strictObject({
    type: v.literal('hint'),
    level: v.picklist(['info', 'warning', 'error']),
    text: v.string(),
  }),
]);

export type ToWebview = v.InferOutput<typeof toWebview>;

/** A message from the webview; null if it is invalid. */
export function parseToHost(value: unknown): ToHost | null {
  const result = v.safeParse(toHost, value);
  return result.success ? result.output : null;
}

/** A message from the host; null if it is invalid. */
export function parseToWebview(value: unknown): ToWebview | null {
  const result = v.safeParse(toWebview, value);
  return result.success ? result.output : null;
}

/** An event from the server; null if it is invalid. */
export function parseEvent(value: unknown): Event | null {
  const result = v.safeParse(looseEvent, value);
  return result.success ? result.output : null;
}

/** A state from the server; null if it is invalid. */
export function parseState(value: unknown): State | null {
  const result = v.safeParse(looseState, value);
  return result.success ? result.output : null;
}
