/** The whole sidebar. */
import type { JSX } from 'preact';
import type { ProviderInfo } from '../../protocol';
import { useFocusKept } from '../focus';
import type { Store, View } from '../store';
import { texts } from '../texts';
import { Composer } from './composer';
import { FindBar } from './find';
import { Box, Button, Icon, IconButton } from './parts';
import { ReviewBar } from './review';
import { Start } from './start';
import { Transcript } from './transcript';

export function App({ view, store }: { view: View; store: Store }): JSX.Element {
  const branch = view.model?.branch ?? '';
  const main = useFocusKept<HTMLElement>();
  return (
    <main
      ref={main}
      class="app"
      data-connection={view.connection.kind}
      onKeyDown={(event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === 'f' && !event.altKey) {
          event.preventDefault();
          store.find(true);
          return;
        }
        // From anywhere in the view; where Esc closes something, that comes first.
        if (event.key !== 'Escape' || event.defaultPrevented || view.model === null) return;
        const { turn, consents } = view.model;
        // A question about a link comes before there is a turn; its card says that Esc means no.
        const asked = consents.find(({ callId }) => callId === '');
        if (turn !== null) store.stop();
        else if (asked !== undefined) {
          store.post({ type: 'consent', id: asked.id, answer: 'deny' });
        } else return;
        event.preventDefault();
      }}
    >
      <header class="top">
        <ProviderChip provider={view.model?.provider ?? null} store={store} />
        {branch !== '' && branch !== 'main' && (
          <button
            type="button"
            class="flat branch"
            data-testid="branch-chip"
            title={texts.branch(branch)}
            onClick={() => store.post({ type: 'switchBranch' })}
          >
            <Icon name="git-branch" />
            <span class="provider-name">{branch}</span>
          </button>
        )}
        <span class="gap" />
        {view.model !== null && view.model.messages.length > 0 && (
          <IconButton
            icon="search"
            label={texts.findTip}
            testId="find-button"
            onClick={() => store.find(!view.finding)}
          />
        )}
        <IconButton
          icon="history"
          label={texts.sessions}
          testId="sessions"
          onClick={() => store.post({ type: 'sessions' })}
        />
        <IconButton
          icon="add"
          label={texts.newSession}
          testId="new-session"
          onClick={() => store.post({ type: 'newSession' })}
        />
      </header>
      {view.finding && view.model !== null && <FindBar model={view.model} store={store} />}
      {view.choosing ? (
        <div class="start-over">
          <Start view={view} store={store} />
        </div>
      ) : (
        <Transcript view={view} store={store} />
      )}
      <PlaceBox view={view} store={store} />
      <ConnectionBox view={view} store={store} />
      {view.hints.map((hint) => (
        <div class="hint" key={hint.id}>
          <Box level={hint.level} testId="notice">
            {hint.text}
          </Box>
          <IconButton icon="close" label={texts.dismiss} onClick={() => store.dismiss(hint.id)} />
        </div>
      ))}
      <ReviewBar edits={view.model?.edits ?? []} store={store} />
      <Composer view={view} store={store} />
      <div class="visually-hidden" role="log" aria-live="polite" aria-relevant="additions">
        {view.announcements.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
      </div>
    </main>
  );
}

function ProviderChip(props: { provider: ProviderInfo | null; store: Store }): JSX.Element {
  const { provider, store } = props;
  const label =
    provider === null || ['', 'none'].includes(provider.name)
      ? texts.noProvider
      : provider.model === ''
        ? provider.title || provider.name
        : `${provider.title || provider.name} · ${provider.model}`;
  const missing = provider !== null && !provider.available;
  return (
    <button
      type="button"
      class={missing ? 'flat provider missing' : 'flat provider'}
      data-testid="provider-chip"
      title={[texts.provider(label), provider?.why ?? ''].filter((part) => part !== '').join('\n')}
      onClick={() => store.post({ type: 'selectModel' })}
    >
      <Icon name={missing ? 'warning' : 'chip'} />
      <span class="provider-name">{label}</span>
      <Icon name="chevron-down" />
    </button>
  );
}

/** The folder's limits, and what to do about them. */
function PlaceBox({ view, store }: { view: View; store: Store }): JSX.Element | null {
  const { trusted, virtual } = view.place;
  if (trusted && !virtual) return null;
  return (
    <div class="place" data-testid="place">
      <Box level="info">
        {!trusted && <p>{texts.untrusted}</p>}
        {virtual && <p>{texts.virtual}</p>}
        {!trusted && (
          <div class="box-actions">
            <Button secondary onClick={() => store.post({ type: 'manageTrust' })}>
              {texts.manageTrust}
            </Button>
          </div>
        )}
      </Box>
    </div>
  );
}

function ConnectionBox({ view, store }: { view: View; store: Store }): JSX.Element | null {
  const { kind, text, advice } = view.connection;
  if (kind === 'ready') return null;
  if (kind === 'starting' || kind === 'installing' || kind === 'restarting') {
    const line =
      kind === 'installing' ? texts.installing(text) : text === '' ? texts.connecting : text;
    return (
      <div class="connecting" role="status" data-testid="connection">
        <Icon name="loading codicon-modifier-spin" />
        <span>{line}</span>
      </div>
    );
  }
  return (
    <div class="connection-problem" data-testid="connection">
      <Box level="error">
        <p>{text}</p>
        {advice !== '' && <p>{advice}</p>}
        <div class="box-actions">
          <Button onClick={() => store.post({ type: 'restart' })}>
            {kind === 'noServer' ? texts.tryAgain : texts.restart}
          </Button>
          {kind === 'noPython' ? (
            <Button secondary onClick={() => store.post({ type: 'openSettings' })}>
              {texts.settings}
            </Button>
          ) : (
            <Button secondary onClick={() => store.post({ type: 'showLog' })}>
              {texts.showLog}
            </Button>
          )}
        </div>
      </Box>
    </div>
  );
}
