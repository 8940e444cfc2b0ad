/** The webview's entry: draws the store at most once per frame. */
import { render } from 'preact';
import { App } from './components/app';
import { connect } from './host';
import { Store } from './store';
import './styles.css';

const root = document.getElementById('root');
if (root !== null) start(root);

function start(root: HTMLElement): void {
  let scheduled = false;
  const draw = (): void => {
    scheduled = false;
    render(<App view={store.view} store={store} />, root);
  };
  const store = new Store(connect, () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(draw);
  });
  draw();
}
