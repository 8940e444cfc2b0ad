/** Lets the server ask the editor's own language models (`vscode.lm`), where there are any. */
import * as vscode from 'vscode';
import { type LanguageClient, ResponseError, type StaticFeature } from 'vscode-languageclient/node';
import {
  EDITOR_CANCEL,
  EDITOR_CHAT,
  EDITOR_MODELS,
  EDITOR_PART,
  type EditorCancelParams,
  type EditorChatParams,
  type EditorChatResult,
  type EditorModelsResult,
  type EditorPartParams,
} from '../protocol';
import { NO_PICTURE, type Part, tools, turns } from '../shared/editorMessages';

const FAILED = -32000;
const CODES: Record<string, string> = {
  NoPermissions: 'auth',
  NotFound: 'unavailable',
  Blocked: 'bad_request',
};

interface DataPart {
  mimeType: string;
  data: Uint8Array;
}

/** Parts that newer versions of the editor know; without them a reply is text and calls. */
const newer = vscode as unknown as {
  LanguageModelDataPart?: { image(data: Uint8Array, type: string): DataPart };
  LanguageModelThinkingPart?: new (...given: never[]) => { value: string | string[] };
};

export class LanguageModels implements StaticFeature {
  private readonly running = new Map<string, vscode.CancellationTokenSource>();

  /** Editors that are forks of VS Code may lack the API. */
  get available(): boolean {
    return typeof vscode.lm?.selectChatModels === 'function';
  }

  /** Call it for each new client before it starts. */
  attach(client: LanguageClient): void {
    if (!this.available) return;
    client.registerFeature(this);
    client.onRequest(EDITOR_MODELS, () => this.list());
    client.onRequest(EDITOR_CHAT, (params: EditorChatParams) =>
      this.chat(params, (part) => client.sendNotification(EDITOR_PART, part)),
    );
    client.onNotification(EDITOR_CANCEL, ({ requestId }: EditorCancelParams) =>
      this.running.get(requestId)?.cancel(),
    );
  }

  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    const others = (capabilities.experimental ?? {}) as { tierline?: object };
    capabilities.experimental = {
      ...others,
      tierline: { ...others.tierline, languageModels: true },
    };
  }

  initialize(): void {}

  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }

  clear(): void {
    for (const source of this.running.values()) source.cancel();
    this.running.clear();
  }

  async list(): Promise<EditorModelsResult> {
    const models = await vscode.lm.selectChatModels();
    return {
      models: models.map((model) => ({
        id: model.id,
        name: model.name,
        vendor: model.vendor,
        family: model.family,
        maxInputTokens: model.maxInputTokens,
        pictures: sees(model),
      })),
    };
  }

  /** Parts are sent as they come; the answer ends them. */
  async chat(
    params: EditorChatParams,
    send: (part: EditorPartParams) => Thenable<void>,
  ): Promise<EditorChatResult> {
    const { requestId } = params;
    const source = new vscode.CancellationTokenSource();
    this.running.set(requestId, source);
    try {
      const [model] = await vscode.lm.selectChatModels({ id: params.model });
      if (model === undefined) {
        throw vscode.LanguageModelError.NotFound(
          vscode.l10n.t('The editor no longer offers the model {0}.', params.model),
        );
      }
      const options: vscode.LanguageModelChatRequestOptions = {
        justification: vscode.l10n.t('Tierline sends your chat and the files in its context.'),
      };
      const offered = tools(params.body);
      if (offered.length > 0) options.tools = offered;
      const messages = turns(params.body).map(({ role, parts }) =>
        role === 'user'
          ? vscode.LanguageModelChatMessage.User(parts.map((part) => fromUser(part, sees(model))))
          : vscode.LanguageModelChatMessage.Assistant(parts.map(fromAssistant)),
      );
      const response = await model.sendRequest(messages, options, source.token);
      let usage = {};
      for await (const part of response.stream) {
        if (source.token.isCancellationRequested) break;
        if (part instanceof vscode.LanguageModelTextPart) {
          await send({ requestId, text: part.value });
        } else if (part instanceof vscode.LanguageModelToolCallPart) {
          await send({
            requestId,
            callId: part.callId,
            callName: part.name,
            callArguments: JSON.stringify(part.input),
          });
        } else if (
          newer.LanguageModelThinkingPart &&
          part instanceof newer.LanguageModelThinkingPart
        ) {
          await send({ requestId, thinking: [part.value].flat().join('') });
        } else if (isData(part) && part.mimeType === 'usage') {
          usage = reported(part) ?? usage;
        }
      }
      return { usage };
    } catch (error) {
      throw new ResponseError(FAILED, said(error), { code: codeOf(error) });
    } finally {
      this.running.delete(requestId);
      source.dispose();
    }
  }
}

type UserPart = vscode.LanguageModelTextPart | vscode.LanguageModelToolResultPart;

/** True if the editor passes pictures on and the model says that it takes them. */
function sees(model: vscode.LanguageModelChat): boolean {
  const { capabilities } = model as { capabilities?: { supportsImageToText?: unknown } };
  return newer.LanguageModelDataPart !== undefined && capabilities?.supportsImageToText === true;
}

function isData(part: unknown): part is DataPart {
  const { mimeType, data } = (part ?? {}) as Partial<DataPart>;
  return typeof mimeType === 'string' && data instanceof Uint8Array;
}

/** A report of usage: JSON in the form of the model's own service. */
function reported(part: DataPart): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(part.data));
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
type AssistantPart = vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart;

function fromUser(part: Part, pictures: boolean): UserPart {
  if (part.kind === 'result') {
    const text = new vscode.LanguageModelTextPart(part.text);
    return new vscode.LanguageModelToolResultPart(part.id, [text]);
  }
  if (part.kind === 'picture') {
    const data = newer.LanguageModelDataPart;
    if (!pictures || data === undefined) return new vscode.LanguageModelTextPart(NO_PICTURE);
    // The API's types of the oldest supported version have no such part.
    return data.image(Buffer.from(part.data, 'base64'), part.type) as unknown as UserPart;
  }
  return new vscode.LanguageModelTextPart(part.kind === 'text' ? part.text : '');
}

function fromAssistant(part: Part): AssistantPart {
  if (part.kind === 'call') {
    return new vscode.LanguageModelToolCallPart(part.id, part.name, part.input);
  }
  return new vscode.LanguageModelTextPart(part.kind === 'text' ? part.text : '');
}

function said(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text || vscode.l10n.t('The editor’s model did not answer.');
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return (typeof code === 'string' && CODES[code]) || 'unavailable';
}
