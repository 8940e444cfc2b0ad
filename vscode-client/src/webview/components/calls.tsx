/** The tools that a reply calls: a foldable row each, with its result and its question. */
import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ConsentInfo, EditHunk, EditInfo, ToolCallInfo } from '../../protocol';
import { useFocusBack } from '../focus';
import type { Store } from '../store';
import { texts } from '../texts';
import { Button, Icon } from './parts';
import { PartActions, ReviewActions } from './review';

const ICONS: Readonly<Record<ToolCallInfo['status'], string>> = {
  waiting: 'circle-outline',
  running: 'loading codicon-modifier-spin',
  asking: 'question',
  ok: 'check',
  error: 'warning',
  interrupted: 'debug-stop',
};

/** An edit that was not applied, or was undone: its call ran, but it gets no tick. */
const UNMADE: Partial<Record<EditInfo['state'], string>> = {
  rejected: 'circle-slash',
  expired: 'circle-slash',
  undone: 'discard',
};

interface CallsProps {
  calls: readonly ToolCallInfo[];
  edits: readonly EditInfo[];
  consents: readonly ConsentInfo[];
  store: Store;
}

export function Calls(props: CallsProps): JSX.Element | null {
  const { calls, edits, consents, store } = props;
  if (calls.length === 0) return null;
  return (
    <div class="calls" data-testid="calls">
      {calls.map((call) => {
        const edit = edits.find(
          (one) => one.callId === call.id && one.messageId === call.messageId,
        );
        const consent = consents.find((one) => one.callId === call.id);
        return (
          <div key={call.id}>
            <Call call={call} edit={edit} />
            {edit !== undefined && <EditCard key={edit.id} edit={edit} store={store} />}
            {consent !== undefined && (
              <ConsentCard key={consent.id} consent={consent} store={store} />
            )}
          </div>
        );
      })}
    </div>
  );
}

function Call(props: { call: ToolCallInfo; edit: EditInfo | undefined }): JSX.Element {
  const { call, edit } = props;
  const unmade = call.status === 'ok' && edit !== undefined ? UNMADE[edit.state] : undefined;
  return (
    <details
      class={`call ${unmade === undefined ? call.status : 'unmade'}`}
      data-testid="call"
      data-tool={call.name}
      data-status={call.status}
    >
      <summary>
        <Icon name={unmade ?? ICONS[call.status]} />
        <span class="call-name">{call.name}</span>
        <span class="call-title" title={call.title}>
          {call.title}
        </span>
        <span class="call-note" title={call.note}>
          {call.note || texts.callStatus[call.status]}
        </span>
        {call.note !== '' && (
          // What the icon says.
          <span class="visually-hidden">{texts.callStatus[call.status]}</span>
        )}
      </summary>
      <pre tabindex={0}>{call.arguments}</pre>
      {call.result !== '' && <pre tabindex={0}>{call.result}</pre>}
    </details>
  );
}

/** The possible answers to each kind of question. */
const CONSENTS = {
  command: {
    icon: 'terminal',
    yes: texts.runOnce,
    always: texts.runAlways,
    no: texts.doNotRun,
  },
  url: { icon: 'globe', yes: texts.readPage, always: '', no: texts.doNotRead },
  spending: {
    icon: 'credit-card',
    yes: texts.goOn,
    always: texts.goOnAlways,
    no: texts.doNotGoOn,
  },
} as const;

