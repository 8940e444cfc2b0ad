// Generated from server/tierline/protocol/ by `make docs-gen`. Do not edit.

/** A request without parameters. */
export interface NoParams {
}

/** Done; nothing to report. */
export interface Ok {
  ok: boolean;
}

/** Something that the policy decided, with the numbers that it decided by. */
export interface CacheDecision {
  code: string;
  sentence: string;
  numbers: Record<string, number>;
}

/** What the provider's cache gave one request, and why. Tokens; -1 where nobody knows. */
export interface CacheReport {
  outcome: 'hit' | 'partial' | 'miss' | 'first' | 'unknown' | 'uncached';
  /** Reason: ``none``, ``new_session``, ``provider``, ``model``, ``tools``, ``system``, ``policy``, ``expired``, ``restarted``, ``edited``, ``reordered``, ``removed``, ``added``, ``compacted``, ``lookback``, ``evicted``, ``unreported``, ``small`` or ``no_cache``. */
  code: string;
  sentence: string;
  turnId: string;
  planId: string;
  /** ISO 8601, UTC. */
  at: string;
  provider: string;
  model: string;
  policy: string;
  /** Key of the first item that differs from what was sent before; empty if none is to blame. */
  item: string;
  itemLabel: string;
  inputTokens: number;
  outputTokens: number;
  readTokens: number;
  writtenTokens: number;
  /** Input that was neither read nor written. */
  uncachedTokens: number;
  /** What the request before had left in the cache. */
  offeredTokens: number;
  /** How much of that this request begins with. */
  readableTokens: number;
  /** Since the cache was used last; 0 for the first request. */
  idleSeconds: number;
  /** US dollars; 0 without known prices. */
  cost: number;
  saved: number;
  decisions: CacheDecision[];
}

/** A change that the user thinks of. An empty ``change`` only asks how the next request stands: a long pause is the same as no change. */
export interface ChangeForecastParams {
  change?: '' | 'model' | 'effort' | 'tools';
  provider?: string;
  model?: string;
  /** With ``model``: what would be selected (as in ``provider/select``). */
  baseUrl?: string;
  effort?: string;
}

/** What the next request would cost without the change and with it. Tokens are our own counts, money is the input's, in US dollars; 0 where prices are not known. */
export interface ChangeForecast {
  tokens: number;
  /** What the cache should give without the change. */
  readableTokens: number;
  readableThen: number;
  cost: number;
  costThen: number;
  /** Until what is cached expires; -1 where nobody knows. */
  secondsLeft: number;
  /** True if the change costs more than ``spending.warn_change_cost``. */
  warn: boolean;
  sentence: string;
}

/** A turn; the newest request of the session when empty. */
export interface CacheExplainParams {
  turnId?: string;
}

/** Why a request did or did not hit the cache. */
export interface CacheExplainResult {
  sentence: string;
  /** The turn's last request; null before the first one. */
  report: CacheReport | null;
  /** All requests of the turn, in their order. */
  requests: CacheReport[];
  /** The session's newest request that did not read all that was cached; null if there is none. */
  lastMiss: CacheReport | null;
}

/** ``next`` is the request as it would be sent now, ``last`` the one that was sent last. */
export interface CacheTiersParams {
  which?: 'next' | 'last';
}

/** One piece of a request in its tier. Sizes in tokens. */
export interface CacheItem {
  key: string;
  label: string;
  section: string;
  /** ``item``: as it is; the others are updates in the conversation. */
  kind: 'item' | 'delta' | 'full' | 'gone' | 'confirmed';
  tokens: number;
  path: string;
  /** Requests since it was put here; with the counter policy its N. */
  age: number;
  /** Probability that it changes by the next request, 0 to 1; 0 if the policy does not use it. */
  hazard: number;
  /** Something later in the request replaces these bytes. */
  stale: boolean;
  /** The provider has these bytes in its cache, and the request begins with them. */
  cached: boolean;
  /** A cache breakpoint stands behind it. */
  marked: boolean;
  /** Since the request before. */
  change: '' | 'new' | 'edited' | 'moved';
}

/** One tier, from the most stable to the least. Sizes in tokens. */
export interface CacheTier {
  tier: string;
  name: string;
  tokens: number;
  cachedTokens: number;
  staleTokens: number;
  /** Updates that were appended instead of rewriting a tier. */
  deltaTokens: number;
  items: CacheItem[];
}

/** A request's tiers as a viewer draws them. */
export interface CacheTiers {
  which: 'next' | 'last';
  policy: string;
  provider: string;
  model: string;
  /** Whether the provider caches at breakpoints, every prefix by itself, or not at all. */
  caching: 'explicit' | 'automatic' | 'none';
  tokens: number;
  /** What of it the provider has cached, by our own count. */
  cachedTokens: number;
  tiers: CacheTier[];
  /** Lifetime that breakpoints ask for; empty where there are none. */
  ttl: string;
  /** Until what is cached expires; 0 if it has, -1 if it does not or nothing was sent. */
  secondsLeft: number;
  decisions: CacheDecision[];
  /** The newest request's outcome. */
  report: CacheReport | null;
}

/** A session by id (the current one when empty), or all sessions of the workspace. */
export interface StatsParams {
  sessionId?: string;
  all?: boolean;
}

/** Turns of a session (the current one when empty), or of all sessions, newest first. */
export interface TurnStatsParams {
  sessionId?: string;
  all?: boolean;
  limit?: number;
}

/** One call of a tool. */
export interface CallStats {
  tool: string;
  status: string;
  milliseconds: number;
  /** Of its whole result. */
  characters: number;
}

/** What a turn was given, did and came to. */
export interface TurnStats {
  sessionId: string;
  turnId: string;
  /** Seconds since the epoch. */
  began: number;
  seconds: number;
  /** ``ok``, ``interrupted`` or ``error``. */
  outcome: string;
  retrievalSet: string;
  /** One plan per request. */
  plans: string[];
  inputTokens: number;
  outputTokens: number;
  /** None where the provider says nothing of its cache. */
  readTokens: number | null;
  /** How far the estimates were from what the provider reported; null if it reported nothing. */
  errorPercent: number | null;
  calls: CallStats[];
  /** ``path: state`` of every edit that was proposed. */
  edits: string[];
  /** US dollars, all requests together; 0 without known prices. */
  cost: number;
  /** Against the same requests without any cache. */
  saved: number;
}

/** Newest first. */
export interface TurnStatsResult {
  turns: TurnStats[];
}

/** What keep-alive requests did. Money in US dollars. */
export interface KeepAliveStats {
  requests: number;
  readTokens: number;
  cost: number;
  /** What writing the prefix anew would have cost more in pauses that they bridged. */
  saved: number;
  enabled: boolean;
  /** The last decision of this run, with its numbers. */
  decision: CacheDecision | null;
}

/** Sums over a session's requests. Tokens; money in US dollars by the model table's prices. */
export interface SessionStats {
  sessionId: string;
  title: string;
  requests: number;
  /** Requests for which the provider gave figures of its cache; rates are of these. */
  reported: number;
  inputTokens: number;
  outputTokens: number;
  readTokens: number;
  writtenTokens: number;
  uncachedTokens: number;
  /** Share of input that was read from the cache, 0 to 1, over reported requests. */
  hitRate: number;
  cost: number;
  /** Against the same requests with no cache at all; keep-alive requests are subtracted. */
  saved: number;
  /** Requests whose prices are known. */
  priced: number;
  /** Requests of Tierline's own, such as summaries; their price is in ``cost``, nothing else. */
  beside: number;
  /** Requests that did not read all that was cached, by reason code. */
  causes: Record<string, number>;
  keepAlive: KeepAliveStats;
}

/** Per session, the newest first, and in total. */
export interface Stats {
  sessions: SessionStats[];
  total: SessionStats;
}

/** The newest requests of a session (the current one when empty), at most ``limit``. */
export interface RequestStatsParams {
  sessionId?: string;
  limit?: number;
}

/** How large one tier of a request was, by Tierline's own count. Sizes in tokens. */
export interface TierTokens {
  tier: string;
  name: string;
  tokens: number;
  cachedTokens: number;
}

/** One request of a turn. Tokens, -1 where the provider reported none. */
export interface RequestStats {
  turnId: string;
  /** ISO 8601, UTC. */
  at: string;
  provider: string;
  model: string;
  outcome: 'hit' | 'partial' | 'miss' | 'first' | 'unknown' | 'uncached';
  /** As in ``CacheReport``. */
  code: string;
  /** Most input that the model takes. */
  windowTokens: number;
  inputTokens: number;
  outputTokens: number;
  readTokens: number;
  writtenTokens: number;
  /** US dollars; null without known prices. */
  cost: number | null;
  /** Against the same request with no cache. */
  saved: number | null;
  /** From the most stable to the least; empty for requests older than the newest 40. */
  tiers: TierTokens[];
}

/** Oldest first. */
export interface RequestStatsResult {
  sessionId: string;
  requests: RequestStats[];
  /** Older requests that the limit left out. */
  leftOut: number;
}

/** Where the user is in the active editor. Lines count from 1; 0 where that is not known. */
export interface EditorPlace {
  uri: string;
  firstLine?: number;
  /** The selected lines if there is a selection, otherwise those on the screen. */
  lastLine?: number;
  cursorLine?: number;
}

