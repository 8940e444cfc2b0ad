import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LanguageModels } from '../src/extension/languageModels';
import type { EditorPartParams } from '../src/protocol';
import { tools, turns } from '../src/shared/editorMessages';
import * as fake from './fake/vscode';

vi.mock('vscode', () => import('./fake/vscode'));
vi.mock('vscode-languageclient/node', () => ({
  ResponseError: class extends Error {
    constructor(
      readonly code: number,
      message: string,
      readonly data: unknown,
    ) {
      super(message);
    }
  },
}));

const BODY = {
  model: 'acme:mini',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', function: { name: 'read', arguments: '{"path":"a.py"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'x = 1' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'And this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
  ],
  tools: [
    {
      type: 'function',
      function: { name: 'read', description: 'Reads.', parameters: { type: 'object' } },
    },
  ],
};

describe('messages', () => {
  it('become turns that alternate, with calls and results', () => {
    expect(turns(BODY)).toEqual([
      {
        role: 'user',
        parts: [
          { kind: 'text', text: 'Be brief.' },
          { kind: 'text', text: 'Look.' },
        ],
      },
      {
        role: 'assistant',
        parts: [{ kind: 'call', id: 'c1', name: 'read', input: { path: 'a.py' } }],
      },
      {
        role: 'user',
        parts: [
          { kind: 'result', id: 'c1', text: 'x = 1' },
          { kind: 'text', text: 'And this?' },
          { kind: 'picture', type: 'image/png', data: 'AAAA' },
        ],
      },
    ]);
    expect(tools(BODY)).toEqual([
      { name: 'read', description: 'Reads.', inputSchema: { type: 'object' } },
    ]);
  });

  it('survive what nobody sends', () => {
    expect(turns({})).toEqual([]);
    expect(turns({ messages: [null, 3, { role: 'assistant', tool_calls: [{}] }] })).toEqual([
      { role: 'assistant', parts: [{ kind: 'call', id: '', name: '', input: {} }] },
    ]);
  });
});

describe('the editor’s models', () => {
  const sent: EditorPartParams[] = [];
  const send = async (part: EditorPartParams): Promise<void> => void sent.push(part);
  const params = { requestId: 'r1', model: 'mini', body: BODY };
  let models: LanguageModels;

  beforeEach(() => {
    sent.length = 0;
    models = new LanguageModels();
    fake.lm.selectChatModels.mockReset();
  });

  function offer(stream: () => AsyncGenerator<unknown>, capabilities?: object) {
    const sendRequest = vi.fn(async () => ({ stream: stream() }));
    fake.lm.selectChatModels.mockResolvedValue([
      {
        id: 'mini',
        name: 'Mini',
        vendor: 'acme',
        family: 'f',
        maxInputTokens: 9,
        capabilities,
        sendRequest,
      },
    ]);
    return sendRequest;
  }

  it('are listed', async () => {
    offer(async function* () {});
    expect(await models.list()).toEqual({
      models: [
        {
          id: 'mini',
          name: 'Mini',
          vendor: 'acme',
          family: 'f',
          maxInputTokens: 9,
          pictures: false,
        },
      ],
    });
    offer(async function* () {}, { supportsImageToText: true });
    expect((await models.list()).models?.[0]?.pictures).toBe(true);
  });

  it('are shown pictures if they say that they take them, and told of them if not', async () => {
    for (const sees of [true, false]) {
      const sendRequest = offer(async function* () {}, { supportsImageToText: sees });
      await models.chat(params, send);
      const [messages] = sendRequest.mock.calls[0] as unknown as [{ content: unknown[] }[]];
      expect(messages.at(-1)?.content.at(-1)).toEqual(
        sees
          ? new fake.LanguageModelDataPart(Buffer.from([0, 0, 0]), 'image/png')
          : new fake.LanguageModelTextPart('(a picture, which this model cannot be shown)'),
      );
    }
  });

  it('say what they think and what it took', async () => {
    const usage = { prompt_tokens: 90, prompt_tokens_details: { cached_tokens: 64 } };
    const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    offer(async function* () {
      yield new fake.LanguageModelThinkingPart(['Let me ', 'see.']);
      yield null;
      yield new fake.LanguageModelTextPart('Yes.');
      yield new fake.LanguageModelDataPart(new Uint8Array([123]), 'usage');
      yield new fake.LanguageModelDataPart(bytes({ any: 1 }), 'stateful_marker');
      yield new fake.LanguageModelDataPart(bytes(usage), 'usage');
      yield new fake.LanguageModelDataPart(bytes(7), 'usage');
    });
    expect(await models.chat(params, send)).toEqual({ usage });
    expect(sent).toEqual([
      { requestId: 'r1', thinking: 'Let me see.' },
      { requestId: 'r1', text: 'Yes.' },
    ]);
  });

  it('stream text and calls, with the tools handed over', async () => {
    const sendRequest = offer(async function* () {
      yield new fake.LanguageModelTextPart('Hel');
      yield new fake.LanguageModelToolCallPart('c2', 'read', { path: 'b' });
      yield { unknown: true };
      yield new fake.LanguageModelTextPart('lo');
    });
    expect(await models.chat(params, send)).toEqual({ usage: {} });
    expect(sent).toEqual([
      { requestId: 'r1', text: 'Hel' },
      { requestId: 'r1', callId: 'c2', callName: 'read', callArguments: '{"path":"b"}' },
      { requestId: 'r1', text: 'lo' },
    ]);
    const [messages, options] = sendRequest.mock.calls[0] as unknown as [
      { role: string }[],
      { tools: unknown[] },
    ];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(options.tools).toHaveLength(1);
  });

  it('stop when nobody wants the rest', async () => {
    offer(async function* () {
      yield new fake.LanguageModelTextPart('one');
      models.clear();
      yield new fake.LanguageModelTextPart('two');
    });
    await models.chat(params, send);
    expect(sent.map(({ text }) => text)).toEqual(['one']);
  });

  it.each([
    ['NoPermissions', 'auth'],
    ['Blocked', 'bad_request'],
    ['something', 'unavailable'],
  ])('say why they refused: %s', async (code, expected) => {
    // biome-ignore lint/correctness/useYield: it fails before its first part
    offer(async function* () {
      throw Object.assign(new Error('No.'), { code });
    });
    await expect(models.chat(params, send)).rejects.toMatchObject({
      message: 'No.',
      data: { code: expected },
    });
  });

  it('say so when the model has gone', async () => {
    fake.lm.selectChatModels.mockResolvedValue([]);
    await expect(models.chat(params, send)).rejects.toMatchObject({
      message: expect.stringContaining('mini'),
      data: { code: 'unavailable' },
    });
  });
});
