// @vitest-environment jsdom
/** axe on what the webviews draw in states that are hard to reach in a real editor; jsdom has no
 * layout, so contrast and sizes are checked there (tests/e2e/test_accessibility.py). */
import axe from 'axe-core';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConsentInfo, State } from '../src/protocol';
import type { ToWebview } from '../src/shared/messages';
import { App } from '../src/webview/components/app';
import { Store } from '../src/webview/store';
import { call, delta, edit, event, file, message, started, state } from './fake/state';

vi.stubGlobal(
  'ResizeObserver',
  class {
    observe(): void {}
    disconnect(): void {}
  },
);
Element.prototype.scrollIntoView = () => {};

async function faults(): Promise<string[]> {
  const found = await axe.run(document.body, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
    rules: {
      'color-contrast': { enabled: false },
      // The page around it has a title and a heading; here is only its inside.
      'page-has-heading-one': { enabled: false },
    },
  });
  expect(found.passes.length).toBeGreaterThan(5);
  return found.violations.flatMap((one) =>
    one.nodes.map((node) => `${one.impact} ${one.id}: ${node.html.slice(0, 160)}`),
  );
}

const asked = (id: string, callId: string, kind: 'command' | 'url'): ConsentInfo => ({
  ...{ id, callId, kind, turnId: 't1', title: 'May it be?', text: `make ${id}` },
  ...{ detail: 'In /w, for 120 s at most.', canRemember: kind === 'command' },
});

describe('the chat', () => {
  const root = document.createElement('div');
  let receive: (one: ToWebview) => void;
  let draw: () => void;

  beforeEach(() => {
    document.body.replaceChildren(root);
    let listen: (one: ToWebview) => void = () => {};
    let store: Store | null = null;
    draw = (): void => {
      if (store !== null) {
        const shown = store;
        act(() => render(<App view={shown.view} store={shown} />, root));
      }
    };
    store = new Store((heard) => {
      listen = heard;
      return { post: () => {}, load: () => ({ draft: '', images: [] }), save: () => {} };
    }, draw);
    draw();
    receive = (one) => act(() => listen(one));
  });

  const ready = (changes: Partial<State> = {}): void => {
    receive({ type: 'connection', connection: { kind: 'ready', text: '', advice: '' } });
    receive({ type: 'state', state: state({ seq: 10, ...changes }) });
  };

  it.each(['starting', 'installing', 'noPython', 'failed', 'stopped'] as const)(
    'while the server is %s',
    async (kind) => {
      receive({ type: 'connection', connection: { kind, text: 'So it is.', advice: 'Do this.' } });
      receive({ type: 'place', place: { trusted: false, virtual: true, roots: [] } });
      expect(await faults()).toEqual([]);
    },
  );

  it('with everything that a conversation can show', async () => {
    ready({
      files: [file('a.py'), file('b.py', { pin: 'full' as never })],
      messages: [
        message('u1', { text: 'One?' }),
        message('m1', {
          role: 'assistant',
          text: '# Head\n\n```py\nx = 1\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n[a](a.py)',
          calls: [call('c1')],
        }),
        message('u2', { text: 'Two?', status: 'dropped' as never }),
        message('m2', { role: 'assistant', text: 'Half', status: 'interrupted' as never }),
      ],
      edits: [edit()],
      consents: [asked('q1', 'c1', 'command'), asked('q2', '', 'url')],
    });
    receive({ type: 'event', event: event(11, started('t1', 'u3')) });
    receive({ type: 'event', event: event(12, delta('t1', 'So *far*')) });
    receive({ type: 'hint', level: 'warning', text: 'Mind this.' });
    receive({ type: 'selection', selection: { label: 'a.py:1-3', characters: 40 } });
    expect(root.querySelectorAll('[data-testid=message]').length).toBeGreaterThan(3);
    expect(root.querySelectorAll('[data-testid=consent]')).toHaveLength(2);
    expect(await faults()).toEqual([]);
  });

  describe('when a control goes that has the focus', () => {
    const get = (selector: string): HTMLElement => {
      const found = root.querySelector<HTMLElement>(selector);
      if (found === null) throw new Error(selector);
      return found;
    };
    const observed = (): Promise<void> => new Promise((done) => setTimeout(done, 0));
    const focus = (here: boolean): void => {
      vi.spyOn(document, 'hasFocus').mockReturnValue(here);
    };

    beforeEach(() => {
      focus(true);
      ready({ files: [file('a.py')] });
    });

    it('takes it only where the view has it, or gets it', () => {
      focus(false);
      act(() => render(null, root));
      draw();
      const input = get('[data-testid=chat-input]');
      expect(document.activeElement).toBe(document.body);
      act(() => void window.dispatchEvent(new Event('focus')));
      expect(document.activeElement).toBe(input);
      input.blur();
      receive({ type: 'focusInput' });
      expect(document.activeElement).toBe(input);
    });

    it('gives it to the input', async () => {
      get('[aria-label="Remove a.py from the context"]').focus();
      receive({ type: 'event', event: event(11, { kind: 'filesChanged', files: [] }) });
      await observed();
      expect(document.activeElement).toBe(get('[data-testid=chat-input]'));
    });

    it('or when it cannot be pressed any more', async () => {
      const send = get('[data-testid=send-button]') as HTMLButtonElement;
      send.disabled = false;
      send.focus();
      send.disabled = true;
      await observed();
      expect(document.activeElement).toBe(get('[data-testid=chat-input]'));
    });

    it('but calls nobody away from the editor', async () => {
      const button = get('[aria-label="Remove a.py from the context"]');
      button.focus();
      focus(false);
      receive({ type: 'event', event: event(11, { kind: 'filesChanged', files: [] }) });
      await observed();
      expect(document.activeElement).toBe(document.body);
    });

    it('and not from another place of the view', async () => {
      get('[aria-label="Remove a.py from the context"]').focus();
      get('[data-testid=new-session]').focus();
      receive({ type: 'event', event: event(11, { kind: 'filesChanged', files: [] }) });
      await observed();
      expect(document.activeElement).toBe(get('[data-testid=new-session]'));
    });
  });
});
