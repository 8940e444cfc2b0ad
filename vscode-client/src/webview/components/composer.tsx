/** The input: prompt, mentions, pictures, the files of the context, mode and size. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { level, percent, summary } from '../../shared/budget';
import { complete, type Mention, mentionAt } from '../../shared/mentions';
import type { ActiveChip, Completion } from '../../shared/messages';
import type { Model } from '../../shared/model';
import { typed } from '../../shared/slash';
import { droppedUris } from '../attachments';
import { isBroken, type Store, type View } from '../store';
import { texts } from '../texts';
import { FileChips } from './files';
import { MentionChips } from './mentionChips';
import { LIST_ID, MentionList } from './mentionList';
import { Icon, IconButton } from './parts';
import { Queue } from './queue';

export function Composer({ view, store }: { view: View; store: Store }): JSX.Element {
  const input = useRef<HTMLTextAreaElement>(null);
  const [mention, setMention] = useState<Mention | null>(null);
  const [active, setActive] = useState(0);
  const recall = useRecall(view.model, store);
  const caret = useRef<number | null>(null);
  const { draft, images, completions, focusRequests, model } = view;
  const open = mention !== null && completions.length > 0;
  const busy = model !== null && model.turn !== null;

  // The view is drawn again each time it is shown, perhaps only for the view beside it.
  useEffect(() => {
    if (focusRequests > 0 || document.hasFocus()) input.current?.focus();
  }, [focusRequests]);
  useEffect(() => {
    const entered = (): void => {
      if (document.activeElement === document.body) input.current?.focus();
    };
    window.addEventListener('focus', entered);
    return () => window.removeEventListener('focus', entered);
  }, []);
  // Not a controlled input: this component also draws when its own state changes, and must not
  // put back an older draft while the user is typing.
  useLayoutEffect(() => {
    const element = input.current;
    if (element !== null && element.value !== store.view.draft) element.value = store.view.draft;
    if (caret.current !== null) input.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });

  const look = (): void => {
    const element = input.current;
    if (element === null) return;
    const found = mentionAt(element.value, element.selectionStart);
    if (found?.query !== mention?.query || (found === null) !== (mention === null)) {
      setActive(0);
      store.askCompletions(found === null ? null : found.query);
    }
    setMention(found);
  };
  const close = (): void => {
    setMention(null);
    store.askCompletions(null);
  };
  const choose = ({ path, expands }: Completion): void => {
    if (mention === null) return;
    const done = complete(store.view.draft, mention, path, expands);
    caret.current = done.caret;
    store.edit(done.text);
    close();
    input.current?.focus();
    store.agree(path);
    const next = expands ? mentionAt(done.text, done.caret) : null;
    if (next === null) return;
    setActive(0);
    setMention(next);
    store.askCompletions(next.query);
  };
  const send = (steer = false): void => {
    recall.reset();
    close();
    store.send(steer && busy);
  };
  const pressed = (event: KeyboardEvent): void => {
    // While an input method composes, Enter and the arrow keys belong to it.
    if (event.isComposing) return;
    const { key } = event;
    // A complete command is run, not completed.
    const chosen = completions[active];
    if (open && key === 'Enter' && store.view.draft.trim() === typed(chosen?.path ?? '').trim()) {
      event.preventDefault();
      send();
    } else if (open && ['ArrowDown', 'ArrowUp', 'Enter', 'Tab', 'Escape'].includes(key)) {
      event.preventDefault();
      const count = completions.length;
      if (key === 'ArrowDown') setActive((active + 1) % count);
      else if (key === 'ArrowUp') setActive((active + count - 1) % count);
      else if (key === 'Escape') close();
      else if (chosen !== undefined) choose(chosen);
    } else if (key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send(event.ctrlKey || event.metaKey);
    } else if (key === 'Escape' && view.editing !== null) {
      event.preventDefault();
      store.cancelEdit();
    } else if (key === 'Escape' && busy) {
      event.preventDefault();
      store.stop();
    } else if (key === 'ArrowUp' || key === 'ArrowDown') {
      const text = recall.move(key === 'ArrowUp' ? -1 : 1, input.current, store.view.draft);
      if (text === null) return;
      event.preventDefault();
      caret.current = text.length;
      store.edit(text);
    }
  };

  return (
    <Drop store={store}>
      <div class="above-input">
        {model !== null && <Queue prompts={model.queue} busy={busy} store={store} />}
        {view.editing !== null && (
          <div class="editing" data-testid="editing">
            <Icon name="edit" />
            <span>{texts.editing}</span>
            <IconButton
              icon="close"
              label={texts.cancelEdit}
              testId="cancel-edit"
              onClick={() => store.cancelEdit()}
            />
          </div>
        )}
        {model !== null && <FileChips files={model.files} roots={view.place.roots} store={store} />}
        <MentionChips
          // A mention that is being typed is not judged yet.
          mentions={view.mentioned.filter(({ text }) => text !== `@${mention?.query ?? ''}`)}
          given={view.given}
          store={store}
        />
        {view.selection === null && view.active !== null && (
          <ActiveEditorChip active={view.active} store={store} />
        )}
        {view.selection !== null && (
          <div class="chip selection" data-testid="selection-chip">
            <Icon name="selection" />
            <span
              class="chip-name"
              title={texts.selection(view.selection.label, view.selection.characters)}
            >
              {view.selection.label}
            </span>
            <IconButton
              icon="close"
              label={texts.removeSelection}
              onClick={() => store.post({ type: 'dropSelection' })}
            />
          </div>
        )}
        {images.length > 0 && (
          <ul class="attached">
            {images.map((source, index) => (
              <li key={source.slice(-64)}>
                <img src={source} alt={texts.attachedImage} />
                <IconButton
                  icon="close"
                  label={texts.removeImage}
                  onClick={() => store.removeImage(index)}
                />
              </li>
            ))}
          </ul>
        )}
      </div>
      <div class="input-frame">
        {open && <MentionList items={completions} active={active} choose={choose} />}
        {/* A text of several lines may be no combobox in HTML: that there is a list is said. */}
        <div class="visually-hidden" role="status">
          {open ? texts.listed(completions.length) : ''}
        </div>
        <textarea
          ref={input}
          data-testid="chat-input"
          rows={2}
          dir="auto"
          placeholder={texts.promptPlaceholder}
          aria-label={texts.prompt}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={open ? LIST_ID : undefined}
          aria-activedescendant={open ? `${LIST_ID}-${active}` : undefined}
          onInput={(event) => {
            store.edit(event.currentTarget.value);
            recall.reset();
            look();
          }}
          onKeyDown={pressed}
          onKeyUp={(event) => {
            if (['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) look();
          }}
          onClick={look}
          onBlur={close}
          onPaste={(event) => {
            const files = [...(event.clipboardData?.files ?? [])];
            const pasted = event.clipboardData?.getData('text/plain') ?? '';
            if (files.length === 0 && mayBePath(pasted)) {
              store.post({ type: 'pasted', text: pasted });
            }
            if (files.length === 0) return;
            event.preventDefault();
            void store.addImages(files);
          }}
        />
        <div class="input-actions">
          {busy && (
            <IconButton
              icon="debug-stop"
              label={texts.stop}
              testId="stop-button"
              class="stop"
              onClick={() => store.stop()}
            />
          )}
          {busy && view.editing === null && draft.trim() !== '' && (
            <IconButton
              icon="debug-step-into"
              label={texts.steer}
              testId="steer-button"
              disabled={isBroken(view.connection.kind)}
              onClick={() => send(true)}
            />
          )}
          <IconButton
            icon="send"
            label={texts.send}
            testId="send-button"
            disabled={
              (draft.trim() === '' && images.length === 0) || isBroken(view.connection.kind)
            }
            onClick={() => send()}
          />
        </div>
      </div>
      {model !== null && <StatusLine model={model} store={store} />}
    </Drop>
  );
}

