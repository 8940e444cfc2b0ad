/** The webview's side of the connection to the extension host. */
import { parseToWebview, type ToHost, type ToWebview } from '../shared/messages';

/** What survives when the webview is hidden and thrown away. */
export interface Saved {
  draft: string;
  images: string[];
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
    save: ({ draft, images }) => {
      const size = images.reduce((sum, image) => sum + image.length, 0);
      api.setState({ draft, images: size > MAX_SAVED_IMAGES ? [] : images });
    },
  };
}

function readSaved(value: unknown): Saved {
  const { draft, images } = (typeof value === 'object' && value !== null ? value : {}) as {
    draft?: unknown;
    images?: unknown;
  };
  return {
    draft: typeof draft === 'string' ? draft : '',
    images: Array.isArray(images)
      ? images.filter((image): image is string => typeof image === 'string')
      : [],
  };
}
