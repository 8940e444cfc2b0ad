/** A failed request as the user should read it. */
import { ERRORS } from '../../protocol';

export interface Described {
  /** Stable code, e.g. ``no_provider``; empty for anything unforeseen. */
  code: string;
  message: string;
  advice: string;
}

export class NotConnectedError extends Error {}

const NAMES = new Map<number, string>(Object.entries(ERRORS).map(([name, code]) => [code, name]));
const METHOD_NOT_FOUND = -32601;

export function describeError(error: unknown): Described {
  const { code, message, data } = (error ?? {}) as {
    code?: unknown;
    message?: unknown;
    data?: { code?: unknown; advice?: unknown } | null;
  };
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
