/** Opens the context that was sent with a prompt. */
import type { PlanSentResult } from '../protocol';
import type { VirtualDocuments } from './documents';
import { openMention } from './mentions/mentions';
import type { Session } from './session';

export class WentAlong {
  constructor(
    private readonly session: Session,
    private readonly documents: Pick<VirtualDocuments, 'show'>,
  ) {}

  /** All entries beside the conversation in a turn's first request. */
  list(turnId: string): Promise<PlanSentResult> {
    return this.session.server.request('tierline/plan/sent', { turnId });
  }

  /** Open the text of one entry. */
  async open(turnId: string, key: string): Promise<void> {
    const { server } = this.session;
    const { entries, text } = await server.request('tierline/plan/sent', { turnId, key });
    const name = entries.find((one) => one.key === key)?.label ?? key;
    await this.documents.show(name, () => Promise.resolve(text), turnId);
  }

  /**
   * Open an attachment of the user. Files and pages are in the context; if that request is no
   * longer kept, they are opened themselves, and so are folders and what is only named.
   */
  async openAttached(messageId: string, index: number): Promise<void> {
    const message = this.session.model?.messages.find(({ id }) => id === messageId);
    const one = message?.attached[index];
    if (message === undefined || one === undefined) return;
    const text = one.kind === 'editors' ? one.path.replaceAll(', ', '\n') : one.text;
    if (text !== '') {
      await this.documents.show(one.label, () => Promise.resolve(text), message.groupId);
      return;
    }
    const along = await this.list(message.groupId).catch(() => null);
    const sent = along?.entries.find(
      ({ kind, label }) =>
        (kind === 'file' && label === one.path) || (kind === 'page' && label === one.uri),
    );
    if (sent === undefined) await openMention(one.kind, one.path || one.uri || one.label);
    else await this.open(message.groupId, sent.key);
  }
}
