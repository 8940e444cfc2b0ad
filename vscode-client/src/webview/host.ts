/** The webview's side of the connection to the extension host. */
import { parseToWebview, type ToHost, type ToWebview } from '../shared/messages';

/** The first message in view and how far its top is above the view's, in pixels. */
export interface ScrollPlace {
  session: string;
  message: string;
  above: number;
}

/** What survives when the webview is hidden and thrown away, and when the window is loaded anew. */
export interface Saved {
  draft: string;
  images: string[];
  scroll?: ScrollPlace | null;
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
    save: ({ draft, images, scroll }) => {
      const size = images.reduce((sum, image) => sum + image.length, 0);
      api.setState({ draft, images: size > MAX_SAVED_IMAGES ? [] : images, scroll });
    },
  };
}

function readSaved(value: unknown): Saved {
  const { draft, images, scroll } = (typeof value === 'object' && value !== null ? value : {}) as {
    draft?: unknown;
    images?: unknown;
    scroll?: unknown;
  };
  return {
    draft: typeof draft === 'string' ? draft : '',
    images: Array.isArray(images)
      ? images.filter((image): image is string => typeof image === 'string')
      : [],
    scroll: readScroll(scroll),
  };
}

function readScroll(value: unknown): ScrollPlace | null {
  if (typeof value !== 'object' || value === null) return null;
  const { session, message, above } = value as Record<string, unknown>;
  return typeof session === 'string' && typeof message === 'string' && typeof above === 'number'
    ? { session, message, above }
    : null;
}
