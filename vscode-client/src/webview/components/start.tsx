/** The first page: the ways to a model that answers, each one click. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Way } from '../../shared/ways';
import type { Store, View } from '../store';
import { texts } from '../texts';
import { Icon } from './parts';

interface RowProps {
  icon: string;
  title: string;
  detail: string;
  testId: string;
  onClick: () => void;
}

function Row({ icon, title, detail, testId, onClick }: RowProps): JSX.Element {
  return (
    <li>
      <button type="button" class="way" data-testid={testId} onClick={onClick}>
        <Icon name={icon} />
        <span class="way-text">
          <span class="way-title">{title}</span>
          <span class="way-detail">{detail}</span>
        </span>
        <Icon name="chevron-right" />
      </button>
    </li>
  );
}

/** Ways that are missing, and how to get them. */
function Missing({ icon, text }: { icon: string; text: string }): JSX.Element {
  return (
    <li class="way missing">
      <Icon name={icon} />
      <span class="way-detail">{text}</span>
    </li>
  );
}

export function Start({ view, store }: { view: View; store: Store }): JSX.Element {
  const { ways } = view;
  useEffect(() => store.post({ type: 'ways' }), [view.model?.provider.name]);
  const take = (way: Way['way'], name = '') => {
    return (): void => store.post({ type: 'way', way, name });
  };
  const embedded = (): void => {
    store.post({ type: 'way', way: 'embedded', name: '' });
    if (ways?.embedded) store.choose(false);
  };
  return (
    <section class="start" data-testid="start" aria-labelledby="start-title">
      <h2 id="start-title">{texts.startTitle}</h2>
      <ul aria-busy={ways === null}>
        <Row
          icon="key"
          title={texts.wayKey}
          detail={texts.wayKeyDetail}
          testId="way-key"
          onClick={take('key')}
        />
        {ways?.servers.map(({ name, baseUrl, model, more }) => (
          <Row
            key={baseUrl}
            icon="server-environment"
            title={texts.wayServer(name)}
            detail={texts.wayServerDetail(model, more)}
            testId="way-server"
            onClick={take('server', baseUrl)}
          />
        ))}
        {ways?.servers.length === 0 && <Missing icon="server-environment" text={texts.noServer} />}
        {ways?.editor.map((model) => (
          <Row
            key={model}
            icon="vscode"
            title={texts.wayEditor(model)}
            detail={texts.wayEditorDetail}
            testId="way-editor"
            onClick={take('editor', model)}
          />
        ))}
        {ways?.editor.length === 0 && <Missing icon="vscode" text={texts.noEditor} />}
        <Row
          icon="beaker"
          title={texts.wayEmbedded}
          detail={ways?.embedded ? texts.wayEmbeddedHere : texts.wayEmbeddedDetail}
          testId="way-embedded"
          onClick={embedded}
        />
      </ul>
      <p class="start-more">
        <button type="button" class="link" onClick={() => store.post({ type: 'ways' })}>
          {texts.lookAgain}
        </button>
        <button type="button" class="link" onClick={() => store.post({ type: 'selectModel' })}>
          {texts.anotherWay}
        </button>
        {view.choosing && (
          <button type="button" class="link" onClick={() => store.choose(false)}>
            {texts.backToChat}
          </button>
        )}
      </p>
    </section>
  );
}
