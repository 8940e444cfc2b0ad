/** The context that was sent with a prompt, as chips; each opens its text. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { SentGroup } from '../../protocol';
import { tokens } from '../../shared/budget';
import { iconOf } from '../../shared/mentions';
import type { SentEntry } from '../../shared/messages';
import type { ShownMessage } from '../../shared/model';
import type { Store } from '../store';
import { texts } from '../texts';
import { Icon } from './parts';

interface WentAlongProps {
  message: ShownMessage;
  store: Store;
}

export function WentAlong({ message, store }: WentAlongProps): JSX.Element | null {
  const [open, setOpen] = useState<{ kind: string; entries: readonly SentEntry[] } | null>(null);
  const list = useId();
  // An older server sends neither.
  const { attached = [], sent = [] } = message;
  if (attached.length === 0 && sent.length === 0) return null;
  const show = (key: string): void =>
    store.post({ type: 'openSent', turnId: message.groupId, key });
  /** Open a single entry, or the list of several; a second click closes it. */
  const choose = async (group: SentGroup): Promise<void> => {
    if (open?.kind === group.kind) {
      setOpen(null);
      return;
    }
    const all = await store.sent.of(message.groupId);
    const shown = attached
      .filter(({ text }) => text === '')
      .flatMap(({ path, uri }) => [path, uri]);
    const entries = all.filter(({ kind, label }) => kind === group.kind && !shown.includes(label));
    const [first] = entries;
    if (first === undefined) return;
    if (group.count === 1) show(first.key);
    else setOpen({ kind: group.kind, entries });
  };
  return (
    <>
      <ul class="chips went-along" aria-label={texts.wentAlong}>
        {attached.map((one, index) => (
          <li key={`${one.kind} ${one.label}`}>
            <button
              type="button"
              class="chip"
              data-testid="attached-chip"
              title={`${texts.kind(one.kind)}: ${texts.openSent(one.label)}`}
              onClick={() => store.post({ type: 'openAttached', messageId: message.id, index })}
            >
              <Icon name={iconOf(one.kind)} />
              <span class="chip-name">{one.label}</span>
            </button>
          </li>
        ))}
        {sent.map((group) => (
          <li key={group.kind}>
            <button
              type="button"
              class="chip sent"
              data-testid="sent-chip"
              data-kind={group.kind}
              title={
                group.count === 1
                  ? texts.openSent(group.label || texts.sent(group.kind, 1))
                  : texts.listSent
              }
              aria-expanded={group.count === 1 ? undefined : open?.kind === group.kind}
              aria-controls={open?.kind === group.kind ? list : undefined}
              onClick={() => void choose(group)}
            >
              <Icon name={iconOf(group.kind)} />
              <span class="chip-name">{group.label || texts.sent(group.kind, group.count)}</span>
              {group.count > 1 && (
                <Icon name={open?.kind === group.kind ? 'chevron-down' : 'chevron-right'} />
              )}
            </button>
          </li>
        ))}
      </ul>
      {open !== null && (
        <ul class="sent-list" id={list} data-testid="sent-list" aria-label={texts.wentAlong}>
          {open.entries.map((one) => (
            <li key={one.key}>
              <button type="button" title={texts.openSent(one.label)} onClick={() => show(one.key)}>
                <span class="sent-name">{one.label}</span>
                <span class="chip-size">{tokens(one.tokens)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
