/** What a new user needs to know, in three lines. */
import type { JSX } from 'preact';
import type { Store } from '../store';
import { texts } from '../texts';
import { Button, Icon } from './parts';

export function Empty({ store }: { store: Store }): JSX.Element {
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
