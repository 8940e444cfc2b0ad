/** The next prompt's mentions and editor content as chips, each with a button that removes it. */
import type { JSX } from 'preact';
import { tokens } from '../../shared/budget';
import { iconOf } from '../../shared/mentions';
import type { Mentioned } from '../../shared/messages';
import type { Store } from '../store';
import { texts } from '../texts';
import { Icon, IconButton } from './parts';

export function MentionChips(props: {
  mentions: readonly Mentioned[];
  given: readonly Mentioned[];
  store: Store;
}): JSX.Element | null {
  const { mentions, given, store } = props;
  if (mentions.length === 0 && given.length === 0) return null;
  return (
    <ul class="chips mentioned" aria-label={texts.goesAlong}>
      {given.map((one, index) => (
        <Chip
          key={`given-${index}`}
          one={one}
          remove={() => store.post({ type: 'capture', verb: 'drop', index })}
          open={() => store.post({ type: 'capture', verb: 'open', index })}
        />
      ))}
      {mentions.map((one) => (
        <Chip
          key={one.text}
          one={one}
          remove={() => store.unmention(one.text)}
          open={() => store.post({ type: 'openMention', kind: one.kind, text: one.text })}
        />
      ))}
    </ul>
  );
}

interface ChipProps {
  one: Mentioned;
  remove: () => void;
  open: () => void;
}

function Chip({ one, remove, open }: ChipProps): JSX.Element {
  const { kind, label, detail, tokens: size, state } = one;
  const bad = state === 'unknown' || state === 'refused';
  const parts = [texts.kind(kind), one.text || label, detail].filter((part) => part !== '');
  if (size !== null) parts.push(texts.weight(tokens(size)));
  return (
    <li
      class={bad ? 'chip mention-chip unclear' : 'chip mention-chip'}
      data-testid="mention-chip"
      data-kind={kind}
      data-state={state}
    >
      <button type="button" class="chip-name" title={parts.join(' · ')} onClick={open}>
        <Icon name={bad ? 'warning' : iconOf(kind)} />
        <span>{label}</span>
        {size !== null && !bad && <span class="chip-size">{tokens(size)}</span>}
      </button>
      <IconButton icon="close" label={texts.unmention(label)} onClick={remove} />
    </li>
  );
}
