#!/usr/bin/env node
// A small server that speaks the client's side of the protocol from memory: no model, no Python.
// Used by the tests and, through the setting tierline.serverPath, to work on the interface.
import process from 'node:process';
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';

const REPLY =
  process.env.FAKE_REPLY ??
  `## What \`add\` does

It adds **two** numbers, and says so in [calc.py](calc.py#L2).

\`\`\`python
def add(a: int, b: int) -> int:
    """Return the sum."""
    return a + b  # a comment
\`\`\`

| Input | Output |
| --- | ---: |
| 1, 2 | 3 |
| 40, 2 | 42 |

1. First, *check* the types.
2. Then call \`add(1, 2)\`.
   - nested item

> Anything that is not a number is refused.

See <https://example.org/adding>, <script>alert(1)</script> and [not this](javascript:alert(1)).
`;
const DELAY = Number(process.env.FAKE_DELAY ?? 15);

const connection = createMessageConnection(
  new StreamMessageReader(process.stdin),
  new StreamMessageWriter(process.stdout),
);
let seq = 0;
let turns = 0;
let timer = null;
const sizes = { 'calc.py': 1234 };
const state = {
  sessionId: 's1',
  branch: 'main',
  messages: [],
  files: [],
  mode: 'light',
  busyTurn: '',
  partialText: '',
  version: '0.1.0',
  root: '',
  compacting: false,
  provider: {
    name: 'local',
    available: true,
    model: 'SmolLM2-135M',
    why: 'No key is set.',
    models: ['SmolLM2-135M'],
    active: true,
    needsConsent: false,
    title: 'Embedded model',
    origin: 'embedded',
    takesKey: false,
    keyPrefix: '',
    baseUrl: '',
  },
};

function budget() {
  const sections = [
    { name: 'System', tokens: 812, detail: '' },
    {
      name: 'Files',
      tokens: state.files.reduce((sum, file) => sum + file.tokens, 0),
      detail: `${state.files.length} files`,
    },
    { name: 'History', tokens: state.messages.length * 220, detail: '' },
  ];
  const used = sections.reduce((sum, section) => sum + section.tokens, 0);
  return {
    model: state.provider.model,
    provider: state.provider.name,
    used,
    maxInputTokens: 8192,
    maxOutputTokens: 1024,
    remaining: 8192 - used,
    percent: (100 * used) / 8192,
    sections,
    accuracy: 'estimated',
    marginPercent: 5,
    limitSource: 'table',
    historyTokens: 0,
    compactionTriggerTokens: 0,
    lastReported: null,
    lifetimeInputTokens: 0,
    lifetimeOutputTokens: 0,
  };
}

function emit(body) {
  seq += 1;
  void connection.sendNotification('tierline/chat/event', {
    seq,
    sessionId: state.sessionId,
    body,
  });
}

function message(role, text, status, groupId, extra = {}) {
  return {
    id: `m${state.messages.length + 1}`,
    groupId,
    role,
    text,
    status,
    timestamp: '2026-01-01T00:00:00Z',
    tokens: 0,
    images: [],
    files: [],
    note: '',
    contextLine: '',
    ...extra,
  };
}

function finish(turnId, outcome, groupId, error = '', advice = '') {
  clearInterval(timer);
  timer = null;
  const reply = message('assistant', state.partialText, outcome, groupId);
  state.messages.push(reply);
  state.busyTurn = '';
  state.partialText = '';
  emit({
    kind: 'turnFinished',
    turnId,
    outcome,
    message: reply,
    code: '',
    error,
    advice,
    usage: { inputTokens: 2345, outputTokens: 210, cacheReadTokens: 2048, cacheWriteTokens: 0 },
  });
  emit({ kind: 'budgetChanged', budget: budget() });
}

function send({ text, images = [] }) {
  const turnId = `t${++turns}`;
  const groupId = `g${turns}`;
  const asked = message('user', text, 'ok', groupId, {
    images: images.map((image) => `data:${image.mediaType};base64,${image.data}`),
  });
  if (text.includes('crash')) process.exit(3);
  state.messages.push(asked);
  state.busyTurn = turnId;
  emit({
    kind: 'turnStarted',
    turnId,
    message: asked,
    contextLine: `${state.files.length} files · 2.1k tokens · CTX ${state.mode}`,
  });
  emit({ kind: 'waiting', turnId, text: 'Loading the model…', seconds: 1 });
  const pieces = (text.includes('fail') ? 'Half of a' : REPLY).match(/\s*\S+/g) ?? [];
  if (text.includes('notice')) {
    emit({
      kind: 'notice',
      level: 'warning',
      text: 'b.py was left out: it does not fit.',
      code: 'shed',
      turnId,
    });
  }
  timer = setInterval(() => {
    const piece = pieces.shift();
    if (piece === undefined) {
      if (text.includes('fail'))
        finish(
          turnId,
          'error',
          groupId,
          'The model stopped answering.',
          'Try again, or choose another model.',
        );
      else finish(turnId, 'ok', groupId);
      return;
    }
    state.partialText += piece;
    emit({ kind: 'textDelta', turnId, text: piece });
  }, DELAY);
  return { turnId, messageId: asked.id, queued: false, notices: [] };
}

