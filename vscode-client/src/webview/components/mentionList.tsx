/** The list that opens at `@` and `/`: mentions and commands. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { tokens } from '../../shared/budget';
import { iconOf } from '../../shared/mentions';
import type { Completion } from '../../shared/messages';
import { texts } from '../texts';
import { Icon } from './parts';

export const LIST_ID = 'mentions';

interface MentionListProps {
  items: readonly Completion[];
  active: number;
  choose: (item: Completion) => void;
}

export function MentionList({ items, active, choose }: MentionListProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const commands = items[0]?.path.startsWith('/') === true;
  useLayoutEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return (
    <div
      class={commands ? 'mentions commands' : 'mentions'}
      id={LIST_ID}
      role="listbox"
      aria-label={commands ? texts.commands : texts.mentions}
      ref={list}
    >
      {items.map((item, index) => (
        <div
          key={item.path}
          id={`${LIST_ID}-${index}`}
          class={commands ? 'mention command' : 'mention'}
          title={tip(item)}
          role="option"
          tabIndex={-1}
          data-kind={item.kind}
          aria-selected={index === active}
          // Before the input loses the focus, which would close the list.
          onMouseDown={(event) => {
            event.preventDefault();
            choose(item);
          }}
        >
          {commands ? <CommandRow item={item} /> : <Row item={item} />}
        </div>
      ))}
    </div>
  );
}

function Row({ item }: { item: Completion }): JSX.Element {
  const { path, detail, kind = '', label = '', tokens: size = null } = item;
  return (
    <>
      <Icon name={iconOf(kind)} />
      {kind !== '' && <span class="visually-hidden">{texts.kind(kind)} </span>}
      <span class="mention-name">{label || path}</span>
      <span class="mention-folder">{detail}</span>
      {size !== null && <span class="mention-size">{tokens(size)}</span>}
    </>
  );
}

/** A command's words and arguments, with its description below. */
function CommandRow({ item }: { item: Completion }): JSX.Element {
  const cut = item.path.search(/[[<]/);
  const words = cut < 0 ? item.path : item.path.slice(0, cut).trimEnd();
  return (
    <>
      <span class="mention-name">
        {words}
        {cut >= 0 && <span class="mention-argument"> {item.path.slice(cut)}</span>}
      </span>
      {item.detail !== '' && <span class="mention-detail">{item.detail}</span>}
    </>
  );
}

function tip({ path, detail, label, tokens: size }: Completion): string {
  const name = label || path;
  const parts = [detail === '' ? name : `${name}: ${detail}`];
  if (typeof size === 'number') parts.push(texts.weight(tokens(size)));
  return parts.join(' · ');
}
