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
import { type Part, tools, turns } from '../shared/editorMessages';

const FAILED = -32000;
const CODES: Record<string, string> = {
  NoPermissions: 'auth',
  NotFound: 'unavailable',
  Blocked: 'bad_request',
};

export class LanguageModels implements StaticFeature {
  private readonly running = new Map<string, vscode.CancellationTokenSource>();

  /** Editors that are forks of VS Code may lack the API. */
  get available(): boolean {
    return typeof vscode.lm?.selectChatModels === 'function';
  }

  /** For each new connection, before it starts. */
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
      models: models.map(({ id, name, vendor, family, maxInputTokens }) => ({
        id,
        name,
        vendor,
        family,
        maxInputTokens,
      })),
    };
  }

  /** The parts go out as they come; the answer says that they are all. */
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
          ? vscode.LanguageModelChatMessage.User(parts.map(fromUser))
          : vscode.LanguageModelChatMessage.Assistant(parts.map(fromAssistant)),
      );
      const response = await model.sendRequest(messages, options, source.token);
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
        }
      }
      return {};
    } catch (error) {
      throw new ResponseError(FAILED, said(error), { code: codeOf(error) });
    } finally {
      this.running.delete(requestId);
      source.dispose();
    }
  }
}

type UserPart = vscode.LanguageModelTextPart | vscode.LanguageModelToolResultPart;
type AssistantPart = vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart;

function fromUser(part: Part): UserPart {
  if (part.kind === 'result') {
    const text = new vscode.LanguageModelTextPart(part.text);
    return new vscode.LanguageModelToolResultPart(part.id, [text]);
  }
  return new vscode.LanguageModelTextPart(part.kind === 'text' ? part.text : '');
}

function fromAssistant(part: Part): AssistantPart {
  if (part.kind === 'call') {
    return new vscode.LanguageModelToolCallPart(part.id, part.name, part.input);
  }
  return new vscode.LanguageModelTextPart(part.text);
}

function said(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text || vscode.l10n.t('The editor’s model did not answer.');
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return (typeof code === 'string' && CODES[code]) || 'unavailable';
}