function files(change) {
  return ({ path = '', uri = '', confirm = false }) => {
    const name = (path || decodeURIComponent(uri)).split('/').at(-1);
    if (name.startsWith('.env') && !confirm && change !== 'remove') {
      return {
        files: state.files,
        notices: [],
        refused: [
          {
            path: name,
            uri,
            tokens: 0,
            pin: 'none',
            state: 'refused',
            reason: 'It looks like a file with secrets. Confirm to add it all the same.',
            code: 'secret',
            confirmable: true,
            tier: '',
            aliases: [],
            origin: '',
            dirty: false,
          },
        ],
      };
    }
    let found = state.files.find((file) => file.path === name);
    if (found === undefined && change !== 'remove') {
      found = {
        path: name,
        uri,
        tokens: sizes[name] ?? 345,
        pin: 'none',
        state: 'ok',
        reason: '',
        code: '',
        confirmable: false,
        tier: '',
        aliases: [],
        origin: '',
        dirty: false,
      };
      state.files.push(found);
    }
    if (change === 'remove') state.files = state.files.filter((file) => file !== found);
    if (change === 'pin') found.pin = 'sticky';
    if (change === 'unpin') found.pin = 'none';
    emit({ kind: 'filesChanged', files: state.files });
    emit({ kind: 'budgetChanged', budget: budget() });
    return { files: state.files, refused: [], notices: [] };
  };
}

const methods = {
  initialize: () => ({
    capabilities: {
      textDocumentSync: 1,
      executeCommandProvider: { commands: ['tierline.chat.send', 'tierline.files.pin'] },
    },
    serverInfo: { name: 'fake' },
  }),
  shutdown: () => null,
  'tierline/chat/send': send,
  'tierline/chat/retry': ({ groupId }) => {
    const asked = state.messages.find((one) => one.groupId === groupId);
    state.messages = state.messages.filter((one) => one.groupId !== groupId);
    emit({ kind: 'stateChanged', reason: 'retry' });
    return send({ text: (asked?.text ?? '').replace('fail', 'answer') });
  },
  'tierline/chat/cancel': () => {
    const { busyTurn } = state;
    if (busyTurn) finish(busyTurn, 'interrupted', `g${turns}`);
    return { cancelled: busyTurn !== '', turnId: busyTurn };
  },
  'tierline/files/add': files('add'),
  'tierline/files/pin': files('pin'),
  'tierline/files/unpin': files('unpin'),
  'tierline/files/remove': files('remove'),
  'tierline/files/list': () => ({ files: state.files, refused: [], notices: [] }),
  'tierline/budget/get': budget,
  'tierline/state/get': () => ({ ...state, seq, budget: budget() }),
  'tierline/mode/set': () => {
    const modes = ['off', 'light', 'heavy'];
    state.mode = modes[(modes.indexOf(state.mode) + 1) % 3];
    emit({ kind: 'modeChanged', mode: state.mode });
    return { mode: state.mode };
  },
  'tierline/provider/list': () => ({
    presets: [],
    providers: [
      state.provider,
      {
        ...state.provider,
        name: 'anthropic',
        title: 'Anthropic',
        origin: 'service',
        takesKey: true,
        keyPrefix: 'sk-ant-',
        model: '',
        models: [],
        available: false,
        active: false,
        why: 'There is no key. Set ANTHROPIC_API_KEY or use “Set API Key”.',
      },
      ...(process.env.FAKE_OLLAMA
        ? [
            {
              ...state.provider,
              name: 'openai',
              title: 'Ollama',
              origin: 'found',
              model: 'llama3',
              baseUrl: 'http://127.0.0.1:11434/v1',
              needsConsent: true,
              available: false,
              active: false,
            },
          ]
        : []),
    ],
  }),
  'tierline/provider/models': () => ({
    provider: 'anthropic',
    title: 'Anthropic',
    models: [],
    source: 'table',
    notice: '',
  }),
  'tierline/provider/checkKey': () => ({ outcome: 'ok', message: 'It is good.', models: [] }),
  'tierline/provider/select': () => state.provider,
  'tierline/provider/setKey': () => state.provider,
  'tierline/plan/get': () => ({ planId: 'p', entries: [] }),
  'tierline/plan/explain': ({ key }) => ({
    key,
    included: true,
    sentence: `${key} is in: you pinned it.`,
    planId: 'p',
  }),
  'tierline/plan/show': () => ({ text: '# Exact context\n\nsystem: …\n', planId: 'p' }),
};
for (const [name, run] of Object.entries(methods)) {
  connection.onRequest(name, (params) => run(params ?? {}));
}
connection.onNotification('exit', () => process.exit(0));
connection.listen();
