/** The host's copy of the conversation's state; everything in the editor draws from it. */
import * as vscode from 'vscode';
import type { Event, FileInfo, ProviderInfo } from '../protocol';
import { EventStream } from '../shared/eventStream';
import { parseState } from '../shared/messages';
import type { Model } from '../shared/model';
import { firstWords } from '../shared/words';
import type { ServerController } from './server/controller';
import { describeError } from './server/errors';

export interface Change {
  model: Model;
  /** The event that made it; null if the whole state was replaced. */
  event: Event | null;
}

export class Session implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<Change>();
  private readonly subscriptions: vscode.Disposable[] = [this.emitter];
  private readonly stream = new EventStream({
    changed: (model, event) => this.emitter.fire({ model, event }),
    stateNeeded: () => void this.refresh(),
  });

  readonly onChange = this.emitter.event;

  constructor(
    readonly server: ServerController,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions.push(
      server.onEvent((event) => this.stream.push(event)),
      server.onConnection((connection) => {
        if (connection.kind === 'ready') void this.refresh();
        else this.stream.disconnected();
      }),
    );
  }

  get model(): Model | null {
    return this.stream.model;
  }

  /** Fetch the whole state. */
  async refresh(): Promise<void> {
    try {
      const state = parseState(await this.server.request('tierline/state/get', {}));
      if (state === null) throw new Error('The server sent a state that is not understood.');
      this.stream.reset(state);
    } catch (error) {
      this.stream.failed();
      if (this.server.ready) this.log.warn(`state/get: ${describeError(error).message}`);
    }
  }

  file(uri: vscode.Uri): FileInfo | undefined {
    const wanted = uri.toString();
    return this.model?.files.find((file) => sameUri(file.uri, wanted));
  }

  /** How a message, or the first of a turn, begins; empty if it is not known. */
  firstWords(id: string, length = 24): string {
    const found = this.model?.messages.find((one) => one.id === id || one.groupId === id);
    return firstWords(found?.text ?? '', length);
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** URIs as the server and the editor spell them may differ in escapes and in the drive's case. */
export function sameUri(a: string, b: string): boolean {
  return a === b || normal(a) === normal(b);
}

function normal(uri: string): string {
  try {
    return vscode.Uri.parse(uri, true).toString();
  } catch {
    return uri;
  }
}

/** "anthropic: claude-x", or what is missing. */
export function providerLabel(provider: ProviderInfo): string {
  return provider.model === '' ? provider.name : `${provider.name}: ${provider.model}`;
}
