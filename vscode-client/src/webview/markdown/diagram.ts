/**
 * Diagrams in Mermaid's language. What Mermaid draws is shown as a picture, so nothing in it can
 * run, be clicked or load anything; the source is kept beside it.
 */
import type { VNode } from 'preact';
import { texts } from '../texts';
import { loadScript } from './lazy';
import { drawn } from './tree';

interface Mermaid {
  initialize(options: Record<string, unknown>): void;
  render(id: string, source: string, container: Element): Promise<{ svg: string }>;
}

const MAX_LENGTH = 20_000;
const FONT = 'sans-serif';
let rendered = 0;
/** One after the other: the library keeps state of its own. */
let queue: Promise<unknown> = Promise.resolve();
const shown = new Set<Element>();

export function diagram(source: string, code: VNode): VNode {
  if (source.length > MAX_LENGTH) return code;
  return drawn('div', { class: 'diagram', 'data-source': source }, [code], schedule);
}

function schedule(element: Element): void {
  if (shown.size === 0) followTheme();
  shown.add(element);
  queue = queue.then(() => draw(element)).catch(() => {});
}

/** Colours are part of the picture, so each theme needs its own. */
function followTheme(): void {
  if (typeof MutationObserver === 'undefined') return;
  new MutationObserver(() => {
    for (const element of shown) {
      if (element.isConnected) queue = queue.then(() => draw(element)).catch(() => {});
      else shown.delete(element);
    }
  }).observe(document.body, { attributeFilter: ['class'] });
}

async function draw(element: Element): Promise<void> {
  const source = element.getAttribute('data-source') ?? '';
  const workshop = document.createElement('div');
  workshop.className = 'diagram-workshop';
  try {
    await loadScript('mermaid');
    const { mermaid } = globalThis as unknown as { mermaid: Mermaid };
    const dark = /vscode-(dark|high-contrast(?!-light))/.test(document.body.className);
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: 'strict',
      suppressErrorRendering: true,
      htmlLabels: false,
      flowchart: { htmlLabels: false },
      theme: dark ? 'dark' : 'default',
      fontFamily: FONT,
      maxTextSize: MAX_LENGTH,
      maxEdges: 500,
      secure: ['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'htmlLabels'],
    });
    document.body.append(workshop);
    const { svg } = await mermaid.render(`diagram-${++rendered}`, source, workshop);
    show(element, svg);
  } catch (error) {
    const text = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    note(element, texts.notDrawn(text.slice(0, 200)));
  } finally {
    workshop.remove();
  }
}

function show(element: Element, svg: string): void {
  const picture = document.createElement('img');
  const [, width = '', height = ''] = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  picture.width = Math.ceil(Number(width)) || 400;
  picture.height = Math.ceil(Number(height)) || 300;
  picture.alt = texts.diagram;
  const sized = svg.replace(/^<svg([^>]*?) width="100%"/, `<svg$1 width="${picture.width}"`);
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(sized)}`;
  const code = element.querySelector('.code');
  let source = element.querySelector('details');
  if (source === null && code !== null) {
    source = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = texts.diagramSource;
    source.append(summary, code);
  }
  element.replaceChildren(picture, ...(source === null ? [] : [source]));
}

function note(element: Element, text: string): void {
  const old = element.querySelector('.note');
  const line = old ?? document.createElement('div');
  line.className = 'note';
  line.textContent = text;
  if (old === null) element.append(line);
}
