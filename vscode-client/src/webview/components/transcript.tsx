/** The conversation: follows the newest text unless the user has scrolled away from it. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Model, retryGroup, type ShownNotice, turnKey } from '../../shared/model';
import type { ScrollPlace } from '../host';
import type { Pending, Store, View } from '../store';
import { texts } from '../texts';
import { ConsentCard } from './calls';
import { Compacting, Compaction, Covered } from './compaction';
import { Empty } from './empty';
import { Images, Message, Streaming } from './message';
import { Box, Icon } from './parts';

/** Messages drawn at first; older ones on demand. */
const PAGE = 60;
/**
 * Messages in one block. What is out of view is skipped by blocks: with 2,000 single messages the
 * browser spent most of each frame on them while scrolling.
 */
const BLOCK = 8;
/** This near to the end counts as at the end, in pixels. */
const NEAR = 32;
/** The position is stored after scrolling has stopped for so many milliseconds. */
const SAVE_MS = 200;

/** A constant, so that messages without calls are not drawn again. */
const NOTHING: readonly never[] = [];

export function Transcript({ view, store }: { view: View; store: Store }): JSX.Element {
  const { pending } = view;
  const model = useTranscript(view.model);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const messages = model?.messages ?? [];
  const empty =
    model !== null && messages.length === 0 && model.turn === null && pending.length === 0;
  const { follow, restore, release, away } = useFollowing(scroller, content, empty, (place) =>
    store.keepScroll(place === null ? null : { ...place, session: sessionNow.current }),
  );
  const [pages, setPages] = useState(1);
  const session = model?.sessionId ?? '';
  const sessionNow = useRef(session);
  sessionNow.current = session;
  const earlier = useRef<HTMLButtonElement>(null);

  useLayoutEffect(() => {
    const place = store.takeScroll(session);
    const at = model?.messages.findIndex(({ id }) => id === place?.message) ?? -1;
    if (place === null || at < 0) {
      setPages(1);
      follow(true);
      return;
    }
    const count = model?.messages.length ?? 0;
    setPages(Math.max(1, Math.ceil((count - at) / PAGE)));
    restore(place);
  }, [session]);
  useLayoutEffect(() => {
    const at = model?.messages.findIndex(({ id }) => id === view.revealed?.id) ?? -1;
    if (at < 0) return;
    release();
    setPages((count) => Math.max(count, Math.ceil((messages.length - at) / PAGE)));
  }, [view.revealed]);
  const lastTicket = pending.at(-1)?.ticket ?? 0;
  useLayoutEffect(() => {
    if (lastTicket > 0) follow(true);
  }, [lastTicket]);
  // After every drawing: new text may have moved the end.
  useLayoutEffect(() => follow(false));

  const length = messages.length;
  // What is being read stays in place when older messages come above it. The browser does that,
  // except at the very top.
  const reading = useRef<Omit<ScrollPlace, 'session'> | null>(null);
  const more = (): void => {
    reading.current = scroller.current === null ? null : topmost(scroller.current);
    setPages((count) => count + 1);
  };
  useLayoutEffect(() => {
    const [element, place] = [scroller.current, reading.current];
    reading.current = null;
    const target = element !== null && place !== null ? find(element, place.message) : null;
    if (element !== null && target !== null) scrollTo(element, target, place?.above ?? 0);
  }, [pages]);
  // Older messages are drawn before the top is reached; the button is for the keyboard.
  useEffect(() => {
    if (earlier.current === null || typeof IntersectionObserver === 'undefined') return;
    const seen = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) more();
      },
      { root: scroller.current, rootMargin: '800px 0px 0px 0px' },
    );
    seen.observe(earlier.current);
    return () => seen.disconnect();
  }, [pages, session, length > PAGE * pages]);
  const hidden = Math.max(0, messages.length - PAGE * pages);
  return (
    <div class="transcript-frame">
      <section
        class="transcript"
        ref={scroller}
        aria-label={texts.conversation}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard
        tabIndex={0}
      >
        <div class="transcript-content" ref={content}>
          {hidden > 0 && (
            <button type="button" class="earlier" ref={earlier} onClick={more}>
              {texts.earlier(hidden)}
            </button>
          )}
          {empty && <Empty view={view} store={store} />}
          {model !== null && <Messages model={model} from={hidden} store={store} />}
          {pending.map((prompt) => (
            <PendingPrompt key={prompt.ticket} prompt={prompt} />
          ))}
          {model?.consents
            .filter((one) => one.callId === '') // asked before the turn has a reply to show it in
            .map((one) => (
              <ConsentCard key={one.id} consent={one} store={store} />
            ))}
        </div>
      </section>
      {away && !empty && (
        <button
          type="button"
          class="jump"
          title={texts.jump}
          aria-label={texts.jump}
          onClick={() => follow(true)}
        >
          <Icon name="arrow-down" />
        </button>
      )}
    </div>
  );
}

