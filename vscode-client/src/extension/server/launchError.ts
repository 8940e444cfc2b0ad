import type { Connection } from '../../shared/messages';

/** The server cannot be started, in the user's terms. */
export class LaunchError extends Error {
  /** As ``describeError`` reads it. */
  readonly data: { code: string; advice: string };

  constructor(
    readonly kind: Extract<Connection['kind'], 'noPython' | 'noServer' | 'failed' | 'stopped'>,
    message: string,
    readonly advice: string,
    /** Where to get Python; shown as a button. */
    readonly download: string = '',
  ) {
    super(message);
    this.data = { code: kind, advice };
  }
}
