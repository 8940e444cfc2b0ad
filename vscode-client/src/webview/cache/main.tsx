/** The cache viewer's entry. */
import { render } from 'preact';
import { type CacheToHost, parseCacheToView, type Which } from '../../shared/cache';
import type { VsCodeApi } from '../host';
import { CacheApp, type CacheState } from './app';
import './cache.css';

declare function acquireVsCodeApi(): VsCodeApi;

const root = document.getElementById('root');
if (root !== null) start(root, acquireVsCodeApi());

function start(root: HTMLElement, api: VsCodeApi): void {
  const saved = (api.getState() ?? {}) as { which?: unknown; open?: unknown };
  const state: CacheState = {
    which: saved.which === 'last' ? 'last' : 'next',
    open: new Set(
      Array.isArray(saved.open) ? saved.open.filter((one) => typeof one === 'string') : ['log'],
    ),
    tiers: null,
    stats: null,
    requests: [],
    error: '',
    received: 0,
  };
  const post = (message: CacheToHost): void => api.postMessage(message);
  const draw = (): void => {
    api.setState({ which: state.which, open: [...state.open] });
    render(
      <CacheApp
        state={state}
        post={post}
        choose={(which: Which) => {
          state.which = which;
          draw();
          post({ type: 'show', which });
        }}
        toggle={(tier: string) => {
          if (!state.open.delete(tier)) state.open.add(tier);
          draw();
        }}
      />,
      root,
    );
  };
  window.addEventListener('message', (event) => {
    const message = parseCacheToView(event.data);
    if (message === null) return;
    if (message.type === 'error') state.error = message.text;
    else if (message.tiers.which === state.which) {
      Object.assign(state, {
        tiers: message.tiers,
        stats: message.stats,
        requests: message.requests,
        error: '',
        received: Date.now(),
      });
    }
    draw();
  });
  setInterval(draw, 1_000); // the time that is left
  draw();
  post({ type: 'show', which: state.which });
}