function StatusLine({ model, store }: { model: Model; store: Store }): JSX.Element {
  const { budget, mode } = model;
  return (
    <div class="status-line">
      <button
        type="button"
        class="flat"
        data-testid="context-mode"
        data-mode={mode}
        title={texts.modeTip[mode]}
        onClick={() => store.post({ type: 'cycleMode' })}
      >
        {texts.mode(texts.modeNames[mode])}
      </button>
      <button
        type="button"
        class={`flat meter ${level(budget.percent)}`}
        data-testid="budget-summary"
        title={texts.meterTip}
        onClick={() => store.post({ type: 'showBudget' })}
      >
        <meter
          min={0}
          max={100}
          high={75}
          optimum={0}
          value={Math.min(100, budget.percent)}
          aria-hidden="true"
        />
        <span class="meter-figures">{summary(budget)}</span>
        <span class="meter-percent">{percent(budget.percent)}</span>
      </button>
    </div>
  );
}

/** The file that the user looks at, or what is selected in it: one click leaves it out. */
function ActiveEditorChip({ active, store }: { active: ActiveChip; store: Store }): JSX.Element {
  const { label, path, selected, on } = active;
  return (
    <button
      type="button"
      class={on ? 'chip active-editor' : 'chip active-editor off'}
      data-testid="active-chip"
      aria-pressed={on}
      title={on ? texts.activeOn(path) : texts.activeOff(path)}
      onClick={() => store.post({ type: 'toggleActive' })}
    >
      <Icon name={on ? (selected ? 'selection' : 'eye') : 'eye-closed'} />
      <span class="chip-name">{label}</span>
    </button>
  );
}

/** One line that could be a path; the host says whether it is one. */
function mayBePath(text: string): boolean {
  return text.length < 1_000 && /^(?!https?:)[^\n@"]*[\\/][^\n@"]*$/.test(text.trim());
}

/** Takes pictures and, from the explorer with Shift held, files. */
function Drop(props: { children: ComponentChildren; store: Store }): JSX.Element {
  const [over, setOver] = useState(false);
  const { store } = props;
  return (
    <section
      class={over ? 'composer over' : 'composer'}
      aria-label={texts.prompt}
      data-drop={texts.dropHere}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const data = event.dataTransfer;
        if (data === null) return;
        const uris = droppedUris(data).slice(0, 200);
        if (uris.length > 0) store.post({ type: 'dropped', uris });
        else if (data.files.length > 0) void store.addImages([...data.files]);
      }}
    >
      {props.children}
    </section>
  );
}

/** Arrow up in an empty input recalls earlier prompts, newest first. */
function useRecall(
  model: Model | null,
  store: Store,
): {
  move: (by: number, input: HTMLTextAreaElement | null, draft: string) => string | null;
  reset: () => void;
} {
  const at = useRef<number | null>(null);
  const reset = (): void => {
    at.current = null;
  };
  const move = (by: number, input: HTMLTextAreaElement | null, draft: string): string | null => {
    if (input === null || model === null) return null;
    if (at.current === null && (draft !== '' || by > 0)) return null;
    const prompts = [
      ...new Set(
        [...model.messages.filter((message) => message.role === 'user'), ...store.view.pending]
          .map((message) => message.text)
          .filter((text) => text !== ''),
      ),
    ];
    const next = (at.current ?? prompts.length) + by;
    if (next < 0 || prompts.length === 0) return null;
    if (next >= prompts.length) {
      reset();
      return '';
    }
    at.current = next;
    return prompts[next] ?? null;
  };
  return { move, reset };
}
