/** Where the focus goes when the control that has it disappears. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** For a part with controls: if it goes while the focus is in it, the chat's input gets the focus. */
export function useFocusBack<T extends HTMLElement>(): RefObject<T | null> {
  const part = useRef<T>(null);
  useLayoutEffect(() => {
    const element = part.current;
    return () => {
      if (element?.contains(document.activeElement)) {
        element.closest('main')?.querySelector<HTMLElement>('[data-testid=chat-input]')?.focus();
      }
    };
  }, []);
  return part;
}
