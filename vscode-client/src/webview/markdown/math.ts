/** Formulas, set by KaTeX. Until it is loaded, and for a wrong formula, the source is shown. */
import type { VNode } from 'preact';
import { loadScript, loadStyle } from './lazy';
import { drawn, h } from './tree';

interface Katex {
  render(source: string, element: HTMLElement, options: Record<string, unknown>): void;
}

/** Longer formulas stay source: they would block the page. */
const MAX_LENGTH = 5_000;

export function math(source: string, display: boolean): VNode {
  const attrs = { class: display ? 'math display' : 'math', 'data-source': source, dir: 'ltr' };
  const tag = display ? 'div' : 'span';
  return source.length > MAX_LENGTH
    ? h(tag, attrs, [source])
    : drawn(tag, attrs, [source], (element) => draw(element, display));
}

function draw(element: Element, display: boolean): void {
  const katex = (globalThis as { katex?: Katex }).katex;
  if (katex !== undefined) {
    set(katex, element, display);
    return;
  }
  Promise.all([loadScript('katex'), loadStyle('katex')]).then(
    () => {
      const loaded = (globalThis as { katex?: Katex }).katex;
      if (loaded !== undefined) set(loaded, element, display);
    },
    () => {}, // the source stays
  );
}

function set(katex: Katex, element: Element, displayMode: boolean): void {
  const source = element.getAttribute('data-source') ?? '';
  try {
    // Nodes, not HTML; no links, no classes and no colours of the model's own choosing.
    katex.render(source, element as HTMLElement, {
      displayMode,
      throwOnError: true,
      output: 'htmlAndMathml',
      strict: 'ignore',
      trust: false,
      maxSize: 20,
      maxExpand: 200,
    });
  } catch {
    element.textContent = source;
    element.classList.add('wrong');
  }
}
