/** What a compaction did: earlier messages folded away, the summary, and the way back. */
import type { ComponentChildren, JSX } from 'preact';
import type { ShownMessage } from '../../shared/model';
import type { Store } from '../store';
import { texts } from '../texts';
import { Markdown } from './message';
import { Icon } from './parts';

/** Messages that a summary stands for; they can still be read. */
export function Covered(props: { count: number; children: ComponentChildren }): JSX.Element {
  return (
    <details class="covered" data-testid="covered">
      <summary>{texts.covered(props.count)}</summary>
      {props.children}
    </details>
  );
}

export function Compaction(props: { message: ShownMessage; store: Store }): JSX.Element {
  const { message, store } = props;
  return (
    <article
      class="compaction"
      data-testid="compaction"
      data-case={message.compaction}
      data-id={message.id}
      aria-label={texts.summary}
    >
      <div class="compaction-line">
        <Icon name="fold" />
        <span>{message.note}</span>
        <button
          type="button"
          class="link"
          title={texts.undoCompactionTip}
          data-testid="undo-compaction"
          onClick={() => store.post({ type: 'undoCompaction', id: message.id })}
        >
          {texts.undoCompaction}
        </button>
      </div>
      {message.text !== '' && (
        <details data-testid="history-summary">
          <summary>{texts.summary}</summary>
          <Markdown text={spaced(message.text)} final store={store} />
        </details>
      )}
    </article>
  );
}

/** A line behind a list would be drawn as a part of its last item; summaries have headings there. */
export function spaced(text: string): string {
  return text.replace(/^([ \t]*[-*+] .*)\n(?![ \t]*[-*+] |[ \t]|\n)/gm, '$1\n\n');
}

export function Compacting(): JSX.Element {
  return (
    <div class="note compacting" key="compacting" role="status" data-testid="compacting">
      <span class="codicon codicon-loading codicon-modifier-spin" aria-hidden="true" />
      {texts.compacting}
    </div>
  );
}
