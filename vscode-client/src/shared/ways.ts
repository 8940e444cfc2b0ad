/** The ways to a model that answers, as the first page shows them. */
import * as v from 'valibot';

const name = v.pipe(v.string(), v.maxLength(4_096));

export const ways = v.strictObject({
  /** Model servers that run on this machine, with their first model and how many more they have. */
  servers: v.array(
    v.strictObject({ name: v.string(), baseUrl: v.string(), model: v.string(), more: v.number() }),
  ),
  /** Models that the editor offers; the first few. */
  editor: v.array(v.string()),
  /** Whether the embedded model's library and weights are here. */
  embedded: v.boolean(),
});

export const way = v.strictObject({
  type: v.literal('way'),
  way: v.picklist(['key', 'server', 'editor', 'embedded']),
  /** A server's address or an editor's model; empty for the others. */
  name,
});

export type Ways = v.InferOutput<typeof ways>;
export type Way = v.InferOutput<typeof way>;

/** True if nobody but the embedded model could answer. */
export function isUnserved(provider: {
  name: string;
  origin?: string;
  available: boolean;
}): boolean {
  return ['', 'none'].includes(provider.name) || provider.origin === 'embedded';
}
