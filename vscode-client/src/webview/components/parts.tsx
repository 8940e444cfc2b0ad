/** Small pieces that several components use. */
import type { ComponentChildren, JSX } from 'preact';

export function Icon({ name }: { name: string }): JSX.Element {
  return <span class={`codicon codicon-${name}`} aria-hidden="true" />;
}

interface IconButtonProps {
  icon: string;
  label: string;
  onClick: () => void;
  class?: string;
  testId?: string;
  disabled?: boolean;
}

export function IconButton(props: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ''}`.trim()}
      title={props.label}
      aria-label={props.label}
      data-testid={props.testId}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

interface ButtonProps {
  children: ComponentChildren;
  onClick: () => void;
  secondary?: boolean;
  title?: string;
  testId?: string;
  disabled?: boolean;
}

export function Button(props: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={props.secondary ? 'button secondary' : 'button'}
      title={props.title}
      data-testid={props.testId}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      {props.children}
    </button>
  );
}

const LEVEL_ICONS = { info: 'info', warning: 'warning', error: 'error' } as const;

interface BoxProps {
  level: keyof typeof LEVEL_ICONS;
  children: ComponentChildren;
  testId?: string;
}

/** A framed remark; errors are announced at once. */
export function Box({ level, children, testId }: BoxProps): JSX.Element {
  return (
    <div class={`box ${level}`} role={level === 'error' ? 'alert' : 'status'} data-testid={testId}>
      <Icon name={LEVEL_ICONS[level]} />
      <div class="box-text">{children}</div>
    </div>
  );
}
