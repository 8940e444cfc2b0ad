/** Edits that were applied at once: kept or undone by part, file, turn, or all together. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EditInfo } from '../../protocol';
import type { ToHost } from '../../shared/messages';
import type { Store } from '../store';
import { texts } from '../texts';
import { Button, Icon, IconButton } from './parts';

type Which = Partial<Omit<Extract<ToHost, { type: 'review' }>, 'type' | 'verb'>>;

function act(store: Store, verb: 'keep' | 'undo', which: Which = {}): void {
  store.post({ type: 'review', verb, id: '', hunks: [], turnId: '', path: '', ...which });
}

/** At the card: the whole edit. Its parts have buttons of their own. */
export function ReviewActions({ edit, store }: { edit: EditInfo; store: Store }): JSX.Element {
  return (
    <div class="card-actions">
      <Button testId="edit-keep" onClick={() => act(store, 'keep', { id: edit.id })}>
        {texts.keep}
      </Button>
      <Button secondary testId="edit-undo" onClick={() => act(store, 'undo', { id: edit.id })}>
        {texts.takeOut}
      </Button>
    </div>
  );
}

/** One part of an edit with several. */
export function PartActions(props: { edit: EditInfo; hunk: number; store: Store }): JSX.Element {
  const { edit, hunk, store } = props;
  const which = { id: edit.id, hunks: [hunk] };
  return (
    <span class="part-tools">
      <IconButton
        icon="check"
        label={texts.keepPart}
        testId="part-keep"
        onClick={() => act(store, 'keep', which)}
      />
      <IconButton
        icon="discard"
        label={texts.undoPart}
        testId="part-undo"
        onClick={() => act(store, 'undo', which)}
      />
    </span>
  );
}

/** Above the input: edits that wait for review, by turn and file. */
export function ReviewBar(props: { edits: readonly EditInfo[]; store: Store }): JSX.Element | null {
  const { store } = props;
  const [open, setOpen] = useState(false);
  const edits = props.edits.filter(({ review }) => review === 'open');
  if (edits.length === 0) return null;
  const files = [...new Set(edits.map(({ path }) => path))];
  const turns = [...new Set(edits.map(({ turnId }) => turnId))];
  const last = turns.at(-1) ?? '';
  return (
    <section class="review" data-testid="review" aria-label={texts.reviewTitle(files.length)}>
      <div class="review-head">
        <button
          type="button"
          class="review-title"
          aria-expanded={open}
          data-testid="review-files"
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? 'chevron-down' : 'chevron-right'} />
          {texts.reviewTitle(files.length)}
        </button>
        <IconButton
          icon="check-all"
          label={texts.keepAll}
          testId="review-keep"
          onClick={() => act(store, 'keep')}
        />
        <IconButton
          icon="discard"
          label={texts.undoAll}
          testId="review-undo"
          onClick={() => act(store, 'undo')}
        />
      </div>
      {open && (
        <ul>
          {turns.length > 1 && (
            <Row
              name={texts.lastTurn}
              which={{ turnId: last }}
              edits={edits.filter(({ turnId }) => turnId === last)}
              store={store}
            />
          )}
          {files.map((path) => (
            <Row
              key={path}
              name={path}
              which={{ path }}
              edits={edits.filter((edit) => edit.path === path)}
              store={store}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface RowProps {
  name: string;
  which: Which;
  edits: readonly EditInfo[];
  store: Store;
}

function Row({ name, which, edits, store }: RowProps): JSX.Element {
  const sum = (of: (edit: EditInfo) => number): number =>
    edits.reduce((total, edit) => total + of(edit), 0);
  return (
    <li data-testid="review-row">
      <button
        type="button"
        class="review-name"
        title={name}
        disabled={which.path === undefined}
        onClick={() => store.post({ type: 'file', verb: 'open', path: name })}
      >
        {name}
      </button>
      <span class="added">+{sum(({ added }) => added)}</span>
      <span class="removed">−{sum(({ removed }) => removed)}</span>
      <IconButton
        icon="check"
        label={texts.keepOf(name)}
        testId="row-keep"
        onClick={() => act(store, 'keep', which)}
      />
      <IconButton
        icon="discard"
        label={texts.undoOf(name)}
        testId="row-undo"
        onClick={() => act(store, 'undo', which)}
      />
    </li>
  );
}
