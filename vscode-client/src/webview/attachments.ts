/** Pictures from the clipboard or a drop, checked before they are attached. */
import {
  IMAGE_TYPES,
  type ImageType,
  isImageType,
  MAX_IMAGE_BASE64,
  MAX_IMAGES,
} from '../shared/images';
import { texts } from './texts';

export interface Attached {
  dataUris: string[];
  problems: string[];
}

/** Reads the pictures among ``files``; ``room`` more fit to the prompt. */
export async function attach(files: readonly File[], already: number): Promise<Attached> {
  const dataUris: string[] = [];
  const problems: string[] = [];
  for (const file of files) {
    if (!isImageType(file.type)) problems.push(texts.imageType(file.name));
    else if (base64Length(file.size) > MAX_IMAGE_BASE64) problems.push(texts.imageSize(file.name));
    else if (already + dataUris.length >= MAX_IMAGES) problems.push(texts.imageCount(MAX_IMAGES));
    else if (await isDamaged(file)) problems.push(texts.imageDamaged(file.name));
    else {
      try {
        dataUris.push(await read(file));
      } catch {
        problems.push(texts.imageDamaged(file.name));
      }
    }
  }
  return { dataUris, problems: [...new Set(problems)] };
}

function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/** A picture that the browser cannot draw is refused, and so is an empty file. */
async function isDamaged(file: File): Promise<boolean> {
  if (file.size === 0) return true;
  if (typeof createImageBitmap !== 'function') return false;
  try {
    (await createImageBitmap(file)).close();
    return false;
  } catch {
    return true;
  }
}

function read(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
    reader.readAsDataURL(file);
  });
}

/** Media type and base64 of a data URI of one of our types; null for any other. */
export function splitDataUri(uri: string): { mediaType: ImageType; data: string } | null {
  const match = /^data:([a-z/]+);base64,([A-Za-z0-9+/]+={0,2})$/.exec(uri);
  const [, mediaType, data] = match ?? [];
  if (mediaType === undefined || data === undefined || !isImageType(mediaType)) return null;
  return { mediaType, data };
}

/** Only pictures of these types are shown; a reply cannot load anything else. */
export function isShowable(uri: string): boolean {
  return IMAGE_TYPES.some((type) => uri.startsWith(`data:${type};base64,`));
}

/**
 * File URIs among what was dropped, as VS Code's explorer and other programs give them. Where the
 * workspace is on another machine, its URI names that machine; the extension runs there.
 */
export function droppedUris(data: Pick<DataTransfer, 'getData'>): string[] {
  const found = data.getData('text/uri-list').split(/\r?\n/);
  for (const type of ['application/vnd.code.uri-list', 'resourceurls', 'codefiles']) {
    const text = data.getData(type);
    if (text === '') continue;
    try {
      const value: unknown = JSON.parse(text);
      if (Array.isArray(value)) found.push(...value.map(String));
    } catch {
      found.push(...text.split(/\r?\n/));
    }
  }
  const here = found.map((uri) => uri.replace(/^vscode-remote:\/\/[^/]*/i, 'file://'));
  return [...new Set(here.filter((uri) => /^file:/i.test(uri)))];
}
