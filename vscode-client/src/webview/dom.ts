/**
 * A small virtual tree for rendered Markdown and its patcher.
 *
 * Nodes are made with ``createElement`` and text only, never from HTML, so nothing in a reply can
 * become markup. Text nodes are changed in place from the first character that differs, so that
 * what the user has selected stays selected while a reply streams.
 */

export interface Branch {
  tag: string;
  attrs: Readonly<Record<string, string>>;
  kids: readonly Tree[];
  /**
   * Draws what belongs into the element, at once or later; from then on that is its own. It is made
   * anew only when its ``data-source`` is another.
   */
  draws?: (element: Element) => void;
}

export type Tree = string | Branch;

export function h(
  tag: string,
  attrs: Readonly<Record<string, string>> = {},
  kids: readonly Tree[] = [],
): Branch {
  return { tag, attrs, kids };
}

/** Elements whose contents were drawn by themselves. */
const drawn = new WeakSet<Node>();

/** An attribute that the user's own clicks set. */
const OWN = 'data-open';

/**
 * Make the children of ``parent`` equal to ``next``. ``previous`` is what they were made from;
 * identical (same object) entries are skipped.
 */
export function patch(
  parent: Element,
  next: readonly Tree[],
  previous: readonly Tree[] = [],
): void {
  next.forEach((tree, index) => {
    const node = parent.childNodes[index];
    if (node !== undefined && typeof tree !== 'string' && previous[index] === tree) return;
    if (node === undefined) parent.append(create(tree));
    else if (typeof tree === 'string') {
      if (node instanceof Text) setText(node, tree);
      else node.replaceWith(create(tree));
    } else if (tree.draws !== undefined || drawn.has(node)) {
      const source = node instanceof Element ? node.getAttribute('data-source') : null;
      if (tree.draws === undefined || !drawn.has(node) || source !== tree.attrs['data-source']) {
        node.replaceWith(create(tree));
      }
    } else if (node instanceof Element && node.localName === tree.tag) {
      setAttributes(node, tree.attrs);
      const before = previous[index];
      patch(node, tree.kids, typeof before === 'object' ? before.kids : []);
    } else node.replaceWith(create(tree));
  });
  while (parent.childNodes.length > next.length) parent.lastChild?.remove();
}

function create(tree: Tree): Node {
  if (typeof tree === 'string') return document.createTextNode(tree);
  const element = document.createElement(tree.tag);
  setAttributes(element, tree.attrs);
  for (const kid of tree.kids) element.append(create(kid));
  if (tree.draws !== undefined) {
    drawn.add(element);
    tree.draws(element);
  }
  return element;
}

function setAttributes(element: Element, attrs: Readonly<Record<string, string>>): void {
  for (const name of element.getAttributeNames()) {
    if (!(name in attrs) && name !== OWN) element.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(attrs)) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

function setText(node: Text, text: string): void {
  const old = node.data;
  if (old === text) return;
  let same = 0;
  const shorter = Math.min(old.length, text.length);
  while (same < shorter && old.charCodeAt(same) === text.charCodeAt(same)) same++;
  node.replaceData(same, old.length - same, text.slice(same));
}
