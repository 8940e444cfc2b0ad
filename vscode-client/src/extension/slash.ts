/** Commands that are typed into the chat. The server defines and runs them; this shows them. */
import type { CommandInfo } from '../protocol';
import type { Completion } from '../shared/messages';
import { matching } from '../shared/slash';
import type { VirtualDocuments } from './documents';
import type { Notes } from './notes';
import type { Session } from './session';
import type { Sessions } from './sessions';

/** All of them: the list is searched by what is typed. */
const SHOWN = 200;

export class SlashCommands {
  private known: Promise<CommandInfo[]> | null = null;

  constructor(
    private readonly session: Session,
    private readonly sessions: Sessions,
    private readonly notes: Notes,
    private readonly documents: VirtualDocuments,
  ) {}

  /**
   * Carry out a line. Returns what to say in the chat; empty if it was shown elsewhere. A command
   * that stands for a prompt is sent with `send`.
   */
  async run(line: string, send: (prompt: string) => Promise<void>): Promise<string> {
    const words = line.trim().toLowerCase().split(/\s+/).join(' ');
    if (words === '/session scratchpad') {
      await this.notes.openScratchpad();
      return '';
    }
    const begins = /^\/(?:new|clear|session new)(?: (keep|drop))?$/.exec(words);
    if (begins) {
      await this.sessions.create((begins[1] as 'keep' | 'drop' | undefined) ?? '');
      return '';
    }
    const result = await this.session.server.request('tierline/chat/command', { text: line });
    if (result.prompt !== '') {
      await send(result.prompt);
      return '';
    }
    if (/^\/undo\b/.test(words)) {
      // The chat does not wait for the offers to bring the turn back or rebuild STATE.
      void this.sessions.offerAfterUndo(result.text);
      return '';
    }
    if (!result.document) return result.text;
    await this.documents.show(`${result.title}.md`, async () => result.text);
    return '';
  }

  async complete(query: string): Promise<Completion[]> {
    // The workspace's own commands may have changed since the list was last open.
    if (query === '') this.known = null;
    this.known ??= this.session.server
      .request('tierline/chat/commands', {})
      .then(({ commands }) => commands);
    try {
      return matching(query, await this.known)
        .slice(0, SHOWN)
        .map(({ usage, doc }) => ({ path: usage, detail: doc }));
    } catch {
      this.known = null;
      return [];
    }
  }
}
