/** What is told when the user does not look at the chat. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Elsewhere } from '../src/extension/elsewhere';
import type { Session } from '../src/extension/session';
import type { ConsentInfo, EventBody } from '../src/protocol';
import { call, finished } from './fake/state';
import * as fake from './fake/vscode';

const chat = { visible: true, focus: vi.fn(async () => {}) };
const raise = vi.fn(async (_title: string, _text: string): Promise<boolean> => false);
let tell: (body: EventBody) => void;

const consent: ConsentInfo = {
  ...{ id: 'q1', turnId: 't1', callId: 'c1', kind: 'command', title: 'Run this command?' },
  ...{ text: 'make all', detail: '', canRemember: true },
};
const said = (): string[] => {
  return fake.window.showInformationMessage.mock.calls.map(([text]) => String(text));
};

beforeEach(() => {
  vi.clearAllMocks();
  chat.visible = true;
  fake.window.state.focused = true;
  const session = {
    onChange: (listen: (change: { event: unknown }) => void) => {
      tell = (body) => listen({ event: { body } });
      return { dispose: () => {} };
    },
  };
  raise.mockResolvedValue(false);
  fake.env.remoteName = undefined;
  fake.env.uiKind = fake.UIKind.Desktop;
  fake.workspace.name = 'pears';
  delete fake.configuration.notifySystem;
  new Elsewhere(session as unknown as Session, chat, raise);
});

describe('with the chat in view', () => {
  it('nothing is told', () => {
    tell(finished('t1', { seconds: 60 }));
    tell({ kind: 'consentAsked', consent });
    expect(said()).toEqual([]);
  });
});

describe.each(['another window', 'another view'])('in %s', (place) => {
  beforeEach(() => {
    if (place === 'another view') chat.visible = false;
    else fake.window.state.focused = false;
  });

  it('the end of a long turn is told, and a click leads there', async () => {
    fake.window.showInformationMessage.mockResolvedValueOnce('Show' as never);
    tell(finished('t1', { seconds: 60 }));
    tell(finished('t2', { seconds: 60, outcome: 'error' }));
    tell(finished('t3', { seconds: 2 }));
    await vi.waitFor(() =>
      expect(said()).toEqual([
        'Tierline has answered, after 60 s.',
        'Tierline has failed to answer, after 60 s.',
      ]),
    );
    await vi.waitFor(() => expect(chat.focus).toHaveBeenCalledTimes(1));
  });

  it('a question that waits is told', async () => {
    tell({ kind: 'consentAsked', consent });
    tell({ kind: 'consentAsked', consent: { ...consent, kind: 'spending', title: 'Go on?' } });
    tell({ kind: 'toolChanged', turnId: 't1', call: call('c1', { editId: 'e1' }) });
    await vi.waitFor(() =>
      expect(said()).toEqual([
        'Tierline wants to run a command: make all',
        'Go on? make all',
        'Tierline proposes an edit.',
      ]),
    );
  });
});

describe('the notification of the operating system', () => {
  beforeEach(() => {
    fake.window.state.focused = false;
    raise.mockResolvedValue(true);
  });

  it('names the folder and what waits, and nothing of the conversation', async () => {
    tell({ kind: 'consentAsked', consent });
    tell(finished('t1', { seconds: 60 }));
    await vi.waitFor(() => expect(raise).toHaveBeenCalledTimes(2));
    expect(raise.mock.calls).toEqual([
      ['Tierline · pears', 'Run this command?'],
      ['Tierline · pears', 'Tierline has answered, after 60 s.'],
    ]);
    expect(said()).toEqual([]);
  });

  it('leaves a message in the window that shows something else than the chat', async () => {
    chat.visible = false;
    tell(finished('t1', { seconds: 60 }));
    await vi.waitFor(() => expect(said()).toHaveLength(1));
    expect(raise).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['the window is in front', () => Object.assign(fake.window.state, { focused: true })],
    ['it is switched off', () => Object.assign(fake.configuration, { notifySystem: false })],
    ['the extension runs elsewhere', () => Object.assign(fake.env, { remoteName: 'ssh-remote' })],
    ['VS Code is in a browser', () => Object.assign(fake.env, { uiKind: fake.UIKind.Web })],
  ])('is not raised when %s: a message is shown', async (_when, arrange) => {
    chat.visible = false;
    arrange();
    tell(finished('t1', { seconds: 60 }));
    await vi.waitFor(() => expect(said()).toHaveLength(1));
    expect(raise).not.toHaveBeenCalled();
  });
});