/** A prompt. What it names with ``@`` is sent, too: files, symbols, problems, git's changes. */
export interface ChatSendParams {
  text: string;
  images?: ImageInput[];
  /** The document that the user looks at; only its name is used, unless it is in the context. */
  activeUri?: string;
  /** Selected text, sent with the prompt. */
  selection?: string;
  /** What the user looks at, to be sent with the prompt: a small file whole, of a large one the part around the cursor. Null to send nothing. */
  editor?: EditorPlace | null;
  /** What becomes of ``@`` mentions that name a folder, nothing, or what may not be sent. ``ask``: nothing is sent, and ``unclear_mention`` says which. ``text``: they stay plain text. ``confirm``: the user agreed, so folders are added and files of secrets are sent. */
  mentions?: 'ask' | 'text' | 'confirm';
  /** Mentions as they are written, each of which the user has agreed to, with its size in view: these are not asked about. */
  agreed?: string[];
  /** What the editor gives for the prompt's mentions, and what is sent without being named. */
  given?: EditorContent[];
  /** Append the prompt again even if the same one was the last and got no reply. */
  force?: boolean;
  /** While a turn runs: send the prompt with its next request, behind the results of its tools. If there is no further request, it is the next prompt as usual. */
  steer?: boolean;
}

/** Explain, fix, test or document the code at a place; the server's code actions use it. */
export interface AskParams {
  what: 'explain' | 'fix' | 'tests' | 'document' | 'ask';
  editor: EditorPlace;
  /** The lines of ``editor`` are selected; otherwise the definition at the cursor is meant. */
  selected?: boolean;
  /** The problems to fix. */
  problems?: Problem[];
  /** The user's own words; required for ``ask``. */
  text?: string;
}

/** The turn goes on; its events carry this id. */
export interface ChatSendResult {
  turnId: string;
  messageId: string;
  /** True if another turn or a compaction is running; this one starts after it. */
  queued: boolean;
  notices: string[];
}

/** Change an earlier prompt and go on from there, on a new branch; what followed it stays on the branch before. */
export interface ChatEditParams {
  /** The turn of the prompt that is changed. */
  groupId: string;
  /** What is sent instead. */
  prompt: ChatSendParams;
  /** Send the earlier prompt's pictures again. */
  keepImages?: boolean;
}

/** A prompt that waits, by its turn's id. */
export interface QueueParams {
  turnId: string;
}

/** Another text for a prompt that waits. */
export interface QueueChangeParams {
  turnId: string;
  text: string;
}

/** Another place for a prompt that waits; 0 is the next one. */
export interface QueueMoveParams {
  turnId: string;
  to: number;
}

/** Whether a prompt that waits is to reach the running turn at its next step. */
export interface QueueSteerParams {
  turnId: string;
  steer?: boolean;
}

/** The prompts that wait, the next one first. One that was changed or moved has new ids. */
export interface QueueResult {
  prompts: QueuedPrompt[];
}

/** Cancel one turn, or whatever runs when ``turn_id`` is empty. */
export interface ChatCancelParams {
  turnId?: string;
}

/** Whether something was running and has been told to stop. */
export interface ChatCancelResult {
  cancelled: boolean;
  turnId: string;
}

/** Ask again: the group is removed from the history, and its prompt is sent again. */
export interface ChatRetryParams {
  groupId?: string;
}

/** The context mode; empty cycles off, light, heavy. */
export interface ModeParams {
  mode?: 'off' | 'light' | 'heavy' | '';
}

/** The mode now in force. */
export interface ModeResult {
  mode: 'off' | 'light' | 'heavy';
}

/** How much the model is to think, in this run; empty only asks, auto is the model's default. */
export interface EffortParams {
  effort?: '' | 'auto' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
}

/** How much the model is to think. */
export interface EffortResult {
  /** As it was chosen or set. */
  effort: string;
  /** The effort that the request sets: the nearest that this model has. auto: none is set. */
  inForce: string;
  /** What can be chosen for this model; empty if it has no such setting. */
  choices: string[];
}

/** All providers, the active one marked. */
export interface ProviderListResult {
  providers: ProviderInfo[];
  /** Further providers, to be set up with an address and a key. */
  presets: PresetInfo[];
}

/** Choose a provider and model for this session; empty name returns to the automatic choice. */
export interface ProviderSelectParams {
  name?: string;
  model?: string;
  baseUrl?: string;
  /** The user agrees to use the server found on this machine. */
  consent?: boolean;
}

/** A key from the editor's secret storage. Kept in memory only, never written, never logged. */
export interface ProviderKeyParams {
  /** The name of a provider that takes a key. */
  provider: string;
  /** Empty forgets the key. */
  key: string;
}

/** Whose models: a provider's name, or the address of a server found on this machine. */
export interface ModelsParams {
  provider?: string;
  baseUrl?: string;
}

/** One model. ``summary`` and ``details`` say the rest in words, a line each. */
export interface ModelCard {
  name: string;
  /** False if nobody described it: sizes are assumed. */
  known: boolean;
  maxInputTokens: number;
  maxOutputTokens: number;
  summary: string;
  details: string;
  /** US dollars per million tokens; null if no price is known. */
  priceInput: number | null;
  priceOutput: number | null;
  priceCached: number | null;
  caching: 'explicit' | 'automatic' | 'none';
  /** Null if nobody knows. */
  pictures: boolean | null;
  thinking: 'no' | 'can' | 'always' | 'unknown';
  note: string;
}

/** The models of a provider. ``source`` says who named them. */
export interface ModelsResult {
  provider: string;
  title: string;
  models: ModelCard[];
  source: 'server' | 'table';
  /** Why the server's own list is not here, if it is not. */
  notice: string;
}

/** A provider that can be set up. What stands in braces in its address is to be filled in. */
export interface PresetInfo {
  name: string;
  title: string;
  baseUrl: string;
  keyPrefix: string;
  /** A server that users run themselves: the address may differ, and a key is rarely needed. */
  own: boolean;
}

/** A key that is to be tried before it is stored. It is forgotten afterwards. */
export interface KeyCheckParams {
  provider: string;
  key: string;
  baseUrl?: string;
}

/** Whether the key is good. ``message`` is one sentence and what to do. */
export interface KeyCheckResult {
  /** unknown: the server was reached, but has no way to try a key without a prompt. */
  outcome: 'ok' | 'refused' | 'unreachable' | 'unknown';
  message: string;
  models: string[];
}

/** A model that the editor offers to extensions. */
export interface EditorModelInfo {
  id: string;
  name?: string;
  vendor?: string;
  family?: string;
  /** 0 if the editor does not say. */
  maxInputTokens?: number;
  /** The model can be shown pictures, and the editor passes them on. */
  pictures?: boolean;
}

/** What the editor offers now. */
export interface EditorModelsResult {
  models?: EditorModelInfo[];
}

/** A request to one of the editor's models. */
export interface EditorChatParams {
  requestId: string;
  model: string;
  /** Messages and tools in the form of OpenAI's Chat Completions. */
  body: Record<string, unknown>;
}

/** The reply is whole: all its parts have been sent before this answer. */
export interface EditorChatResult {
  inputTokens?: number | null;
  outputTokens?: number | null;
  /** The model's own report, in the form of Chat Completions or Messages, if it gave one. */
  usage?: Record<string, unknown>;
}

/** A part of a reply: text, thinking, or a whole tool call. */
export interface EditorPartParams {
  requestId: string;
  text?: string;
  callId?: string;
  callName?: string;
  /** The arguments of a tool call as JSON text. */
  callArguments?: string;
  thinking?: string;
}

/** The reply is no longer wanted. */
export interface EditorCancelParams {
  requestId: string;
}

/** A turn began: its request is being sent. */
export interface TurnStarted {
  turnId: string;
  message: ChatMessage;
  /** The budget meter's line under the user message, e.g. ``2 files · 2.1k tokens · CTX light`` */
  contextLine: string;
  kind: 'turnStarted';
}

/** More of the reply. */
export interface TextDelta {
  turnId: string;
  text: string;
  kind: 'textDelta';
}

/** More of the model's thinking. */
export interface ReasoningDelta {
  turnId: string;
  text: string;
  /** All of the reply's text so far was thinking. ``text`` repeats it; clients that can, move it from the reply to the thinking. */
  wasText: boolean;
  kind: 'reasoningDelta';
}

/** Nothing has streamed yet, or a retry is due; shown as the turn's status. */
export interface Waiting {
  turnId: string;
  text: string;
  seconds: number;
  kind: 'waiting';
}

/** A message for the user. */
export interface Notice {
  level: 'info' | 'warning' | 'error';
  text: string;
  code: string;
  turnId: string;
  kind: 'notice';
}

/** The running turn has a new message: a complete reply that calls tools, or a prompt of the user's. What streams next belongs to another message. */
export interface MessageAdded {
  turnId: string;
  message: ChatMessage;
  kind: 'messageAdded';
}

/** The queue of waiting prompts changed. */
export interface QueueChanged {
  prompts: QueuedPrompt[];
  kind: 'queueChanged';
}

