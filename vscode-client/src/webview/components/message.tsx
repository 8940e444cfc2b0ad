/** One message: a prompt, a reply (streaming or complete), or what a tool answered. */
import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { ConsentInfo, EditInfo } from '../../protocol';
import { tokens } from '../../shared/budget';
import { money } from '../../shared/cache';
import type { ToHost } from '../../shared/messages';
import type { RunningTurn, ShownMessage } from '../../shared/model';
import { isShowable } from '../attachments';
import { MarkdownView } from '../markdown/view';
import type { Store } from '../store';
import { texts } from '../texts';
import { Calls, EditCard } from './calls';
import { Box, Button, Icon, IconButton } from './parts';
import { WentAlong } from './wentAlong';

export function Markdown(props: {
  text: string;
  final: boolean;
  store: Store;
  /** Id of the message; actions on its code name it. */
  messageId?: string;
}): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const view = useRef<MarkdownView | null>(null);
  const { text, final, store } = props;
  const id = useRef('');
  id.current = props.messageId ?? '';
  useLayoutEffect(() => {
    if (element.current === null) return;
    view.current ??= new MarkdownView(element.current, {
      copy: (code) => store.post({ type: 'copy', text: code }),
      insert: (code) => store.post({ type: 'insert', text: code }),
      open: (href) => store.post({ type: 'openLink', href }),
      code: (verb, code, path, language) =>
        store.post({ type: 'code', verb, text: code, path, language, messageId: id.current }),
      paths: store.paths,
    });
    view.current.update(text, final);
  }, [text, final, store]);
  useEffect(() => () => view.current?.dispose(), []);
  // Its children belong to the MarkdownView.
  return <div class="markdown" ref={element} />;
}

type TurnVerb = Extract<ToHost, { type: 'turn' }>['verb'];

interface MessageProps {
  message: ShownMessage;
  store: Store;
  /** The group to ask again, if that is possible here. */
  retry: string | null;
  /** Whether the newest reply can be asked for again although it is complete. */
  again: boolean;
  /** Edits of the message's calls; empty without calls. */
  edits: readonly EditInfo[];
  consents: readonly ConsentInfo[];
}

export const Message = memo((props: MessageProps): JSX.Element | null => {
  const { message, store, retry } = props;
  if (message.role === 'tool') return null; // its call's row shows the result
  if (message.role === 'system') return <Aside message={message} />;
  return message.role === 'user' ? (
    <Prompt message={message} store={store} retry={retry} />
  ) : (
    <Reply {...props} />
  );
});

function Prompt({
  message,
  store,
  retry,
}: Pick<MessageProps, 'message' | 'store' | 'retry'>): JSX.Element {
  return (
    <article
      class={`message user ${message.status}`}
      data-testid="message"
      data-role="user"
      data-status={message.status}
      data-id={message.id}
      aria-label={texts.you}
    >
      <div class="bubble">
        <Images images={message.images} />
        <div class="prompt-text" dir="auto">
          {message.text}
        </div>
        <WentAlong message={message} store={store} />
      </div>
      <div class="actions">
        {message.status === 'dropped' && <span class="note">{texts.dropped}</span>}
        <Tools message={message} store={store} />
        {message.contextLine !== '' && (
          <button
            type="button"
            class="context-line"
            data-testid="budget-line"
            title={texts.budgetTip}
            onClick={() => store.post({ type: 'showTurn', groupId: message.groupId })}
          >
            <Icon name="layers" />
            {message.contextLine}
          </button>
        )}
        <Usage message={message} store={store} />
      </div>
      {retry !== null && (
        <div class="note">
          {texts.noReply} <Retry groupId={retry} store={store} />
        </div>
      )}
    </article>
  );
}