export function ConsentCard({
  consent,
  store,
}: {
  consent: ConsentInfo;
  store: Store;
}): JSX.Element {
  const { yes, always, no, icon } = CONSENTS[consent.kind] ?? CONSENTS.command;
  const card = useFocusBack<HTMLElement>();
  const answer = (word: 'once' | 'always' | 'deny'): void =>
    store.post({ type: 'consent', id: consent.id, answer: word });
  return (
    <section
      ref={card}
      class="card consent"
      data-testid="consent"
      aria-label={`${consent.title} ${consent.text.slice(0, 200)}`}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        answer('deny');
      }}
    >
      <div class="card-title">
        <Icon name={icon} />
        <span>{consent.title}</span>
      </div>
      <pre class="command" tabindex={0} data-testid="consent-command">
        {pieces(consent.text).map((piece, index) => (
          <span key={index} class={piece.trim() === '' ? '' : 'piece'}>
            {piece}
          </span>
        ))}
      </pre>
      <div class="note">{consent.detail}</div>
      <div class="card-actions">
        <Button testId="consent-once" onClick={() => answer('once')}>
          {yes}
        </Button>
        {consent.canRemember && (
          <Button secondary testId="consent-always" onClick={() => answer('always')}>
            {always}
          </Button>
        )}
        <Button secondary testId="consent-deny" onClick={() => answer('deny')}>
          {no}
        </Button>
      </div>
    </section>
  );
}

/** Longer words are broken after slashes: about what a narrow sidebar has room for. */
const LONG = 24;

/**
 * Words and the spaces between them, long paths and addresses in parts; joined, they are the text.
 */
function pieces(text: string): string[] {
  return text
    .split(/(\s+)/)
    .flatMap((word) => (word.length > LONG ? word.split(/(?<=[^/]\/)(?=[^/])/) : [word]))
    .filter((piece) => piece !== '');
}

export function EditCard({ edit, store }: { edit: EditInfo; store: Store }): JSX.Element {
  const open = edit.state === 'open';
  return (
    <section
      class={`card edit ${edit.state}`}
      data-testid="edit"
      data-state={edit.state}
      aria-label={texts.edit(edit.path)}
    >
      <div class="card-title">
        <Icon name={edit.create ? 'new-file' : 'edit'} />
        <span class="call-title" title={edit.path}>
          {edit.path}
        </span>
        <span class="added">+{edit.added}</span>
        <span class="removed">−{edit.removed}</span>
        {!open && <span class="call-note">{stateOf(edit)}</span>}
      </div>
      {open && <Decision edit={edit} store={store} />}
      {edit.review === 'open' && <Applied edit={edit} store={store} />}
      {edit.reason !== '' && <div class="note">{edit.reason}</div>}
    </section>
  );
}

function stateOf({ state, review }: EditInfo): string {
  return state === 'applied' && review === 'open' ? texts.applied : texts.editState[state];
}

/** The changes of an edit that was applied at once, to be kept or undone. */
function Applied({ edit, store }: { edit: EditInfo; store: Store }): JSX.Element {
  const card = useFocusBack<HTMLDivElement>();
  const there = edit.hunks.filter(({ index }) => edit.accepted.includes(index));
  return (
    <div ref={card}>
      {there.map((hunk) => (
        <Hunk key={hunk.index} hunk={hunk} choice={null} toggle={() => undefined}>
          {edit.hunks.length > 1 && hunk.choice === '' && (
            <PartActions edit={edit} hunk={hunk.index} store={store} />
          )}
        </Hunk>
      ))}
      <ReviewActions edit={edit} store={store} />
    </div>
  );
}

/** A tick that was set or removed here. It counts until another client changes the choice. */
interface Own {
  take: boolean;
  over: EditHunk['choice'];
}