/** A call of a tool began, waits for the user, or has ended. */
export interface ToolChanged {
  turnId: string;
  call: ToolCallInfo;
  kind: 'toolChanged';
}

/** The user has to agree before the turn goes on. */
export interface ConsentAsked {
  consent: ConsentInfo;
  kind: 'consentAsked';
}

/** A question was answered, here or elsewhere, or is no longer asked. */
export interface ConsentClosed {
  id: string;
  answer: 'once' | 'always' | 'deny' | 'withdrawn';
  kind: 'consentClosed';
}

/** An edit was proposed or decided, or its state changed. */
export interface EditChanged {
  edit: EditInfo;
  kind: 'editChanged';
}

/** The reply is complete, stopped or failed; the message holds what there is. */
export interface TurnFinished {
  turnId: string;
  outcome: 'ok' | 'interrupted' | 'error';
  message: ChatMessage | null;
  /** Sums over all requests of the turn, those that were cut off included; null if none was answered. */
  usage: UsageInfo | null;
  /** The last request alone, if there were several. */
  last: UsageInfo | null;
  /** Error code when the outcome is ``error``. */
  code: string;
  error: string;
  advice: string;
  /** What the cache gave the turn's last request. */
  cache: CacheReport | null;
  /** How long the user has waited for it. */
  seconds: number;
  kind: 'turnFinished';
}

/** The budget as it is now. */
export interface BudgetChanged {
  budget: Budget;
  kind: 'budgetChanged';
}

/** The file context as it is now. */
export interface FilesChanged {
  files: FileInfo[];
  kind: 'filesChanged';
}

/** The web pages of the context as they are now. */
export interface UrlsChanged {
  urls: UrlInfo[];
  kind: 'urlsChanged';
}

/** The conversation was replaced (session loaded, undo, branch switch): ask for the state. */
export interface StateChanged {
  reason: string;
  kind: 'stateChanged';
}

/** The context mode changed. */
export interface ModeChanged {
  mode: 'off' | 'light' | 'heavy';
  kind: 'modeChanged';
}

/** The provider or the model changed. */
export interface ProviderChanged {
  provider: ProviderInfo;
  kind: 'providerChanged';
}

/** A memo was saved, changed or deleted. */
export interface MemosChanged {
  kind: 'memosChanged';
}

/** The STATE block or the scratchpad changed. */
export interface NotesChanged {
  which: 'anchor' | 'scratchpad';
  kind: 'notesChanged';
}

/** The symbol index changed its state or its content. */
export interface SymbolsChanged {
  status: SymbolsStatus;
  kind: 'symbolsChanged';
}

/** The pins, leases or suggestions changed. */
export interface PinsChanged {
  pins: PinsResult;
  kind: 'pinsChanged';
}

/** A compaction has been running for half a second. Prompts can be sent; they wait for it. */
export interface CompactionStart {
  kind: 'compactionStart';
}

/** The history was compacted; ``messages`` is the conversation to show from now on. */
export interface CompactionComplete {
  result: CompactionResult;
  messages: ChatMessage[];
  kind: 'compactionComplete';
}

/** The history could not be compacted; it is as it was. */
export interface CompactionError {
  code: string;
  message: string;
  advice: string;
  kind: 'compactionError';
}

/** A compaction ended without a change: clients remove its progress. */
export interface CompactionNone {
  reason: string;
  kind: 'compactionNone';
}

/** One step of what happens. ``seq`` grows by one; a gap means: ask for the state. */
export interface Event {
  seq: number;
  sessionId: string;
  body: TurnStarted | TextDelta | ReasoningDelta | Waiting | Notice | MessageAdded | QueueChanged | ToolChanged | ConsentAsked | ConsentClosed | EditChanged | TurnFinished | BudgetChanged | FilesChanged | UrlsChanged | StateChanged | ModeChanged | ProviderChanged | MemosChanged | NotesChanged | SymbolsChanged | PinsChanged | CompactionStart | CompactionComplete | CompactionError | CompactionNone;
}

/** A file, by ``path`` (relative or absolute) or ``uri``. A folder means the files in it. */
export interface FileParams {
  path?: string;
  uri?: string;
  /** The user saw the warning and still wants it (ignored or secret files). */
  confirm?: boolean;
}

/** The file context after the change, and what was refused. */
export interface FilesResult {
  files: FileInfo[];
  refused: FileInfo[];
  notices: string[];
}

/** A web page by its address (``example.org/page`` means https), or by its key. */
export interface UrlParams {
  url: string;
}

/** A web page in the context. */
export interface UrlInfo {
  key: string;
  url: string;
  title: string;
  /** When it was read; ISO 8601, UTC. */
  fetched: string;
  tokens: number;
  /** Where it was found, if the server led on to another address. */
  finalUrl: string;
  mediaType: string;
  /** Stability tier in the last plan; empty before the first request. */
  tier: string;
}

/** The web pages of the context. */
export interface UrlsResult {
  urls: UrlInfo[];
  /** The page that was added or read again. */
  added: UrlInfo | null;
  notices: string[];
}

/** A page's text, as the model is given it. */
export interface UrlText {
  info: UrlInfo;
  text: string;
}

/** A file of instructions for assistants, of the project or the user's own. */
export interface InstructionInfo {
  key: string;
  /** Its path in the workspace; the user's own begin with ``~/``. */
  name: string;
  kind: 'agents' | 'claude' | 'gemini' | 'copilot' | 'cursor' | 'cline' | 'user';
  uri: string;
  /** As it is sent, or would be. */
  tokens: number;
  /** False: the user switched it off. */
  enabled: boolean;
  /** It is part of the next request. */
  active: boolean;
  /** Why it is not; empty if it is. */
  why: string;
  /** It is for files of this folder. */
  folder: string;
  /** It is for files that fit one of these. */
  globs: string[];
  description: string;
  /** Files that it brings along. */
  imports: string[];
  /** What of it is not sent, and why. */
  notices: string[];
  /** Stability tier in the last plan. */
  tier: string;
}

/** The instruction files that there are. */
export interface InstructionsResult {
  files: InstructionInfo[];
}

/** Use a file, or leave it out, in this workspace from now on. */
export interface InstructionSwitchParams {
  key: string;
  enabled: boolean;
}

/** One session in a list, the one used last first. */
export interface SessionInfo {
  sessionId: string;
  /** Of its newest message, ISO 8601 UTC. */
  timestamp: string;
  messageCount: number;
  /** About the first 100 characters. */
  preview: string;
  firstRole: string;
  title: string;
  current: boolean;
  archived: boolean;
}

/** How many sessions; 0 for the newest thousand. */
export interface SessionListParams {
  limit?: number;
  /** Only those in whose id, title or first words this is, in any case of letters. */
  query?: string;
  /** Those in the archive instead of all others. */
  archived?: boolean;
}

/** Sessions, and log files in the folder that are damaged or foreign (never changed). */
export interface SessionListResult {
  sessions: SessionInfo[];
  damaged: string[];
  /** There are more than were asked for. */
  more: boolean;
  /** The index is being built: some are missing, or counted in part. Ask again later. */
  partial: boolean;
}

/** A session by id; the current one when empty. */
export interface SessionParams {
  sessionId?: string;
}

/** A session leaves the usual lists and searches; the current one when empty. Its records stay as they are, and whoever goes on with it brings it back. */
export interface ArchiveParams {
  sessionId?: string;
  /** False: it comes back. */
  away?: boolean;
}

/** Whether listed files and pages stay; when empty, the setting decides or the user is asked. */
export interface NewSessionParams {
  files?: '' | 'keep' | 'drop';
}

/** A file, a folder with all its files, or a page that a new session would keep. */
export interface KeptEntry {
  name: string;
  /** Of a folder's that are listed; 0 for a page. */
  files: number;
  tokens: number;
  pinned: boolean;
}

/** What a new session would keep, the largest first. Tokens and cost are those of its first prompt; cost in US dollars, 0 where prices are unknown. */
export interface NewSessionFiles {
  entries: KeptEntry[];
  tokens: number;
  cost: number;
  /** A question to the user that says all that. */
  sentence: string;
  /** False if there is nothing to keep, or if a setting decides. */
  ask: boolean;
}

/** A session as a text; the current one when empty. */
export interface ExportParams {
  format?: 'markdown' | 'html' | 'json';
  sessionId?: string;
}

/** The text, and what a file of it may be called. */
export interface ExportResult {
  name: string;
  text: string;
}

/** A conversation as another tool wrote it. */
export interface ImportParams {
  text: string;
  /** The file's name, for messages. */
  name?: string;
}

/** What was taken over, and what could not be. */
export interface ImportResult {
  /** Whose format it is. */
  source: string;
  sessions: number;
  messages: number;
  leftOut: string[];
}

/** A session's visible messages. */
export interface SessionMessages {
  sessionId: string;
  messages: ChatMessage[];
}

/** Case-insensitive search in all sessions, or in one. */
export interface SearchParams {
  query: string;
  role?: string;
  limit?: number;
  sessionId?: string;
  /** Search the archive, too. */
  archived?: boolean;
}

