/** An empty conversation: the ways to a model where there is none yet, else a few hints. */
import type { JSX } from 'preact';
import { isUnserved } from '../../shared/ways';
import type { Store, View } from '../store';
import { texts } from '../texts';
import { Button, Icon } from './parts';
import { Start } from './start';

export function Empty({ view, store }: { view: View; store: Store }): JSX.Element {
  const provider = view.model?.provider;
  if (provider !== undefined && isUnserved(provider)) return <Start view={view} store={store} />;
  return (
    <div class="empty" data-testid="empty">
      <h2>{texts.emptyTitle}</h2>
      <ul>
        {texts.emptyLines.map(([icon, line]) => (
          <li key={icon}>
            <Icon name={icon} />
            <span>{line}</span>
          </li>
        ))}
      </ul>
      <div class="empty-actions">
        <Button onClick={() => store.post({ type: 'addCurrentFile' })}>{texts.addCurrent}</Button>
        <Button secondary onClick={() => store.post({ type: 'selectModel' })}>
          {texts.chooseModel}
        </Button>
      </div>
    </div>
  );
}
