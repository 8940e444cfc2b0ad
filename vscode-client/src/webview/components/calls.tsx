/** The tools that a reply calls: one foldable row each, with what came of it. */
import type { JSX } from 'preact';
import type { ToolCallInfo } from '../../protocol';
import { texts } from '../texts';
import { Icon } from './parts';

const ICONS: Readonly<Record<ToolCallInfo['status'], string>> = {
  waiting: 'circle-outline',
  running: 'loading codicon-modifier-spin',
  asking: 'question',
  ok: 'check',
  error: 'warning',
  interrupted: 'debug-stop',
};

export function Calls({ calls }: { calls: readonly ToolCallInfo[] }): JSX.Element | null {
  if (calls.length === 0) return null;
  return (
    <div class="calls" data-testid="calls">
      {calls.map((call) => (
        <Call key={call.id} call={call} />
      ))}
    </div>
  );
}

function Call({ call }: { call: ToolCallInfo }): JSX.Element {
  const status = texts.callStatus[call.status];
  return (
    <details
      class={`call ${call.status}`}
      data-testid="call"
      data-tool={call.name}
      data-status={call.status}
    >
      <summary>
        <Icon name={ICONS[call.status]} />
        <span class="call-name">{call.name}</span>
        <span class="call-title">{call.title}</span>
        <span class="call-note">{call.note || status}</span>
      </summary>
      <pre tabindex={0}>{call.arguments}</pre>
      {call.result !== '' && <pre tabindex={0}>{call.result}</pre>}
    </details>
  );
}
