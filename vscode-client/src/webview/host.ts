/** The webview's side of the connection to the extension host. */
import { parseToWebview, type ToHost, type ToWebview } from '../shared/messages';

/** The first message in view and how far its top is above the view's, in pixels. */
export interface ScrollPlace {
  session: string;
  message: string;
  above: number;
}

/** What survives when the webview is hidden and disposed, and when the window is reloaded. */
export interface Saved {
  draft: string;
  images: string[];
  scroll?: ScrollPlace | null;
  /** Mentions of the draft that the user chose with their size in view. */
  agreed?: string[];
}

export interface VsCodeApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): VsCodeApi;

export interface HostPort {
  post(message: ToHost): void;
  load(): Saved;
  save(saved: Saved): void;
}

/** Larger drafts keep their text but not their pictures. */
const MAX_SAVED_IMAGES = 2_000_000;

export function connect(listen: (message: ToWebview) => void, api = acquireVsCodeApi()): HostPort {
  window.addEventListener('message', (event) => {
    const message = parseToWebview(event.data);
    if (message !== null) listen(message);
  });
  return {
    post: (message) => api.postMessage(message),
    load: () => readSaved(api.getState()),
    save: ({ draft, images, scroll, agreed }) => {
      const size = images.reduce((sum, image) => sum + image.length, 0);
      api.setState({ draft, images: size > MAX_SAVED_IMAGES ? [] : images, scroll, agreed });
    },
  };
}

function readSaved(value: unknown): Saved {
  const { draft, images, scroll, agreed } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as {
    draft?: unknown;
    images?: unknown;
    scroll?: unknown;
    agreed?: unknown;
  };
  return {
    draft: typeof draft === 'string' ? draft : '',
    images: strings(images),
    scroll: readScroll(scroll),
    agreed: strings(agreed),
  };
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function readScroll(value: unknown): ScrollPlace | null {
  if (typeof value !== 'object' || value === null) return null;
  const { session, message, above } = value as Record<string, unknown>;
  return typeof session === 'string' && typeof message === 'string' && typeof above === 'number'
    ? { session, message, above }
    : null;
}
