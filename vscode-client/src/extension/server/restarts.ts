/** How often a crashed server is restarted automatically. */
export class RestartBudget {
  private readonly times: number[] = [];

  constructor(
    private readonly limit = 4,
    private readonly windowMs = 3 * 60 * 1000,
  ) {}

  /**
   * Milliseconds to wait before the next start: none the first time, then 1 s, 2 s, 4 s, … Null if
   * it crashed too often within the window.
   */
  next(now: number): number | null {
    while (this.times.length > 0 && now - (this.times[0] ?? 0) > this.windowMs) this.times.shift();
    if (this.times.length >= this.limit) return null;
    this.times.push(now);
    return this.times.length === 1 ? 0 : 500 * 2 ** (this.times.length - 1);
  }

  /** The user asked for a restart: begin anew. */
  reset(): void {
    this.times.length = 0;
  }
}