function Reply(props: MessageProps): JSX.Element {
  const { message, store, retry, again, edits, consents } = props;
  const failed = message.status === 'error';
  const stopped = message.status === 'interrupted';
  return (
    <article
      class={`message assistant ${message.status}`}
      data-testid="message"
      data-role="assistant"
      data-status={message.status}
      data-id={message.id}
      aria-label={texts.tierline}
    >
      {message.embedded === true && <EmbeddedLine store={store} />}
      <Thinking text={message.thinking} seconds={message.thinkingSeconds} />
      <Markdown text={message.text} final messageId={message.id} store={store} />
      {message.state !== '' && <StateBlock text={message.state} />}
      <Calls calls={message.calls} edits={edits} consents={consents} store={store} />
      {edits
        .filter((edit) => edit.callId === '' && edit.messageId === message.id)
        .map((edit) => (
          <EditCard key={edit.id} edit={edit} store={store} />
        ))}
      {failed && (
        <Box level="error">
          <p>{message.error || message.note || texts.failed}</p>
          {message.advice !== '' && <p>{message.advice}</p>}
          {message.code === 'auth' && (
            <div class="box-actions">
              <Button secondary onClick={() => store.post({ type: 'setApiKey' })}>
                {texts.setApiKey}
              </Button>
            </div>
          )}
        </Box>
      )}
      {stopped && <div class="note">{message.note || message.error || texts.interrupted}</div>}
      {!failed && !stopped && message.note !== '' && <div class="note">{message.note}</div>}
      {message.status !== 'tool_call' && (
        <footer class="actions">
          {retry !== null && <Retry groupId={retry} store={store} />}
          {message.text !== '' && (
            <IconButton
              icon="copy"
              label={texts.copyMessage}
              onClick={() => store.post({ type: 'copy', text: message.text })}
            />
          )}
          {(!failed || message.text !== '') && (
            <IconButton
              icon="repo-forked"
              label={texts.fork}
              onClick={() => act(store, 'fork', message)}
            />
          )}
          {again && (
            <IconButton
              icon="refresh"
              label={texts.again}
              onClick={() => store.post({ type: 'retry', groupId: message.groupId })}
            />
          )}
          {message.tokens > 0 && (
            <span class="usage weight" title={texts.weightTip} data-testid="weight">
              {texts.weight(tokens(message.tokens))}
            </span>
          )}
          <Usage message={message} store={store} />
        </footer>
      )}
      {message.status === 'tool_call' && message.usage !== null && (
        <footer class="actions">
          <Usage message={message} store={store} />
        </footer>
      )}
    </article>
  );
}

function act(store: Store, verb: TurnVerb, message: ShownMessage): void {
  store.post({ type: 'turn', verb, groupId: message.groupId, messageId: message.id });
}

/** What can be done with a whole turn; stands at its prompt. */
function Tools({ message, store }: { message: ShownMessage; store: Store }): JSX.Element {
  const dropped = message.status === 'dropped';
  return (
    <span class="tools">
      <IconButton
        icon="copy"
        label={texts.copyPrompt}
        onClick={() => store.post({ type: 'copy', text: message.text })}
      />
      {!dropped && (
        <IconButton
          icon="edit"
          label={texts.editPrompt}
          testId="edit-prompt"
          onClick={() => store.beginEdit(message.groupId, message.text)}
        />
      )}
      {!dropped && (
        <IconButton
          icon="debug-reverse-continue"
          label={texts.goBack}
          testId="go-back"
          onClick={() => act(store, 'back', message)}
        />
      )}
      <IconButton
        icon={dropped ? 'eye' : 'eye-closed'}
        label={dropped ? texts.restore : texts.drop}
        onClick={() => act(store, dropped ? 'restore' : 'drop', message)}
      />
      <IconButton
        icon="trash"
        label={texts.removeTurn}
        onClick={() => act(store, 'remove', message)}
      />
    </span>
  );
}

/** What the model thought before it answered, folded to one line. */
function Thinking(props: {
  text: string;
  seconds?: number;
  running?: boolean;
}): JSX.Element | null {
  const { text, seconds = 0, running = false } = props;
  if (text === '') return null;
  const done = seconds >= 1 ? texts.thoughtFor(String(Math.round(seconds))) : texts.thought;
  return (
    <details class="reasoning" data-testid="thinking">
      <summary>{running ? texts.thinking : done}</summary>
      <div class="reasoning-text">{text}</div>
    </details>
  );
}