/** A message that was found. */
export interface SearchHit {
  messageId: string;
  sessionId: string;
  groupId: string;
  role: string;
  timestamp: string;
  snippet: string;
}

/** Hits, newest first. ``partial``: the index is behind, there may be more. */
export interface SearchHits {
  hits: SearchHit[];
  partial: boolean;
}

/** Figures for a client's history bar. Token counts. */
export interface HistoryStatus {
  sessionId: string;
  sessionTitle: string;
  branch: string;
  historyTokens: number;
  maxHistoryTokens: number;
  compactionEnabled: boolean;
  compactionTriggerTokens: number;
  compactionPercent: number;
  needsSummary: boolean;
  groups: number;
  window: number;
  strategy: string;
  /** A compaction runs now. */
  compacting: boolean;
  /** Compactions in force. */
  compactions: number;
  /** How the last compaction of this run went; empty if there was none. */
  compactionNote: string;
}

/** A turn by its group id; the newest when empty. */
export interface GroupParams {
  groupId?: string;
}

/** Take back the newest turn, or all after ``to``. */
export interface UndoParams {
  to?: string;
}

/** One turn in a list. */
export interface GroupInfo {
  groupId: string;
  prompt: string;
  messages: number;
  /** Snapshot weight of its last request. */
  tokens: number;
  /** ``undo``, ``remove`` or ``drop`` if it is not part of the conversation now. */
  hidden: string;
}

/** How many turns, newest last; 0 for all. */
export interface GroupListParams {
  limit?: number;
  /** List hidden turns too. */
  hidden?: boolean;
}

/** Turns, oldest first. */
export interface GroupListResult {
  groups: GroupInfo[];
}

/** The rolling window in turns; 0 for the full history. */
export interface WindowParams {
  size: number;
}

/** How history is selected. */
export interface StrategyParams {
  name: 'full' | 'window' | 'ranked' | 'levels';
}

/** A new branch from a message (the newest when empty); it becomes the current one. */
export interface ForkParams {
  messageId?: string;
  name?: string;
}

/** A branch by id. */
export interface BranchParams {
  branch: string;
}

/** One branch. */
export interface BranchInfo {
  branch: string;
  parent: string;
  forkMessage: string;
  headMessage: string;
  current: boolean;
}

/** All branches of the session. */
export interface BranchListResult {
  branches: BranchInfo[];
  current: string;
}

/** A session's title. */
export interface RenameParams {
  title: string;
  sessionId?: string;
}

/** Everything that belongs to a turn: as messages, and as one text to read. */
export interface GroupDetails {
  groupId: string;
  messages: ChatMessage[];
  text: string;
  /** Snapshot weight of its last request. */
  tokens: number;
  /** ``undo``, ``remove`` or ``drop`` if it is not part of the conversation now. */
  hidden: string;
  /** Plans of the requests that its replies answered. */
  planIds: string[];
}

/** One SELECT over the views ``messages``, ``groups`` and ``sessions``. */
export interface QueryParams {
  sql: string;
}

/** The rows as text. ``truncated``: the limits cut something off. */
export interface QueryResult {
  columns: string[];
  rows: string[][];
  truncated: boolean;
}

/** Two branches; an empty ``b`` is the current one. */
export interface BranchCompareParams {
  a: string;
  b?: string;
}

/** What two branches share and what each has alone, and how their last requests differ. */
export interface BranchComparison {
  a: string;
  b: string;
  /** Id of the last message that both have; empty if there is none. */
  commonMessage: string;
  onlyA: ChatMessage[];
  onlyB: ChatMessage[];
  /** The plan of the newest turn that has one; empty if there is none. */
  planA: string;
  planB: string;
  /** The difference from plan a to plan b. */
  planLines: string[];
  /** All of it as one text to read. */
  text: string;
}

/** A line that begins with a slash: ``/context window 5``. */
export interface CommandParams {
  text: string;
}

/** What to show: a short answer, or (``document``) a text to open. Markdown. */
export interface CommandResult {
  title: string;
  text: string;
  document: boolean;
  /** The prompt that the line stands for: the client sends it as if it had been typed and shows nothing else. Empty for all other commands. */
  prompt: string;
}

/** One command of the chat. */
export interface CommandInfo {
  usage: string;
  doc: string;
  /** The file of a command of one's own; empty for those that are built in. */
  source: string;
  /** It stands for a prompt. */
  prompt: boolean;
}

/** All of them. */
export interface CommandListResult {
  commands: CommandInfo[];
}

/** A log file in the workspace's ``.tierline`` folder, by name. */
export interface RecoverParams {
  file: string;
}

/** How many records were taken over (known ones are left out), and the sessions as they are now. The file itself stays as it is. */
export interface RecoverResult {
  added: number;
  sessions: SessionInfo[];
  damaged: string[];
}

/** The STATE block in force; empty text for none. */
export interface AnchorResult {
  text: string;
  /** Goal, Context, Resolved and Technical Anchors, as far as it has them. */
  fields: Record<string, string>;
  /** Whether the model is asked to keep it (setting ``history.state_anchor``). */
  enabled: boolean;
}

/** The session's scratchpad. ``version`` names this text. */
export interface Scratchpad {
  text: string;
  version: string;
}

/** The whole new text; ``version`` is that of the text that was changed, empty for any. */
export interface ScratchpadSetParams {
  text: string;
  version?: string;
}

/** Text for the end of the scratchpad. */
export interface ScratchpadAppendParams {
  text: string;
}

/** A memo: knowledge that does not depend on a session. Times are ISO 8601 UTC. */
export interface MemoInfo {
  id: string;
  scope: 'project' | 'user';
  content: string;
  tags: string[];
  created: string;
  changed: string;
  source: 'user' | 'model';
}

/** Memos of one scope or both, with a tag or any. */
export interface MemoListParams {
  scope?: 'project' | 'user' | '';
  tag?: string;
}

/** Memos, and the tags that are in use, the most frequent first. */
export interface MemoListResult {
  memos: MemoInfo[];
  tags: string[];
}

/** A new memo: for this project, or for all projects of the user. */
export interface MemoSaveParams {
  content: string;
  tags?: string[];
  scope?: 'project' | 'user';
}

/** What to change; what is left out stays. Another scope moves the memo: it gets a new id. */
export interface MemoEditParams {
  id: string;
  content?: string | null;
  tags?: string[] | null;
  scope?: 'project' | 'user' | '';
}

/** A memo by id. */
export interface MemoParams {
  id: string;
}

/** Words, tags that a memo must all have, or both. */
export interface MemoSearchParams {
  query?: string;
  tags?: string[];
  scope?: 'project' | 'user' | '';
  limit?: number;
}

/** A short description of a file: an aid, never the truth. */
export interface CapsuleInfo {
  path: string;
  text: string;
  source: 'extract' | 'model';
  model: string;
  /** 0 to 1. */
  confidence: number;
  created: string;
  /** Of the text that it describes. */
  sha256: string;
  /** The file has changed since, or is gone: it is not sent. */
  stale: boolean;
}

/** All capsules by path. */
export interface CapsuleListResult {
  capsules: CapsuleInfo[];
}

/** A file to describe, by its own words or by the model. */
export interface CapsuleMakeParams {
  path: string;
  useModel?: boolean;
}

/** One level and how full it is. Token counts; volatile has what the others leave. */
export interface MemoryLevel {
  level: 'permanent' | 'session' | 'working' | 'volatile';
  tokens: number;
  budget: number;
}

/** A summary with its provenance. */
export interface MemorySummaryInfo {
  id: string;
  level: 'permanent' | 'session' | 'working' | 'volatile';
  title: string;
  text: string;
  tokens: number;
  originalTokens: number;
  /** Ids of the messages that it was made from. */
  sources: string[];
  /** It is no longer sent, but can be retrieved. */
  archived: boolean;
}

/** The memory as it is now, also under other strategies. */
export interface MemoryStats {
  /** The history strategy is ``levels``. */
  active: boolean;
  used: number;
  total: number;
  messages: number;
  levels: MemoryLevel[];
  summaries: MemorySummaryInfo[];
  /** How many times shorter summaries are, on average; 0 before the first. */
  ratio: number;
  originalTokens: number;
  compressedTokens: number;
  tasks: number;
  task: string;
  /** What went with the last prompt, e.g. ``task-2``, ``error-17``, ``turn-8``. */
  retrieved: string[];
  lastCompressionMinutes: number | null;
  /** Summaries are too detailed (under 2x on average); empty if all is well. */
  warning: string;
  /** The same as text. */
  lines: string[];
}

/** Compact now. ``instructions``: what the summary is to hold, in the user's own words. */
export interface CompactionParams {
  instructions?: string;
}

/** What a compaction stands for. */
export interface CompactionView {
  compactionId: string;
  summary: string;
  /** Those that are no longer sent, oldest first. */
  messages: ChatMessage[];
  /** What they took. */
  tokens: number;
  /** Messages of the same turns that are still sent. */
  kept: number;
}

/** A compaction by the id of its message; the newest one in force when empty. */
export interface CompactionUndoParams {
  compactionId?: string;
}

/** What a compaction did. Token counts of the history as it is sent. */
export interface CompactionResult {
  case: 'truncate' | 'summarize' | 'none';
  reason: string;
  compactionId: string;
  summary: string;
  /** How many messages it stands for. */
  messages: number;
  tokensBefore: number;
  tokensAfter: number;
}

