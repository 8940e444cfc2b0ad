/**
 * Elements of a rendered reply, for preact. They are made of names and text only, never of HTML, so
 * nothing in a reply can become markup.
 */
import { Component, createElement, type VNode } from 'preact';
import { findDOMNode } from 'preact/compat';

export type Tree = string | VNode;
type Attributes = Readonly<Record<string, string>>;

export function h(tag: string, attrs: Attributes = {}, kids: readonly Tree[] = []): VNode {
  return createElement(tag, { ...attrs }, kids.map(child));
}

/**
 * An element with contents of its own, which ``draw`` makes at once or later. It is made anew only
 * when its ``data-source`` is another.
 */
export function drawn(
  tag: string,
  attrs: Attributes,
  kids: readonly Tree[],
  draw: (element: Element) => void,
): VNode {
  return createElement(Drawn, { tag, attrs, kids, draw }) as VNode;
}

function child(tree: Tree): VNode {
  return typeof tree === 'string' ? (createElement(Words, { text: tree }) as VNode) : tree;
}

/**
 * A text that is changed from the first character on that differs, so that what the user has
 * selected stays selected while a reply streams. (By itself preact sets the whole text.)
 */
class Words extends Component<{ text: string }> {
  private node: unknown;

  override componentDidMount(): void {
    this.node = findDOMNode(this);
  }

  override shouldComponentUpdate(next: { text: string }): boolean {
    if (!(this.node instanceof Text)) return true;
    setText(this.node, next.text);
    return false;
  }

  override render(): string {
    return this.props.text;
  }
}

interface DrawnProps {
  tag: string;
  attrs: Attributes;
  kids: readonly Tree[];
  draw(element: Element): void;
}

class Drawn extends Component<DrawnProps> {
  override shouldComponentUpdate(next: DrawnProps): boolean {
    return next.tag !== this.props.tag || sourceOf(next) !== sourceOf(this.props);
  }

  override render(): VNode {
    const { tag, attrs, kids, draw } = this.props;
    const ref = (element: Element | null): void => {
      if (element !== null) draw(element);
    };
    const own = { ...attrs, key: sourceOf(this.props), ref };
    return createElement(tag, own, kids.map(child)) as VNode;
  }
}

function sourceOf(props: DrawnProps): string {
  return props.attrs['data-source'] ?? '';
}

function setText(node: Text, text: string): void {
  const old = node.data;
  if (old === text) return;
  let same = 0;
  const shorter = Math.min(old.length, text.length);
  while (same < shorter && old.charCodeAt(same) === text.charCodeAt(same)) same++;
  node.replaceData(same, old.length - same, text.slice(same));
}