/** Why the reply is incomplete or missing, and what to do about it. */
function EmbeddedLine({ store }: { store: Store }): JSX.Element {
  return (
    <div class="note embedded-line" data-testid="embedded-line">
      <span>{texts.embeddedLine}</span>
      <button type="button" class="link" onClick={() => store.choose(true)}>
        {texts.betterModel}
      </button>
    </div>
  );
}

/** What the model records for itself at the end of a reply. */
function StateBlock({ text }: { text: string }): JSX.Element {
  return (
    <details class="state-block" data-testid="state-block">
      <summary title={texts.stateTip}>
        <Icon name="pinned" /> {texts.state}
      </summary>
      <pre tabindex={0}>{text}</pre>
    </details>
  );
}

function figures(usage: NonNullable<ShownMessage['usage']>): string {
  const read = usage.cacheReadTokens ?? 0;
  const cached = read > 0 ? tokens(read) : '';
  const cost = usage.cost > 0 ? money(usage.cost) : '';
  const output = tokens(usage.outputTokens);
  return texts.usage(usage.requests, tokens(usage.inputTokens), cached, output, cost);
}

/** Usage of the turn, all requests together; leads to the cache viewer. */
function Usage(props: { message: ShownMessage; store: Store }): JSX.Element | null {
  const { message, store } = props;
  const { usage, last, cacheOutcome, cache } = message;
  if (usage === null) return null;
  const lost = cacheOutcome === 'miss' || cacheOutcome === 'partial';
  const tip = [
    ...(last === null ? [] : [texts.lastRequest(figures(last))]),
    ...(cache === null ? [] : [cache.sentence]),
    texts.showCache,
  ];
  return (
    <button
      type="button"
      class="usage"
      data-testid="usage"
      data-outcome={cacheOutcome ?? ''}
      title={tip.join(' ')}
      onClick={() => store.post({ type: 'showCache' })}
    >
      {figures(usage)}
      {lost && (
        <>
          {' · '}
          <Icon name="warning" /> {texts.missed}
        </>
      )}
    </button>
  );
}

function Retry({ groupId, store }: { groupId: string; store: Store }): JSX.Element {
  return (
    <Button secondary testId="retry" onClick={() => store.post({ type: 'retry', groupId })}>
      <Icon name="refresh" /> {texts.retry}
    </Button>
  );
}

function Aside({ message }: { message: ShownMessage }): JSX.Element {
  return (
    <article
      class={`message aside ${message.status}`}
      data-testid="message"
      data-role={message.role}
      data-status={message.status}
      data-id={message.id}
    >
      <details>
        <summary>
          {texts.system}: {message.text.slice(0, 80)}
        </summary>
        <pre tabindex={0}>{message.text}</pre>
      </details>
    </article>
  );
}

/** The reply that is being written. It has the key that the finished message will have. */
export function Streaming(props: {
  turn: RunningTurn;
  embedded: boolean;
  store: Store;
}): JSX.Element {
  const { turn, embedded, store } = props;
  const status = turn.waiting || (turn.text === '' ? texts.waiting : texts.writing);
  return (
    <article
      class="message assistant streaming"
      data-testid="message"
      data-role="assistant"
      data-status="streaming"
      aria-label={texts.tierline}
      aria-busy="true"
    >
      {embedded && <EmbeddedLine store={store} />}
      <Thinking text={turn.reasoning} running={turn.text === ''} />
      <Markdown text={turn.text} final={false} store={store} />
      <div class="turn-status" data-testid="turn-status">
        <span class="pulse" aria-hidden="true" />
        {status}
      </div>
    </article>
  );
}

export function Images({ images }: { images: readonly string[] }): JSX.Element | null {
  const shown = images.filter(isShowable);
  if (shown.length === 0) return null;
  return (
    <div class="images">
      {shown.map((source) => (
        <img key={source.slice(-64)} src={source} alt={texts.attachedImage} />
      ))}
    </div>
  );
}