/** Something that a prompt names, or that it could name. */
export interface MentionInfo {
  /** As it is written in the prompt, with the ``@``: ``@src/a.py``, ``@git:staged``. */
  text: string;
  kind: 'file' | 'folder' | 'symbol' | 'problems' | 'terminal' | 'selection' | 'git' | 'editors' | 'web' | 'session' | 'memo';
  label: string;
  /** A few words more: where it is, what it holds. */
  detail: string;
  /** What it adds to the request; null where that is not known before it is read. */
  tokens: number | null;
  /** Of a folder or of the open editors: how many files it brings. */
  files: number;
  /** ``ask``: is sent only after the user agreed. ``unknown``: names nothing. ``refused``: is not sent, whatever the user says. */
  state: 'ok' | 'ask' | 'unknown' | 'refused';
  /** A sentence for all but ``ok``. */
  why: string;
  /** In a completion: it is only a prefix (``@symbol:``); ask again with it. */
  expands: boolean;
}

/** The text after the ``@`` so far; empty at the beginning. */
export interface MentionCompleteParams {
  query: string;
  limit?: number;
}

/** What it can become, the likeliest first. */
export interface MentionCompleteResult {
  items: MentionInfo[];
  /** There are more, or some are not known yet: ask again in a moment, or after the next key. */
  incomplete: boolean;
}

/** A diagnostic of the editor. */
export interface Problem {
  uri: string;
  message: string;
  /** From 1; 0 where that is not known. */
  line?: number;
  severity?: 'error' | 'warning' | 'information' | 'hint';
  /** Who says so: ``ruff``. */
  source?: string;
  code?: string;
}

/** What only the editor has, at the time when it was read: problems, the text of a terminal, a selection, the open documents. */
export interface EditorContent {
  kind: 'problems' | 'terminal' | 'selection' | 'editors';
  /** The mention in the prompt that it stands for (``@terminal``); empty for what is sent without being named. */
  mention?: string;
  /** The terminal's name. */
  label?: string;
  /** Of a terminal or a selection. */
  text?: string;
  /** Of a selection's document, or of the one whose problems these are; empty for all. */
  uri?: string;
  firstLine?: number;
  /** Of a selection, from 1. */
  lastLine?: number;
  problems?: Problem[];
  /** Of the open documents. */
  uris?: string[];
}

/** A prompt, and what the editor gives for its mentions. What is lacking it is asked for, if it declares ``provides``. */
export interface MentionResolveParams {
  text: string;
  given?: EditorContent[];
}

/** The prompt's mentions in its order, without what only looks like one (``@property``). */
export interface MentionResolveResult {
  mentions: MentionInfo[];
  /** What is sent without being named, in the order in which it was given. */
  given: MentionInfo[];
  /** Of everything that would be sent, where it is known. */
  tokens: number;
}

/** What a mention needs of the editor. */
export interface EditorProvideParams {
  kind: 'problems' | 'terminal' | 'selection' | 'editors';
  /** After the colon: a terminal's name, or ``selection`` for what is selected in the terminal. */
  argument: string;
  /** Problems: of this document only. */
  uri: string;
}

/** What is to become of a file that the user has changed since. */
export interface BackChoice {
  path: string;
  /** ``old``: what it was; ``merge``: the same with the user's changes; ``mine``: as it is. */
  take: 'old' | 'merge' | 'mine';
}

/** A moment, and what is to become of files that the user has changed since. */
export interface BackParams {
  /** The turn whose prompt is gone back to; empty for the newest. */
  groupId?: string;
  /** True for what was there before the newest going back. */
  forward?: boolean;
  /** The moment before an earlier move, by its id (``BackResult.moveId``). */
  moveId?: string;
  /** For each file that is not named, what its preview says is taken. */
  choices?: BackChoice[];
}

/** A file that is another one at the moment. */
export interface BackFile {
  path: string;
  uri: string;
  change: 'restore' | 'create' | 'delete';
  /** What is taken if nothing is chosen: never something that loses a change of the user. */
  take: 'old' | 'merge' | 'mine';
  /** What can be taken. */
  choices: ('old' | 'merge' | 'mine')[];
  /** The user has changed it since. */
  yours: boolean;
  /** It has unsaved changes; it is changed in the editor and not saved. */
  unsaved: boolean;
  added: number;
  /** Lines, if that is taken. */
  removed: number;
  /** Why it cannot be brought back. */
  why: string;
}

/** What going back would change; nothing is changed yet. */
export interface BackPreview {
  groupId: string;
  forward: boolean;
  /** The prompt that is gone back to; empty for going forward. */
  prompt: string;
  /** The branch that is gone to; empty for a new one. */
  branch: string;
  files: BackFile[];
  /** What is not known, in sentences. */
  notes: string[];
  /** All of it, to be read. */
  text: string;
}

/** Where the conversation and the files are now. */
export interface BackResult {
  moveId: string;
  branch: string;
  /** The prompt that was gone back to, to be changed and sent again. */
  prompt: string;
  /** Paths of files that were brought back. */
  changed: string[];
  /** Paths of files that are as the user has them. */
  kept: string[];
  problems: string[];
  /** All of it, to be read. */
  text: string;
}

/** A plan by id; the newest when empty. Showing the context without an id shows that of the next request: without a prompt, or as it would be with this one. */
export interface PlanParams {
  planId?: string;
  prompt?: string;
}

/** How many plans, newest first. */
export interface PlanListParams {
  limit?: number;
}

/** Ask why ``key`` (``file:src/a.py``, or just a path) is in or out. */
export interface PlanExplainParams {
  key: string;
  planId?: string;
}

/** One sentence. */
export interface PlanExplainResult {
  key: string;
  included: boolean;
  sentence: string;
  planId: string;
}

/** Two plans to compare, the older first. */
export interface PlanDiffParams {
  a: string;
  b: string;
}

/** What changed between two plans, line by line, and what broke the cached prefix. */
export interface PlanDiffResult {
  lines: string[];
  firstBreak: string;
}

/** One item of a plan. */
export interface PlanEntryInfo {
  key: string;
  section: string;
  tier: string;
  tokens: number;
  included: boolean;
  code: string;
  reason: string;
}

/** A stored plan. */
export interface PlanInfo {
  planId: string;
  sessionId: string;
  turnId: string;
  created: string;
  model: string;
  mode: 'off' | 'light' | 'heavy';
  totalTokens: number;
  requestSha256: string;
  entries: PlanEntryInfo[];
}

/** Newest first, without entries. */
export interface PlanListResult {
  plans: PlanInfo[];
}

/** What was sent with a turn's prompt. With a key of its entries: that entry's text, too. */
export interface PlanSentParams {
  turnId: string;
  key?: string;
}

/** Something that was sent beside the conversation and stands in the request as text. */
export interface SentEntry {
  key: string;
  kind: 'instructions' | 'memo' | 'file' | 'page' | 'card' | 'recalled';
  label: string;
  tokens: number;
}

/** Of the turn's first request. ``text`` is what was sent of the entry that was asked for; if a change of it was appended since, that stands behind it. */
export interface PlanSentResult {
  planId: string;
  entries: SentEntry[];
  text: string;
}

/** The exact assembled context as a person can read it. */
export interface PromptTextResult {
  text: string;
  planId: string;
}

/** A language of the index. */
export interface SymbolsLanguage {
  name: string;
  files: number;
  available: boolean;
  /** Why its symbols are not read: the grammar is not installed for this platform. */
  why: string;
}

/** Files that are not indexed, by reason. */
export interface SkippedFiles {
  reason: string;
  files: number;
}

/** Where the symbol index stands. */
export interface SymbolsStatus {
  state: 'off' | 'starting' | 'indexing' | 'ready' | 'failed';
  files: number;
  symbols: number;
  done: number;
  /** Files of the scan that runs, or of the last one. */
  total: number;
  languages: SymbolsLanguage[];
  skipped: SkippedFiles[];
  /** What the last whole scan took. */
  seconds: number;
  /** Processor time that the index's process has used so far. */
  cpuSeconds: number;
  /** The most that the index's process has had resident. */
  memoryBytes: number;
  /** Why it is off or has failed, and what to do. */
  why: string;
}

/** Look at every file again; ``fresh`` also chooses anew what the module map shows. */
export interface ReindexParams {
  fresh?: boolean;
}

/** A retrieval set by its id or by the turn that it was made for; the newest when both empty. */
export interface RetrievalParams {
  setId?: string;
  turnId?: string;
}

/** A piece of code that was found for a prompt, in the request or not. */
export interface RetrievalCandidate {
  /** Key of the item (``card:src/a.py#Plan.entry``). */
  key: string;
  path: string;
  uri: string;
  symbol: string;
  kind: string;
  /** First line, from 1. */
  line: number;
  end: number;
  /** 0 to 1, relative to the best. */
  score: number;
  why: string;
  included: boolean;
  /** Stable code of why it is out; empty if it is in. */
  code: string;
  reason: string;
  tokens: number;
  /** Reached through the reference graph, not by the prompt's words. */
  hop: boolean;
  activation: number;
  pin: 'sticky' | 'leased' | 'ephemeral' | 'none';
}

