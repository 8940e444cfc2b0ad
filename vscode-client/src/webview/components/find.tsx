/** The bar for finding words in the conversation. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Model } from '../../shared/model';
import { mark, matches, unmark } from '../find';
import type { Store } from '../store';
import { texts } from '../texts';
import { IconButton } from './parts';

export function FindBar({ model, store }: { model: Model; store: Store }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState('');
  const [at, setAt] = useState(-1);
  const found = useMemo(() => matches(model.messages, words), [model.messages, words]);
  useEffect(() => {
    input.current?.focus();
    return unmark;
  }, []);
  const go = (by: number): void => {
    if (found.length > 0) setAt((now) => (now + by + found.length) % found.length);
  };
  // From the newest upwards, where users look first.
  useEffect(() => setAt(found.length - 1), [words]);
  useEffect(() => {
    const message = model.messages[found[at] ?? -1];
    const root = document.querySelector('.transcript-content');
    if (message === undefined || root === null) {
      unmark();
      return;
    }
    // Not during a drawing, since it changes what is drawn.
    queueMicrotask(() => store.reveal(message.id));
    const before = found.indexOf(found[at] ?? -1);
    const frame = requestAnimationFrame(() => {
      const range = mark(root, words, message.id, at - before);
      range?.startContainer.parentElement?.scrollIntoView({ block: 'center' });
    });
    return () => cancelAnimationFrame(frame);
  }, [at, words, found.length]);
  return (
    <search class="find" data-testid="find">
      <input
        ref={input}
        type="text"
        value={words}
        aria-label={texts.find}
        placeholder={texts.find}
        data-testid="find-input"
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            event.preventDefault();
            event.stopPropagation();
            store.find(false);
          } else if (event.key === 'Enter' && !event.isComposing) go(event.shiftKey ? 1 : -1);
        }}
      />
      <span class="find-count" role="status" data-testid="find-count">
        {words === '' ? '' : texts.foundOf(found.length === 0 ? 0 : at + 1, found.length)}
      </span>
      <IconButton icon="arrow-up" label={texts.findPrevious} onClick={() => go(-1)} />
      <IconButton icon="arrow-down" label={texts.findNext} onClick={() => go(1)} />
      <IconButton icon="close" label={texts.findClose} onClick={() => store.find(false)} />
    </search>
  );
}
