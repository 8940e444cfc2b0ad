/** Chat Completions messages as the parts that the editor's language-model API knows. */

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'picture'; type: string; data: string }
  | { kind: 'call'; id: string; name: string; input: object }
  | { kind: 'result'; id: string; text: string };

export interface Turn {
  role: 'user' | 'assistant';
  parts: Part[];
}

export interface Tool {
  name: string;
  description: string;
  inputSchema: object;
}

export const NO_PICTURE = '(a picture, which this model cannot be shown)';

/** Adjacent messages of one role are one turn; the API has no system role, so that is a user's. */
export function turns(body: Record<string, unknown>): Turn[] {
  const found: Turn[] = [];
  for (const message of list(body.messages)) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const parts = partsOf(message);
    const last = found.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) found.push({ role, parts });
  }
  return found;
}

export function tools(body: Record<string, unknown>): Tool[] {
  return list(body.tools).map((tool) => {
    const fn = object(tool.function);
    return {
      name: String(fn.name ?? ''),
      description: String(fn.description ?? ''),
      inputSchema: object(fn.parameters),
    };
  });
}

function partsOf(message: Record<string, unknown>): Part[] {
  if (message.role === 'tool') {
    const id = String(message.tool_call_id ?? '');
    return [{ kind: 'result', id, text: String(message.content ?? '') }];
  }
  const parts: Part[] = [];
  if (typeof message.content === 'string') parts.push({ kind: 'text', text: message.content });
  for (const piece of list(message.content)) {
    parts.push(
      piece.type === 'text' ? { kind: 'text', text: String(piece.text ?? '') } : picture(piece),
    );
  }
  for (const call of list(message.tool_calls)) {
    const fn = object(call.function);
    parts.push({
      kind: 'call',
      id: String(call.id ?? ''),
      name: String(fn.name ?? ''),
      input: parsed(fn.arguments),
    });
  }
  return parts.filter((part) => part.kind !== 'text' || part.text !== '');
}

function picture(piece: Record<string, unknown>): Part {
  const url = String(object(piece.image_url).url ?? '');
  const [, type, data] = /^data:(image\/[\w.+-]+);base64,(.*)$/.exec(url) ?? [];
  return type && data ? { kind: 'picture', type, data } : { kind: 'text', text: NO_PICTURE };
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parsed(text: unknown): object {
  try {
    return object(JSON.parse(String(text)));
  } catch {
    return {};
  }
}
