/** Where the focus goes when the control that has it disappears: to the chat's input. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/**
 * For a part with controls: if it disappears while it has the focus, the chat's input gets it.
 */
export function useFocusBack<T extends HTMLElement>(): RefObject<T | null> {
  const part = useRef<T>(null);
  useLayoutEffect(() => {
    const element = part.current;
    return () => {
      if (element?.contains(document.activeElement)) toInput(element.closest('main'));
    };
  }, []);
  return part;
}

/** For the whole view: keeps the focus when the button that has it disappears or is disabled. */
export function useFocusKept<T extends HTMLElement>(): RefObject<T | null> {
  const view = useRef<T>(null);
  useEffect(() => {
    const element = view.current;
    if (element === null) return;
    let held: Element | null = null;
    const focused = (event: FocusEvent): void => {
      held = event.target instanceof Element ? event.target : null;
    };
    const watched = new MutationObserver(() => {
      if (held === null || (held.isConnected && !held.matches(':disabled'))) return;
      const { activeElement } = document;
      if (activeElement === document.body || activeElement === held) toInput(element);
      held = null;
    });
    element.addEventListener('focusin', focused);
    watched.observe(element, { childList: true, subtree: true, attributeFilter: ['disabled'] });
    return () => {
      element.removeEventListener('focusin', focused);
      watched.disconnect();
    };
  }, []);
  return view;
}

function toInput(view: HTMLElement | null): void {
  // A user who works in the editor meanwhile keeps the focus there.
  if (!document.hasFocus()) return;
  view?.querySelector<HTMLElement>('[data-testid=chat-input]')?.focus();
}