/** The changes of an open edit, and its buttons. */
function Decision({ edit, store }: { edit: EditInfo; store: Store }): JSX.Element {
  const own = useRef(new Map<number, Own>()).current;
  const [, draw] = useState(0);
  const [reason, setReason] = useState<string | null>(null);
  const part = useFocusBack<HTMLDivElement>();
  const reject = useRef<HTMLDivElement>(null);
  const several = edit.hunks.length > 1;
  for (const { index, choice } of edit.hunks) {
    if (own.get(index)?.over !== choice) own.delete(index);
  }
  const takes = (hunk: EditHunk): boolean => own.get(hunk.index)?.take ?? hunk.choice !== 'leave';
  const chosen = edit.hunks.filter(takes).map((hunk) => hunk.index);
  const all = chosen.length === edit.hunks.length;
  const toggle = (hunk: EditHunk): void => {
    own.set(hunk.index, { take: !takes(hunk), over: hunk.choice });
    draw((drawn) => drawn + 1);
  };
  const act = (verb: 'accept' | 'acceptAll' | 'reject' | 'preview', why = ''): void =>
    store.post({
      type: 'edit',
      verb,
      id: edit.id,
      hunks: verb === 'accept' && !all ? chosen : [],
      reason: why,
    });
  return (
    <div ref={part}>
      {edit.hunks.map((hunk) => (
        <Hunk
          key={hunk.index}
          hunk={hunk}
          choice={several ? takes(hunk) : null}
          toggle={() => toggle(hunk)}
        />
      ))}
      <div class="card-actions" ref={reject}>
        <Button testId="edit-accept" disabled={chosen.length === 0} onClick={() => act('accept')}>
          {all ? texts.accept : texts.acceptSome(chosen.length)}
        </Button>
        <Button
          secondary
          testId="edit-accept-all"
          title={texts.acceptAllTip}
          onClick={() => act('acceptAll')}
        >
          {texts.acceptAll}
        </Button>
        <Button
          secondary
          testId="edit-reject"
          onClick={() => (reason === null ? setReason('') : act('reject', reason))}
        >
          {texts.reject}
        </Button>
        <Button secondary testId="edit-preview" onClick={() => act('preview')}>
          {texts.preview}
        </Button>
      </div>
      {reason !== null && (
        <input
          class="reason"
          type="text"
          maxLength={1000}
          data-testid="edit-reason"
          aria-label={texts.rejectReason}
          placeholder={texts.rejectReason}
          ref={focusOnce}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === 'Enter') act('reject', reason);
            if (event.key !== 'Escape') return;
            setReason(null);
            reject.current?.querySelector<HTMLElement>('[data-testid=edit-reject]')?.focus();
          }}
        />
      )}
    </div>
  );
}

/** A stable function, so that it is called when the input appears and not at each keystroke. */
function focusOnce(element: HTMLElement | null): void {
  element?.focus();
}

interface HunkProps {
  hunk: EditHunk;
  /** Whether it will be accepted; null if there is no choice. */
  choice: boolean | null;
  toggle: () => void;
  children?: ComponentChildren;
}

function Hunk({ hunk, choice, toggle, children }: HunkProps): JSX.Element {
  const [before, after] = dedent(lines(hunk.before), lines(hunk.after));
  return (
    <div class="hunk" data-testid="hunk">
      {choice === null ? (
        <div class="hunk-head">
          {texts.line(hunk.line)}
          {children}
        </div>
      ) : (
        <label class="hunk-head">
          <input type="checkbox" checked={choice} onChange={toggle} />
          {texts.line(hunk.line)}
        </label>
      )}
      <pre tabindex={0} class={choice === false ? 'left-out' : ''}>
        {before.map((text, index) => (
          <span key={`- ${index}`} class="removed">{`- ${text}\n`}</span>
        ))}
        {after.map((text, index) => (
          <span key={`+ ${index}`} class="added">{`+ ${text}\n`}</span>
        ))}
      </pre>
    </div>
  );
}

/** Without the common indentation: a sidebar is narrow. */
function dedent(before: readonly string[], after: readonly string[]): [string[], string[]] {
  const all = [...before, ...after].filter((text) => text.trim() !== '' && text !== '…');
  const indents = all.map((text) => /^[ \t]*/.exec(text)?.[0] ?? '');
  const common = indents.reduce((a, b) => {
    let end = 0;
    while (end < a.length && a[end] === b[end]) end += 1;
    return a.slice(0, end);
  }, indents[0] ?? '');
  const cut = (text: string): string =>
    text.startsWith(common) ? text.slice(common.length) : text;
  return [before.map(cut), after.map(cut)];
}

/** Long hunks are for the preview. */
const MOST_LINES = 40;

function lines(text: string): string[] {
  if (text === '') return [];
  const all = text.replace(/\n$/, '').split('\n');
  return all.length <= MOST_LINES ? all : [...all.slice(0, MOST_LINES), '…'];
}