/** What was retrieved for one turn, with reasons; the breakdown of the line under a prompt. */
export interface RetrievalInfo {
  setId: string;
  turnId: string;
  mode: 'off' | 'light' | 'heavy';
  query: string;
  /** The budget meter's line under the prompt. */
  line: string;
  /** Number of the query cluster (phase) that the prompt belongs to. */
  cluster: number;
  task: string;
  candidates: RetrievalCandidate[];
  /** Tokens of the module map in this request. */
  mapTokens: number;
  cardTokens: number;
  /** Promotions and ended leases, in sentences. */
  changes: string[];
  note: string;
}

/** A symbol whose body is wanted: ``symbol`` (``Plan.entry``), ``path`` or both. */
export interface CodeParams {
  symbol?: string;
  path?: string;
  maxLines?: number;
}

/** The body, as the model is given it. */
export interface CodeResult {
  found: boolean;
  text: string;
  key: string;
  path: string;
  line: number;
  end: number;
}

/** A file by ``path``, or a symbol of it. */
export interface PinItemParams {
  path: string;
  symbol?: string;
}

/** A pin or a suggestion by the key of its item. */
export interface PinKeyParams {
  key: string;
}

/** Something that is held in the context, or that the model suggests to pin. */
export interface PinInfo {
  key: string;
  path: string;
  uri: string;
  pin: 'sticky' | 'leased' | 'ephemeral' | 'none';
  symbol: string;
  line: number;
  end: number;
  tokens: number;
  /** What a lease is scoped to: ``turn:<n>`` or ``task:<id>``. */
  scope: string;
  activation: number;
  why: string;
}

/** What is held, and what is suggested. Suggestions hold nothing until they are accepted. */
export interface PinsResult {
  pins: PinInfo[];
  suggested: PinInfo[];
}

/** The user's answer to a question. ``always`` counts as ``once`` where it may not be given. */
export interface ConsentAnswerParams {
  id: string;
  answer: 'once' | 'always' | 'deny';
  /** Told to the model with a denial. */
  reason?: string;
}

/** An edit by id. */
export interface EditParams {
  id: string;
}

/** Accept an edit, or some of its hunks. */
export interface EditAcceptParams {
  id: string;
  /** Indexes; empty for all. */
  hunks?: number[];
  /** Further edits of this session are applied at once, without being asked about. */
  session?: boolean;
}

/** Bring code of a reply into a file, as an edit that the user decides about. */
export interface EditProposeParams {
  code: string;
  /** The reply that it stands in. */
  messageId: string;
  path?: string;
  /** The file; one of both. A file that does not exist is made with the code in it. */
  uri?: string;
}

/** Reject an edit. The reason is told to the model. */
export interface EditRejectParams {
  id: string;
  reason?: string;
}

/** Decide about one hunk of an edit. */
export interface EditChooseParams {
  id: string;
  /** Its index. */
  hunk: number;
  /** False to leave it out. */
  take?: boolean;
}

/** Edits that are in their files: one, or those of a turn, of a file, or all. */
export interface EditReviewParams {
  id?: string;
  /** Indexes of parts of that one; empty for all of it. */
  hunks?: number[];
  turnId?: string;
  path?: string;
}

/** The edits after the review, and those that could not be changed. */
export interface EditReviewResult {
  edits: EditInfo[];
  /** A sentence for each that was left as it is. */
  problems: string[];
}

/** Edits, oldest first. */
export interface EditListResult {
  edits: EditInfo[];
}

/** Both texts of an edit, for a diff view. Line ends are LF. */
export interface EditPreview {
  id: string;
  path: string;
  uri: string;
  before: string;
  after: string;
  /** True if the file has changed since; ``before`` is then what it says now, and ``after`` what the edit would make of that. */
  stale: boolean;
}

/** Commands that run in this workspace without being asked about, each as its argument list. */
export interface AllowedCommands {
  commands: string[][];
}

/** A command to ask about again; all of them if ``argv`` is empty. */
export interface ForgetCommandParams {
  argv?: string[];
}

/** Documents that the client is asked to save. */
export interface SaveParams {
  uris: string[];
}

/** Those that are saved now. */
export interface SaveResult {
  saved: string[];
}

/** A picture that the user attached. */
export interface ImageInput {
  /** MIME type: image/png, image/jpeg, image/gif or image/webp. */
  mediaType: string;
  /** Base64 of the bytes, without a data-URI prefix. */
  data: string;
}

/** One entry of the file context. */
export interface FileInfo {
  /** Workspace-relative POSIX path, root-qualified in multi-root workspaces. */
  path: string;
  uri: string;
  /** As it is sent; its full size if it was left out. */
  tokens: number;
  pin: 'sticky' | 'leased' | 'ephemeral' | 'none';
  state: 'ok' | 'missing' | 'refused' | 'shed';
  /** Why it is missing, refused, shed or sent only in part; empty when all is well. */
  reason: string;
  /** Stability tier in the last plan: L0 to L3, log or active; empty before the first request. */
  tier: string;
  /** Other names of the same file (links, relative spellings) that were given for it. */
  aliases: string[];
  origin: string;
  /** The folder that brought it (``src/``), which can be taken out again as one; empty if it came by itself. */
  folder: string;
  /** True if the text comes from an unsaved editor buffer. */
  dirty: boolean;
  /** Stable code of the reason (``secret``, ``ignored``, ``binary``, …); empty if all is well. ``cut``, in state ``ok``: it is larger than one file may be; only its beginning is sent. */
  code: string;
  /** True if asking again with ``confirm`` would take a refused file. */
  confirmable: boolean;
}

/** One part of the next request. The sections' tokens sum exactly to ``used``. */
export interface BudgetSection {
  name: string;
  tokens: number;
  detail: string;
}

/** What the provider itself reported for one request, or for all of a turn, in tokens. */
export interface UsageInfo {
  inputTokens: number;
  outputTokens: number;
  /** None where the provider says nothing of its cache. */
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  /** True if the provider reported nothing and these are our own counts. */
  estimated: boolean;
  /** US dollars, as the provider says or by the model table's prices; 0 if they are not known. */
  cost: number;
  /** US dollars that the cache saved; negative where writing cost more than reading gave back. */
  saved: number;
  /** How many requests these are the sums of. */
  requests: number;
}

/** The size of the next request as it would be sent now. Token counts throughout. */
export interface Budget {
  model: string;
  provider: string;
  used: number;
  maxInputTokens: number;
  maxOutputTokens: number;
  remaining: number;
  /** 0 to 100. */
  percent: number;
  sections: BudgetSection[];
  accuracy: 'exact' | 'calibrated' | 'estimated';
  /** Error margin that enforcement adds; never part of ``used``. */
  marginPercent: number;
  /** Where the window size comes from: table, user, provider or default. */
  limitSource: string;
  historyTokens: number;
  compactionTriggerTokens: number;
  lastReported: UsageInfo | null;
  lifetimeInputTokens: number;
  lifetimeOutputTokens: number;
}

/** One call of a tool, as a foldable row shows it. */
export interface ToolCallInfo {
  /** Unique within its message. */
  id: string;
  /** The assistant message that holds the call. */
  messageId: string;
  name: string;
  /** What it does, in a few words (``src/a.py, lines 1 to 40``). */
  title: string;
  status: 'waiting' | 'running' | 'asking' | 'ok' | 'error' | 'interrupted';
  /** What came of it, in a few words (``42 lines``). */
  note: string;
  /** JSON, cut to what a person reads. */
  arguments: string;
  /** The beginning of what the model was told. */
  result: string;
  milliseconds: number;
  /** The edit that it proposes, if it does. */
  editId: string;
}

/** Something that runs only if the user agrees. */
export interface ConsentInfo {
  id: string;
  turnId: string;
  callId: string;
  kind: 'command' | 'url' | 'spending';
  /** The question. */
  title: string;
  /** What would be done, exactly; what cannot be seen is written as an escape. */
  text: string;
  /** Where, and with which limits. */
  detail: string;
  /** True if ``always`` may be answered: exactly this is then never asked again here. */
  canRemember: boolean;
}

/** One part of a proposed edit, which may be accepted by itself. */
export interface EditHunk {
  index: number;
  /** First line, from 1, in the text as it was when that was last looked at. */
  line: number;
  before: string;
  after: string;
  /** The decision about this part; nothing is applied before all parts are decided. Of an edit that was applied at once: ``take`` if it was kept, ``leave`` if it was undone. */
  choice: '' | 'take' | 'leave';
}

/** An edit that the model proposed. */
export interface EditInfo {
  id: string;
  turnId: string;
  messageId: string;
  callId: string;
  path: string;
  uri: string;
  state: 'open' | 'applied' | 'partly' | 'rejected' | 'failed' | 'undone' | 'expired';
  /** True for a new file. */
  create: boolean;
  added: number;
  /** Lines. */
  removed: number;
  hunks: EditHunk[];
  /** Indexes of the hunks that were applied. */
  accepted: number[];
  /** Why it was rejected or failed; of an open one, why it does not fit the file as it is now. */
  reason: string;
  /** ``open``: it was applied at once, and waits to be kept or undone. */
  review: '' | 'open' | 'kept';
}

