/** The waiting prompts, and what can be done with them before they are sent. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { QueuedPrompt } from '../../protocol';
import type { Store } from '../store';
import { texts } from '../texts';
import { IconButton } from './parts';

interface Props {
  prompts: readonly QueuedPrompt[];
  busy: boolean;
  store: Store;
}

export function Queue({ prompts, busy, store }: Props): JSX.Element | null {
  if (prompts.length === 0) return null;
  return (
    <section class="queue" data-testid="queue" aria-label={texts.queueTitle(prompts.length)}>
      <div class="queue-title">{texts.queueTitle(prompts.length)}</div>
      <ol>
        {prompts.map((prompt, index) => (
          <Waiting
            key={prompt.turnId}
            prompt={prompt}
            index={index}
            last={index === prompts.length - 1}
            busy={busy}
            store={store}
          />
        ))}
      </ol>
    </section>
  );
}

interface WaitingProps {
  prompt: QueuedPrompt;
  index: number;
  last: boolean;
  busy: boolean;
  store: Store;
}

function Waiting({ prompt, index, last, busy, store }: WaitingProps): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const { turnId, steer } = prompt;
  const act = (verb: 'change' | 'move' | 'remove' | 'steer' | 'wait', to = 0, said = ''): void =>
    store.post({ type: 'queue', verb, turnId, text: said, to });
  if (text !== null) {
    return (
      <li class="waiting" data-testid="waiting">
        <textarea
          rows={2}
          aria-label={texts.changeWaiting}
          data-testid="waiting-text"
          ref={focusOnce}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.isComposing) return;
            if (event.key === 'Escape') {
              event.stopPropagation();
              event.preventDefault();
              setText(null);
            } else if (event.key === 'Enter' && !event.shiftKey) {
              event.preventDefault();
              if (text.trim() !== '') act('change', 0, text);
              setText(null);
            }
          }}
        />
      </li>
    );
  }
  return (
    <li class={steer ? 'waiting steer' : 'waiting'} data-testid="waiting" data-steer={steer}>
      <span class="waiting-text" title={prompt.text}>
        {prompt.text}
      </span>
      {steer && <span class="note">{texts.steers}</span>}
      <span class="waiting-tools">
        {busy && (
          <IconButton
            icon={steer ? 'debug-pause' : 'debug-step-into'}
            label={steer ? texts.unsteer : texts.steerWaiting}
            testId="waiting-steer"
            onClick={() => act(steer ? 'wait' : 'steer')}
          />
        )}
        <IconButton
          icon="edit"
          label={texts.changeWaiting}
          testId="waiting-edit"
          onClick={() => setText(prompt.text)}
        />
        <IconButton
          icon="arrow-up"
          label={texts.moveUp}
          testId="waiting-up"
          disabled={index === 0}
          onClick={() => act('move', index - 1)}
        />
        <IconButton
          icon="arrow-down"
          label={texts.moveDown}
          testId="waiting-down"
          disabled={last}
          onClick={() => act('move', index + 1)}
        />
        <IconButton
          icon="close"
          label={texts.removeWaiting}
          testId="waiting-remove"
          onClick={() => act('remove')}
        />
      </span>
    </li>
  );
}

/** A stable function, so that it is called when the input appears and not at each keystroke. */
function focusOnce(element: HTMLElement | null): void {
  element?.focus();
}
