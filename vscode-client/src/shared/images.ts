/** Limits on a prompt's pictures; the providers refuse more. */

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

/** Anthropic takes at most 5 MB of base64 per picture; the others take more. */
export const MAX_IMAGE_BASE64 = 5 * 1024 * 1024;
export const MAX_IMAGES = 10;

export function isImageType(type: string): type is ImageType {
  return (IMAGE_TYPES as readonly string[]).includes(type);
}