/** The conversation without the prompts that wait: those are listed at the input. */
function useTranscript(model: Model | null): Model | null {
  return useMemo(() => {
    if (model === null || model.queue.length === 0) return model;
    const waiting = new Set(model.queue.map(({ turnId }) => turnId));
    const messages = model.messages.filter(({ groupId }) => !waiting.has(groupId));
    return { ...model, messages };
  }, [model]);
}

function Messages(props: { model: Model; from: number; store: Store }): JSX.Element {
  const { model, from, store } = props;
  const retry = retryGroup(model);
  const messages = model.messages.slice(from);
  const last = model.messages.findLast(({ role }) => role !== 'system' && role !== 'tool');
  const blocks = new Map<number, JSX.Element[]>();
  /** By its place in the conversation: a drawn message never moves to another block. */
  const put = (place: number, item: JSX.Element): void => {
    const block = Math.floor(place / BLOCK);
    const items = blocks.get(block);
    if (items === undefined) blocks.set(block, [item]);
    else items.push(item);
  };
  const notices = new Map<string, ShownNotice[]>();
  for (const notice of model.notices) {
    notices.set(notice.after, [...(notices.get(notice.after) ?? []), notice]);
  }
  const addNotices = (place: number, after: string): void => {
    for (const notice of notices.get(after) ?? []) put(place, <Notice notice={notice} />);
  };
  addNotices(from, '');
  // Code that the user took out of a reply himself belongs to no call.
  const applied = new Set(
    model.edits.filter(({ callId }) => callId === '').map(({ messageId }) => messageId),
  );
  let folded: JSX.Element[] = [];
  const unfold = (place: number): void => {
    if (folded.length === 0) return;
    const covered = folded;
    folded = [];
    put(
      place,
      <Covered key={`covered ${covered[0]?.key}`} count={covered.length}>
        {covered}
      </Covered>,
    );
  };
  messages.forEach((message, index) => {
    const place = from + index;
    if (message.compaction !== '') {
      unfold(place);
      put(place, <Compaction key={message.key} message={message} store={store} />);
      addNotices(place, message.key);
      return;
    }
    const item = (
      <Message
        key={message.key}
        message={message}
        store={store}
        retry={message === last ? retry : null}
        again={message === last && retry === null && model.turn === null}
        edits={message.calls.length > 0 || applied.has(message.id) ? model.edits : NOTHING}
        consents={message.calls.length > 0 ? model.consents : NOTHING}
      />
    );
    if (message.covered !== '') {
      if (message.role !== 'tool') folded.push(item);
      return;
    }
    unfold(place);
    put(place, item);
    addNotices(place, message.key);
  });
  const end = from + messages.length;
  unfold(end);
  if (model.turn !== null) {
    const key = turnKey(model.turn.id);
    const embedded = model.provider.origin === 'embedded';
    put(end, <Streaming key={key} turn={model.turn} embedded={embedded} store={store} />);
    addNotices(end, key);
  }
  if (model.compacting) put(end, <Compacting key="compacting" />);
  return (
    <>
      {[...blocks].map(([block, items]) => (
        <div class="block" key={block}>
          {items}
        </div>
      ))}
    </>
  );
}

function Notice({ notice }: { notice: ShownNotice }): JSX.Element {
  return (
    <Box level={notice.level} testId="notice" key={`notice ${notice.id}`}>
      {notice.text}
    </Box>
  );
}

function PendingPrompt({ prompt }: { prompt: Pending }): JSX.Element {
  return (
    <article class="message user pending" data-testid="pending" aria-label={texts.you}>
      <div class="bubble">
        <Images images={prompt.images} />
        <div class="prompt-text" dir="auto">
          {prompt.text}
        </div>
      </div>
      <div class="note" role="status">
        {prompt.queued ? texts.queued : texts.sending}
      </div>
    </article>
  );
}