/** Something that was sent with a prompt: what the user was looking at, what was named. */
export interface Attachment {
  kind: 'file' | 'selection' | 'excerpt' | 'folder' | 'symbol' | 'problems' | 'terminal' | 'git' | 'editors' | 'web' | 'session' | 'memo';
  /** ``src/a.py:10-14`` */
  label: string;
  path: string;
  uri: string;
  /** Lines from 1; 0 for the whole file. */
  firstLine: number;
  lastLine: number;
  /** What was sent of it; empty for files and pages, which stand in the context. */
  text: string;
}

/** How much of one kind was sent with a prompt; ``tierline/plan/sent`` lists it. */
export interface SentGroup {
  kind: 'instructions' | 'memo' | 'file' | 'page' | 'card' | 'recalled';
  count: number;
  /** What it is, if it is one. */
  label: string;
}

/** One message as a client shows it. */
export interface ChatMessage {
  id: string;
  groupId: string;
  role: 'user' | 'assistant' | 'tool' | 'system';
  text: string;
  status: 'ok' | 'tool_call' | 'dropped' | 'interrupted' | 'error';
  /** ISO 8601, UTC. */
  timestamp: string;
  /** Snapshot weight of the request that produced it (prompt + completion); 0 if unknown. */
  tokens: number;
  /** Data URIs. */
  images: string[];
  files: string[];
  /** At a prompt: what was sent with it from the editor. */
  attached: Attachment[];
  /** A line under the message: why it was interrupted or got no reply. */
  note: string;
  /** Under a prompt: what context went with it, e.g. ``2 files · 2.1k tokens · CTX light``. */
  contextLine: string;
  /** At a prompt: what else was sent with its first request, without what is ``attached``. */
  sent: SentGroup[];
  /** The STATE block that a reply ended with, without its heading; not part of ``text``. */
  state: string;
  /** What can be read of the model's thinking before this reply. */
  thinking: string;
  /** How long it thought; 0 if that is not known. */
  thinkingSeconds: number;
  /** The tools that an assistant's message calls, with what came of them. Messages with the role ``tool`` hold the results; a client that shows these rows need not show them. */
  calls: ToolCallInfo[];
  /** What the turn took, sums over all its requests: at the turn's last reply, or at its prompt if the provider answered without a reply coming of it. Null at the other messages, while the turn runs, and where it is not known. */
  usage: UsageInfo | null;
  /** The turn's last request alone, if there were several. */
  last: UsageInfo | null;
  /** What the cache gave that request; null where ``usage`` is, and in older conversations. */
  cacheOutcome: 'hit' | 'partial' | 'miss' | 'first' | 'unknown' | 'uncached' | null;
  /** Id of the compaction that stands for it: it is shown, but no longer sent. */
  covered: string;
  /** Not a message but a compaction: ``text`` is the summary, ``id`` is what undo takes. */
  compaction: '' | 'truncate' | 'summarize';
  /** At a reply: the embedded model wrote it, which is small. */
  embedded: boolean;
}

/** A prompt that waits for its turn. */
export interface QueuedPrompt {
  turnId: string;
  messageId: string;
  text: string;
  /** How many pictures are sent with it. */
  images: number;
  /** It is to reach the running turn at its next step. */
  steer: boolean;
}

/** A provider and whether it can be used now. */
export interface ProviderInfo {
  name: string;
  available: boolean;
  model: string;
  /** Why it was chosen, or why it cannot be used and what to do. */
  why: string;
  models: string[];
  active: boolean;
  /** A server was found on this machine; it is used only after the user agreed. */
  needsConsent: boolean;
  baseUrl: string;
  /** What people call it. */
  title: string;
  /** found: a server that runs on this machine. */
  origin: 'service' | 'embedded' | 'editor' | 'found';
  takesKey: boolean;
  /** How its keys begin, to show what is asked for. */
  keyPrefix: string;
}

/** Everything that a client shows; enough to draw itself whole after a reconnect. */
export interface State {
  /** Sequence number of the newest event that this state already contains. */
  seq: number;
  sessionId: string;
  branch: string;
  messages: ChatMessage[];
  files: FileInfo[];
  budget: Budget;
  mode: 'off' | 'light' | 'heavy';
  provider: ProviderInfo;
  /** Id of the turn that is running; empty when idle. */
  busyTurn: string;
  /** What the running turn has streamed so far. */
  partialText: string;
  version: string;
  root: string;
  compacting: boolean;
  /** Questions that wait for the user. */
  consents: ConsentInfo[];
  /** Prompts that wait, the next one first; they are among ``messages``, too. */
  queue: QueuedPrompt[];
  /** Edits proposed in this conversation, oldest first; those that are open survive a restart. */
  edits: EditInfo[];
}

export type EventBody = TurnStarted | TextDelta | ReasoningDelta | Waiting | Notice | MessageAdded | QueueChanged | ToolChanged | ConsentAsked | ConsentClosed | EditChanged | TurnFinished | BudgetChanged | FilesChanged | UrlsChanged | StateChanged | ModeChanged | ProviderChanged | MemosChanged | NotesChanged | SymbolsChanged | PinsChanged | CompactionStart | CompactionComplete | CompactionError | CompactionNone;

export const EVENT = 'tierline/chat/event';

