/** Drawings as values: the webview turns them into elements, an export into text. */

export interface Shape {
  tag: string;
  attrs: Readonly<Record<string, string | number>>;
  kids: readonly (Shape | string)[];
}

export function shape(
  tag: string,
  attrs: Readonly<Record<string, string | number>> = {},
  kids: readonly (Shape | string)[] = [],
): Shape {
  return { tag, attrs, kids };
}

/** As XML. */
export function serialise(value: Shape | string): string {
  if (typeof value === 'string') return escaped(value);
  const attrs = Object.entries(value.attrs).map(
    ([name, one]) => ` ${name}="${escaped(String(one))}"`,
  );
  return `<${value.tag}${attrs.join('')}>${value.kids.map(serialise).join('')}</${value.tag}>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
