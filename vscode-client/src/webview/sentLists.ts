/** The context that was sent with prompts, fetched when the user opens it. */
import type { SentEntry } from '../shared/messages';

export class SentLists {
  private readonly waiting = new Map<string, ((entries: readonly SentEntry[]) => void)[]>();

  constructor(private readonly ask: (turnId: string) => void) {}

  /** All entries; empty if they are no longer kept, about which the host tells the user. */
  of(turnId: string): Promise<readonly SentEntry[]> {
    return new Promise((resolve) => {
      const others = this.waiting.get(turnId);
      if (others !== undefined) {
        others.push(resolve);
        return;
      }
      this.waiting.set(turnId, [resolve]);
      this.ask(turnId);
    });
  }

  answer(turnId: string, entries: readonly SentEntry[]): void {
    for (const resolve of this.waiting.get(turnId) ?? []) resolve(entries);
    this.waiting.delete(turnId);
  }
}