/**
 * Whether the end is in view is the user's choice, which only scrolling changes. The greeting of an
 * empty conversation is shown from its beginning.
 */
function useFollowing(
  scroller: { readonly current: HTMLElement | null },
  content: { readonly current: HTMLElement | null },
  empty: boolean,
  keep: (place: Omit<ScrollPlace, 'session'> | null) => void,
): {
  follow: (force: boolean) => void;
  restore: (place: ScrollPlace) => void;
  release: () => void;
  away: boolean;
} {
  const following = useRef(true);
  const wanted = useRef<ScrollPlace | null>(null);
  const keeper = useRef(keep);
  keeper.current = keep;
  const still = useRef(empty);
  still.current = empty;
  const last = useRef(0);
  const [away, setAway] = useState(false);
  const follow = (force: boolean): void => {
    const element = scroller.current;
    if (element === null) return;
    if (wanted.current !== null && !force) {
      const target = find(element, wanted.current.message);
      if (target === null) return;
      scrollTo(element, target, wanted.current.above);
      return;
    }
    wanted.current = null;
    if (force) following.current = true;
    if (!following.current || (!force && selecting(element))) return;
    element.scrollTop = still.current ? 0 : element.scrollHeight;
    last.current = element.scrollTop;
  };
  useEffect(() => {
    const element = scroller.current;
    if (element === null || content.current === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const save = (): void => keeper.current(following.current ? null : topmost(element));
    const scrolled = (): void => {
      const rest = element.scrollHeight - element.scrollTop - element.clientHeight;
      const up = element.scrollTop < last.current - 1;
      last.current = element.scrollTop;
      if (wanted.current !== null) following.current = false;
      else if (rest < NEAR) following.current = true;
      else if (up) following.current = false;
      // Otherwise the end moved: a message that came into view is taller than estimated.
      else follow(false);
      setAway(!following.current);
      clearTimeout(timer);
      timer = setTimeout(save, SAVE_MS);
    };
    /** From now on the user decides. */
    const touched = (): void => {
      wanted.current = null;
    };
    const wheel = (event: WheelEvent): void => {
      touched();
      if (event.deltaY < 0) following.current = false;
    };
    element.addEventListener('scroll', scrolled, { passive: true });
    element.addEventListener('wheel', wheel, { passive: true });
    element.addEventListener('pointerdown', touched, { passive: true });
    element.addEventListener('keydown', touched, { passive: true });
    // The size also changes without a drawing: fonts, pictures, the width of the sidebar.
    const resized = new ResizeObserver(() => follow(false));
    resized.observe(content.current);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', scrolled);
      element.removeEventListener('wheel', wheel);
      element.removeEventListener('pointerdown', touched);
      element.removeEventListener('keydown', touched);
      clearTimeout(timer);
      resized.disconnect();
    };
  }, []);
  const restore = (place: ScrollPlace): void => {
    wanted.current = place;
    following.current = false;
    setAway(true);
    follow(false);
  };
  /** A user who looks at something else is not scrolled back to the end. */
  const release = (): void => {
    wanted.current = null;
    following.current = false;
    setAway(true);
  };
  return { follow, restore, release, away };
}

function find(element: HTMLElement, id: string): HTMLElement | null {
  return element.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
}

function scrollTo(element: HTMLElement, target: HTMLElement, above: number): void {
  const at = target.getBoundingClientRect().top - element.getBoundingClientRect().top;
  element.scrollTop += at + above;
}

/** The first message that is in view, and how much of it is not. */
function topmost(element: HTMLElement): Omit<ScrollPlace, 'session'> | null {
  const top = element.getBoundingClientRect().top;
  // By blocks first: asking for a message in one that is skipped would lay all of it out.
  for (const block of element.querySelectorAll('.block')) {
    if (block.getBoundingClientRect().bottom <= top) continue;
    for (const message of block.querySelectorAll<HTMLElement>('[data-id]')) {
      const box = message.getBoundingClientRect();
      if (box.bottom > top) {
        return { message: message.dataset.id ?? '', above: Math.round(top - box.top) };
      }
    }
  }
  return null;
}

/** The user has selected text here, so it must not move. */
function selecting(element: HTMLElement): boolean {
  const selection = document.getSelection();
  return (
    selection !== null &&
    !selection.isCollapsed &&
    selection.anchorNode !== null &&
    element.contains(selection.anchorNode)
  );
}
