/** A failed request as the user should read it. */
import { ERRORS } from '../../protocol';
import { t } from '../../shared/l10n';

export interface Described {
  /** Stable code, e.g. ``no_provider``; empty for anything unforeseen. */
  code: string;
  message: string;
  advice: string;
}

export class NotConnectedError extends Error {
  readonly data: { code: string; advice: string };

  constructor(message: string, advice: string) {
    super(message);
    this.data = { code: 'not_connected', advice };
  }
}

const NAMES = new Map<number, string>(Object.entries(ERRORS).map(([name, code]) => [code, name]));
const METHOD_NOT_FOUND = -32601;
/** Codes of the JSON-RPC library: the connection was closed before the answer or the request. */
const DISCONNECTED = new Set([-32097, -32096]);

/** The library's own message would not help the user. */
const gone = (): Described => ({
  code: 'not_connected',
  message: t('The server ended before it answered.'),
  advice: t('What was asked can be asked again when it is back.'),
});

export function describeError(error: unknown): Described {
  const { code, message, data } = (error ?? {}) as {
    code?: unknown;
    message?: unknown;
    data?: { code?: unknown; advice?: unknown } | null;
  };
  if (typeof code === 'number' && DISCONNECTED.has(code)) return gone();
  const name =
    typeof data?.code === 'string'
      ? data.code
      : typeof code === 'number'
        ? (NAMES.get(code) ?? (code === METHOD_NOT_FOUND ? 'method_not_found' : ''))
        : '';
  return {
    code: name,
    message: typeof message === 'string' && message !== '' ? message : String(error),
    advice: typeof data?.advice === 'string' ? data.advice : '',
  };
}
