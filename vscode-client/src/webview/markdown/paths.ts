/** Which words of replies are files of the workspace: asked of the host in batches, and cached. */
import { MAX_PATHS } from '../../shared/paths';

/** How long, in milliseconds, a word counts as no file; the model may create it meanwhile. */
const FRESH_MS = 10_000;
const WAIT_MS = 120;

export class KnownPaths {
  private readonly known = new Map<string, { exists: boolean; at: number }>();
  private readonly wanted = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ask: (paths: string[]) => void) {}

  /** False until the host has confirmed the file. */
  has(path: string): boolean {
    const one = this.known.get(path);
    if (one === undefined || (!one.exists && Date.now() - one.at > FRESH_MS)) this.want(path);
    return one?.exists === true;
  }

  /** The host's answer about paths. */
  answer(asked: readonly string[], found: readonly string[]): void {
    const there = new Set(found);
    let news = false;
    for (const path of asked) {
      const exists = there.has(path);
      news ||= exists && this.known.get(path)?.exists !== true;
      this.known.set(path, { exists, at: Date.now() });
    }
    if (news) for (const listener of this.listeners) listener();
  }

  /** Called when words turn out to be files. Returns a function that unsubscribes. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private want(path: string): void {
    this.wanted.add(path);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const paths = [...this.wanted].slice(0, MAX_PATHS);
      for (const one of paths) {
        this.wanted.delete(one);
        if (!this.known.has(one)) this.known.set(one, { exists: false, at: Date.now() });
      }
      const [next] = this.wanted;
      if (next !== undefined) this.want(next);
      this.ask(paths);
    }, WAIT_MS);
  }
}