/** Wire name of each request, with its parameters and result. */
export interface Requests {
  /** Send a prompt. */
  'tierline/chat/send': [ChatSendParams, ChatSendResult];
  /** Explain, fix, test or document code. */
  'tierline/chat/ask': [AskParams, ChatSendResult];
  /** Stop a reply at once. */
  'tierline/chat/cancel': [ChatCancelParams, ChatCancelResult];
  /** Send the last prompt again. */
  'tierline/chat/retry': [ChatRetryParams, ChatSendResult];
  /** List what a prompt can name with @. */
  'tierline/mention/complete': [MentionCompleteParams, MentionCompleteResult];
  /** List what a prompt names, with sizes; change nothing. */
  'tierline/mention/resolve': [MentionResolveParams, MentionResolveResult];
  /** Change an earlier prompt. */
  'tierline/chat/edit': [ChatEditParams, ChatSendResult];
  /** List the waiting prompts. */
  'tierline/queue/list': [NoParams, QueueResult];
  /** Change a waiting prompt. */
  'tierline/queue/change': [QueueChangeParams, QueueResult];
  /** Move a waiting prompt. */
  'tierline/queue/move': [QueueMoveParams, QueueResult];
  /** Take a waiting prompt back. */
  'tierline/queue/remove': [QueueParams, QueueResult];
  /** Send one in the running turn. */
  'tierline/queue/steer': [QueueSteerParams, QueueResult];
  /** Add a file or folder to the context. */
  'tierline/files/add': [FileParams, FilesResult];
  /** Take a file out of the context. */
  'tierline/files/remove': [FileParams, FilesResult];
  /** List the file context. */
  'tierline/files/list': [NoParams, FilesResult];
  /** Empty the file context. */
  'tierline/files/clear': [NoParams, FilesResult];
  /** Pin a file: it is shed last. */
  'tierline/files/pin': [FileParams, FilesResult];
  /** Unpin a file; it stays in context. */
  'tierline/files/unpin': [FileParams, FilesResult];
  /** List instruction files. */
  'tierline/instructions/list': [NoParams, InstructionsResult];
  /** Use an instruction file or leave it out. */
  'tierline/instructions/set': [InstructionSwitchParams, InstructionsResult];
  /** Read a web page into the context. */
  'tierline/urls/add': [UrlParams, UrlsResult];
  /** List the web pages in the context. */
  'tierline/urls/list': [NoParams, UrlsResult];
  /** Take a web page out of the context. */
  'tierline/urls/remove': [UrlParams, UrlsResult];
  /** Read a web page again. */
  'tierline/urls/refresh': [UrlParams, UrlsResult];
  /** Get the text of a web page. */
  'tierline/urls/show': [UrlParams, UrlText];
  /** Get the next request's size by section. */
  'tierline/budget/get': [NoParams, Budget];
  /** Get everything that a client shows. */
  'tierline/state/get': [NoParams, State];
  /** Set or cycle the context mode. */
  'tierline/mode/set': [ModeParams, ModeResult];
  /** List providers, with state. */
  'tierline/provider/list': [NoParams, ProviderListResult];
  /** Choose a provider. */
  'tierline/provider/select': [ProviderSelectParams, ProviderInfo];
  /** Hand over a key. */
  'tierline/provider/setKey': [ProviderKeyParams, ProviderInfo];
  /** Get or set how much it thinks. */
  'tierline/model/effort': [EffortParams, EffortResult];
  /** List a provider's models. */
  'tierline/provider/models': [ModelsParams, ModelsResult];
  /** Try a key. */
  'tierline/provider/checkKey': [KeyCheckParams, KeyCheckResult];
  /** Get a stored plan with all its entries. */
  'tierline/plan/get': [PlanParams, PlanInfo];
  /** List plans, newest first. */
  'tierline/plan/list': [PlanListParams, PlanListResult];
  /** Say why an item is in a request or not. */
  'tierline/plan/explain': [PlanExplainParams, PlanExplainResult];
  /** Compare two plans. */
  'tierline/plan/diff': [PlanDiffParams, PlanDiffResult];
  /** List what a prompt took along. */
  'tierline/plan/sent': [PlanSentParams, PlanSentResult];
  /** Get the exact context as text. */
  'tierline/plan/show': [PlanParams, PromptTextResult];
  /** Begin a new session. */
  'tierline/history/newSession': [NewSessionParams, State];
  /** List the files and pages that a new session would keep. */
  'tierline/history/newSessionFiles': [NoParams, NewSessionFiles];
  /** List sessions. */
  'tierline/history/listSessions': [SessionListParams, SessionListResult];
  /** Continue another session. */
  'tierline/history/loadSession': [SessionParams, State];
  /** Read a session. */
  'tierline/history/getSession': [SessionParams, SessionMessages];
  /** Hide a session. */
  'tierline/history/deleteSession': [SessionParams, SessionListResult];
  /** Give the session a title. */
  'tierline/history/renameSession': [RenameParams, Ok];
  /** Archive a session, or bring it back. */
  'tierline/history/archiveSession': [ArchiveParams, SessionListResult];
  /** Search all sessions. */
  'tierline/history/search': [SearchParams, SearchHits];
  /** Get the figures of the history. */
  'tierline/history/status': [NoParams, HistoryStatus];
  /** List the session's turns. */
  'tierline/history/list': [GroupListParams, GroupListResult];
  /** Take back the newest turn. */
  'tierline/history/undo': [UndoParams, State];
  /** Remove a turn for good. */
  'tierline/history/remove': [GroupParams, State];
  /** Hide a turn; it can come back. */
  'tierline/history/drop': [GroupParams, State];
  /** Bring a hidden turn back. */
  'tierline/history/restore': [GroupParams, State];
  /** Set how many turns are sent. */
  'tierline/history/window': [WindowParams, HistoryStatus];
  /** Choose the strategy. */
  'tierline/history/strategy': [StrategyParams, HistoryStatus];
  /** Get everything of one turn. */
  'tierline/history/show': [GroupParams, GroupDetails];
  /** Read the history with SQL. */
  'tierline/history/query': [QueryParams, QueryResult];
  /** Compare branches. */
  'tierline/branch/compare': [BranchCompareParams, BranchComparison];
  /** Carry out a slash command. */
  'tierline/chat/command': [CommandParams, CommandResult];
  /** List the slash commands. */
  'tierline/chat/commands': [NoParams, CommandListResult];
  /** Export a session as text. */
  'tierline/history/export': [ExportParams, ExportResult];
  /** Import a conversation. */
  'tierline/history/import': [ImportParams, ImportResult];
  /** Take over a damaged log. */
  'tierline/history/recover': [RecoverParams, RecoverResult];
  /** Get the STATE block in force. */
  'tierline/history/anchor': [NoParams, AnchorResult];
  /** Derive STATE from the window. */
  'tierline/history/rebuild': [NoParams, AnchorResult];
  /** Get the session's scratchpad. */
  'tierline/scratchpad/get': [NoParams, Scratchpad];
  /** Replace the scratchpad. */
  'tierline/scratchpad/set': [ScratchpadSetParams, Scratchpad];
  /** Add to its end. */
  'tierline/scratchpad/append': [ScratchpadAppendParams, Scratchpad];
  /** Get the symbol index's state. */
  'tierline/symbols/status': [NoParams, SymbolsStatus];
  /** Index every file again. */
  'tierline/symbols/reindex': [ReindexParams, SymbolsStatus];
  /** List what a turn retrieved. */
  'tierline/retrieval/get': [RetrievalParams, RetrievalInfo];
  /** Get the body of a symbol. */
  'tierline/retrieval/code': [CodeParams, CodeResult];
  /** List what is held or suggested. */
  'tierline/pins/list': [NoParams, PinsResult];
  /** List what the model suggests to pin. */
  'tierline/pins/suggested': [NoParams, PinsResult];
  /** Pin a file or a symbol. */
  'tierline/pins/add': [PinItemParams, PinsResult];
  /** Remove a pin or a lease. */
  'tierline/pins/remove': [PinKeyParams, PinsResult];
  /** Pin what the model suggests. */
  'tierline/pins/accept': [PinKeyParams, PinsResult];
  /** Dismiss a suggestion. */
  'tierline/pins/dismiss': [PinKeyParams, PinsResult];
  /** Compact now. */
  'tierline/compaction/run': [CompactionParams, CompactionResult];
  /** List the messages that a compaction stands for. */
  'tierline/compaction/show': [CompactionUndoParams, CompactionView];
  /** Take back a compaction. */
  'tierline/compaction/undo': [CompactionUndoParams, State];
  /** Begin a branch at a message. */
  'tierline/branch/fork': [ForkParams, State];
  /** Go to another branch. */
  'tierline/branch/switch': [BranchParams, State];
  /** List the branches. */
  'tierline/branch/list': [NoParams, BranchListResult];
  /** Say why a turn hit or missed the cache. */
  'tierline/cache/explain': [CacheExplainParams, CacheExplainResult];
  /** Get a request's tiers. */
  'tierline/cache/tiers': [CacheTiersParams, CacheTiers];
  /** Estimate what a change would cost the next request. */
  'tierline/cache/forecast': [ChangeForecastParams, ChangeForecast];
  /** Get requests, cache figures and money. */
  'tierline/stats/get': [StatsParams, Stats];
  /** List what each turn did. */
  'tierline/stats/turns': [TurnStatsParams, TurnStatsResult];
  /** List requests. */
  'tierline/stats/requests': [RequestStatsParams, RequestStatsResult];
  /** List the capsules. */
  'tierline/capsule/list': [NoParams, CapsuleListResult];
  /** Make a capsule of a file. */
  'tierline/capsule/make': [CapsuleMakeParams, CapsuleInfo];
  /** Get the memory levels and summaries. */
  'tierline/memory/stats': [NoParams, MemoryStats];
  /** Compress working memory now. */
  'tierline/memory/compress': [NoParams, MemoryStats];
  /** List the memos, newest first. */
  'tierline/memo/list': [MemoListParams, MemoListResult];
  /** Save a memo. */
  'tierline/memo/save': [MemoSaveParams, MemoInfo];
  /** Change a memo. */
  'tierline/memo/edit': [MemoEditParams, MemoInfo];
  /** Delete a memo. */
  'tierline/memo/delete': [MemoParams, MemoListResult];
  /** Search the memos. */
  'tierline/memo/search': [MemoSearchParams, MemoListResult];
  /** Answer a question of a tool. */
  'tierline/consent/answer': [ConsentAnswerParams, Ok];
  /** List the proposed edits. */
  'tierline/edit/list': [NoParams, EditListResult];
  /** Propose an edit from a reply. */
  'tierline/edit/propose': [EditProposeParams, EditInfo];
  /** Apply an edit or parts of it. */
  'tierline/edit/accept': [EditAcceptParams, EditInfo];
  /** Reject an edit. */
  'tierline/edit/reject': [EditRejectParams, EditInfo];
  /** Take or leave one part; the last choice applies what was taken. */
  'tierline/edit/choose': [EditChooseParams, EditInfo];
  /** Keep applied edits. */
  'tierline/edit/keep': [EditReviewParams, EditReviewResult];
  /** Undo applied edits. */
  'tierline/edit/undo': [EditReviewParams, EditReviewResult];
  /** List what going back would change. */
  'tierline/back/preview': [BackParams, BackPreview];
  /** Go back to a prompt, or forward. */
  'tierline/back/go': [BackParams, BackResult];
  /** Get both texts of an edit. */
  'tierline/edit/preview': [EditParams, EditPreview];
  /** List the allowed commands. */
  'tierline/command/allowed': [NoParams, AllowedCommands];
  /** Ask about a command again. */
  'tierline/command/forget': [ForgetCommandParams, AllowedCommands];
}

/** The same for requests from server to client. */
export interface ClientRequests {
  /** List the models that the editor offers. */
  'tierline/editor/models': [NoParams, EditorModelsResult];
  /** Ask one of the editor's models. */
  'tierline/editor/chat': [EditorChatParams, EditorChatResult];
  /** Save documents. */
  'tierline/editor/save': [SaveParams, SaveResult];
  /** Give what a mention needs of the editor. */
  'tierline/editor/provide': [EditorProvideParams, EditorContent];
}

export const EDITOR_MODELS = 'tierline/editor/models';
export const EDITOR_CHAT = 'tierline/editor/chat';
export const EDITOR_SAVE = 'tierline/editor/save';
export const EDITOR_PROVIDE = 'tierline/editor/provide';
export const EDITOR_PART = 'tierline/editor/part';
export const EDITOR_CANCEL = 'tierline/editor/cancel';

export const ERRORS = {
  invalid_params: -32602,
  cancelled: -32800,
  no_provider: -32001,
  not_found: -32002,
  fixed_part_too_large: -32003,
  storage: -32004,
  conflict: -32005,
  compaction: -32010,
  no_state: -32007,
  unclear_mention: -32011,
  empty_prompt: -32006,
  not_sendable: -32008,
} as const;
