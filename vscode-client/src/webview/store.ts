/** The chat's state and the user's actions on it. Components only draw it. */
import { EventStream } from '../shared/eventStream';
import { appended, without, written } from '../shared/mentions';
import type {
  ActiveChip,
  Completion,
  Connection,
  Mentioned,
  Place,
  ToHost,
  ToWebview,
} from '../shared/messages';
import type { Model } from '../shared/model';
import { isCommand } from '../shared/slash';
import { isUnserved, type Ways } from '../shared/ways';
import { complete, plain } from './announcer';
import { attach, splitDataUri } from './attachments';
import type { HostPort, ScrollPlace } from './host';
import { KnownPaths } from './markdown/paths';
import { SentLists } from './sentLists';
import { texts } from './texts';

/** A prompt that was sent and has not come back as a message yet. */
export interface Pending {
  ticket: number;
  text: string;
  images: readonly string[];
  turnId: string;
  messageId: string;
  queued: boolean;
}

/** An earlier prompt that is being changed. */
export interface Editing {
  groupId: string;
  /** The draft in the input before; it is restored if the change is cancelled. */
  draft: string;
}

export interface Hint {
  id: number;
  level: 'info' | 'warning' | 'error';
  text: string;
}

export interface View {
  place: Place;
  connection: Connection;
  model: Model | null;
  pending: readonly Pending[];
  draft: string;
  editing: Editing | null;
  images: readonly string[];
  selection: { label: string; characters: number } | null;
  active: ActiveChip | null;
  hints: readonly Hint[];
  completions: readonly Completion[];
  /** The draft's mentions, resolved. */
  mentioned: readonly Mentioned[];
  /** Content of the editor for the next prompt. */
  given: readonly Mentioned[];
  announcements: readonly { id: number; text: string }[];
  /** The ways to a model; null until the host has looked. */
  ways: Ways | null;
  /** The first page is shown over the conversation. */
  choosing: boolean;
  /** The bar for finding words is open. */
  finding: boolean;
  /** The message that is to be in view; a new object each time. */
  revealed: { id: string } | null;
  /** Incremented to focus the input. */
  focusRequests: number;
}

const MAX_HINTS = 4;
const MAX_ANNOUNCEMENTS = 12;

export class Store {
  private current: View;
  private readonly stream: EventStream;
  private readonly port: HostPort;
  private lastId = 0;
  /** Where the conversation was scrolled to when it was seen last; null at its end. */
  private scroll: ScrollPlace | null;
  private completionTicket = 0;
  /** The mentions that the host was asked about last. */
  private askedAbout = '';
  /** Those that the user chose with their size in view. */
  private readonly agreed: Set<string>;
  private announcedTurn = '';
  private announcedTo = 0;
  /** Commands that were sent and have not been answered. */
  private readonly commands = new Map<number, string>();
  /** Words of replies that are files here. */
  readonly paths = new KnownPaths((paths) => this.post({ type: 'paths', paths }));
  /** What was sent with prompts. */
  readonly sent = new SentLists((turnId) => this.post({ type: 'sentList', turnId }));

  constructor(
    connect: (listen: (message: ToWebview) => void) => HostPort,
    private readonly changed: (view: View) => void,
  ) {
    this.port = connect((message) => this.receive(message));
    const saved = this.port.load();
    this.scroll = saved.scroll ?? null;
    this.agreed = new Set(saved.agreed);
    this.current = {
      place: { trusted: true, virtual: false, roots: [] },
      connection: { kind: 'starting', text: '', advice: '' },
      model: null,
      pending: [],
      draft: saved.draft,
      editing: null,
      images: saved.images.filter((image) => splitDataUri(image) !== null),
      selection: null,
      active: null,
      hints: [],
      completions: [],
      mentioned: [],
      given: [],
      announcements: [],
      ways: null,
      choosing: false,
      finding: false,
      revealed: null,
      focusRequests: 0,
    };
    this.stream = new EventStream({
      changed: (model) => this.modelChanged(model),
      stateNeeded: () => this.post({ type: 'resync' }),
    });
    this.post({ type: 'ready' });
    this.askMentions();
  }

  /** Where to scroll to, if the user was not at the end of this session. */
  takeScroll(sessionId: string): ScrollPlace | null {
    const place = this.scroll;
    return place !== null && place.session === sessionId ? place : null;
  }

  /** Store the scroll position, without drawing. */
  keepScroll(place: ScrollPlace | null): void {
    this.scroll = place;
    this.save();
  }

  get view(): View {
    return this.current;
  }

  post(message: ToHost): void {
    this.port.post(message);
  }

  edit(draft: string): void {
    this.set({ draft });
    this.save();
  }

  /** Append a mention to the draft; it becomes a chip. */
  mention(text: string): void {
    this.agreed.add(text);
    this.edit(appended(this.current.draft, text));
  }

  /** Take a mention out of the draft, and with it the chip. */
  unmention(text: string): void {
    this.edit(without(this.current.draft, text));
  }

  /** The user chose this in a list that shows its size. */
  agree(text: string): void {
    this.agreed.add(text);
  }

  private agreedIn(text: string): string[] {
    return written(text)
      .filter((mention) => this.agreed.has(mention))
      .slice(0, 200);
  }

  /** Ask what the draft's mentions are, if they are others than before. */
  private askMentions(): void {
    const { draft, mentioned } = this.current;
    const now = written(draft);
    const asked = now.join('\n');
    if (asked === this.askedAbout) return;
    this.askedAbout = asked;
    this.post({ type: 'mentions', text: now.length > 0 ? draft : '' });
    const left = mentioned.filter(({ text }) => draft.includes(text));
    if (left.length < mentioned.length) this.set({ mentioned: left });
  }

  /** Replace the pasted path in the draft with its mention. */
  private located(pasted: string, mention: string): void {
    const { draft } = this.current;
    const at = draft.lastIndexOf(pasted);
    if (at < 0 || /["@]/.test(draft[at - 1] ?? '')) return;
    const rest = draft.slice(at + pasted.length);
    this.edit(`${draft.slice(0, at)}${mention}${/^\s/.test(rest) ? '' : ' '}${rest}`);
  }

  /** A prompt from elsewhere in the editor. What the user has typed is not lost. */
  private asked(text: string, send: boolean): void {
    const { draft } = this.current;
    if (!send) {
      this.edit(draft.trim() === '' ? text : `${text} ${draft}`);
      return;
    }
    this.set({ draft: text });
    this.send();
    if (draft !== '') this.edit(draft);
  }

  async addImages(files: readonly File[]): Promise<void> {
    const { dataUris, problems } = await attach(files, this.current.images.length);
    this.set({ images: [...this.current.images, ...dataUris] });
    for (const problem of problems) this.hint('warning', problem);
    this.save();
  }

  removeImage(index: number): void {
    this.set({ images: this.current.images.filter((_, at) => at !== index) });
    this.save();
  }

  /** Send the draft. It is kept until the server has taken it. */
  send(steer = false): void {
    const { draft, images, pending, editing } = this.current;
    if (draft.trim() === '' && images.length === 0) return;
    if (isBroken(this.current.connection.kind)) return;
    const ticket = ++this.lastId;
    if (images.length === 0 && editing === null && isCommand(draft)) {
      this.commands.set(ticket, draft);
      this.set({ draft: '', hints: [], completions: [] });
      this.post({ type: 'command', ticket, text: draft.trim() });
      this.save();
      return;
    }
    this.set({
      pending: [
        ...pending,
        { ticket, text: draft, images, turnId: '', messageId: '', queued: false },
      ],
      draft: editing?.draft ?? '',
      editing: null,
      images: [],
      hints: [],
      completions: [],
    });
    this.post({
      type: 'send',
      ticket,
      text: draft,
      steer,
      editing: editing?.groupId ?? '',
      images: images.map(splitDataUri).filter((image) => image !== null),
      agreed: this.agreedIn(draft),
    });
  }

  /** Show the ways to a model over the conversation, or go back to it. */
  choose(choosing: boolean): void {
    this.set({ choosing });
    if (!choosing) this.set({ focusRequests: this.current.focusRequests + 1 });
  }

  /** Change an earlier prompt in the input; when it is sent, it begins a branch. */
  beginEdit(groupId: string, text: string): void {
    const draft = this.current.editing?.draft ?? this.current.draft;
    this.set({
      editing: { groupId, draft },
      draft: text,
      focusRequests: this.current.focusRequests + 1,
    });
  }

  cancelEdit(): void {
    const { editing } = this.current;
    if (editing === null) return;
    this.set({ editing: null, draft: editing.draft });
    this.save();
  }

  find(finding: boolean): void {
    this.set({ finding });
    if (!finding) this.set({ focusRequests: this.current.focusRequests + 1 });
  }

  /** Draw enough of the conversation to include this message. */
  reveal(id: string): void {
    this.set({ revealed: { id } });
  }

  stop(): void {
    this.post({ type: 'stop' });
  }

  askCompletions(query: string | null): void {
    this.completionTicket = ++this.lastId;
    // A quick Enter must not take an entry that was listed for fewer letters and no longer fits.
    const wanted = query?.toLowerCase();
    const left =
      wanted === undefined
        ? []
        : this.current.completions.filter(({ path }) => path.toLowerCase().includes(wanted));
    if (left.length < this.current.completions.length) this.set({ completions: left });
    if (query !== null) this.post({ type: 'complete', ticket: this.completionTicket, query });
  }

  dismiss(id: number): void {
    this.set({ hints: this.current.hints.filter((hint) => hint.id !== id) });
  }

  private receive(message: ToWebview): void {
    switch (message.type) {
      case 'connection':
        this.connectionChanged(message.connection.kind);
        if (message.connection.kind === 'ready') {
          // Look up what could not be looked up before.
          this.askedAbout = '';
          this.askMentions();
        }
        this.set({ connection: message.connection });
        return;
      case 'place':
        this.set({ place: message.place });
        return;
      case 'state':
        this.stream.reset(message.state);
        return;
      case 'event':
        this.stream.push(message.event);
        return;
      case 'sent':
        for (const notice of message.notices) this.hint('warning', notice);
        this.set({
          pending: this.current.pending.map((pending) =>
            pending.ticket === message.ticket ? { ...pending, ...pick(message) } : pending,
          ),
        });
        this.settle();
        this.save();
        return;
      case 'commandDone':
        this.commands.delete(message.ticket);
        if (message.text !== '') this.hint('info', message.text);
        return;
      case 'refused':
        this.giveBack(message.ticket);
        this.hint('error', `${message.error} ${message.advice}`.trim());
        return;
      case 'completions':
        if (message.ticket === this.completionTicket) this.set({ completions: message.items });
        return;
      case 'mentioned':
        this.set({
          mentioned: message.mentions.filter(({ text }) => this.current.draft.includes(text)),
          given: message.given,
        });
        return;
      case 'located':
        this.located(message.text, message.mention);
        return;
      case 'mention':
        this.mention(message.text);
        return;
      case 'ask':
        this.asked(message.text, message.send);
        return;
      case 'selection':
        this.set({ selection: message.selection });
        return;
      case 'active':
        this.set({ active: message.active });
        return;
      case 'paths':
        this.paths.answer(message.asked, message.found);
        return;
      case 'sentList':
        this.sent.answer(message.turnId, message.entries);
        return;
      case 'ways':
        this.set({ ways: message.ways });
        return;
      case 'focusInput':
        this.set({ focusRequests: this.current.focusRequests + 1 });
        return;
      case 'hint':
        this.hint(message.level, message.text);
        return;
    }
  }

  /** When a server is gone, prompts that it has not accepted go back into the input. */
  private connectionChanged(kind: Connection['kind']): void {
    const lost = this.current.connection.kind === 'ready' && kind !== 'ready';
    if (!lost && !isBroken(kind)) return;
    this.stream.disconnected();
    for (const pending of this.current.pending) {
      if (pending.messageId === '') this.giveBack(pending.ticket);
    }
    this.set({ pending: [] });
  }

  private giveBack(ticket: number): void {
    const line = this.commands.get(ticket);
    this.commands.delete(ticket);
    if (line !== undefined && this.current.draft === '') {
      this.set({ draft: line });
      this.save();
    }
    const refused = this.current.pending.find((pending) => pending.ticket === ticket);
    if (refused === undefined) return;
    const { draft, images } = this.current;
    this.set({
      pending: this.current.pending.filter((pending) => pending.ticket !== ticket),
      draft: draft === '' ? refused.text : `${refused.text}\n${draft}`,
      images: [...refused.images, ...images],
    });
    this.save();
  }

  private modelChanged(model: Model): void {
    const before = this.current.model;
    this.announce(before, model);
    this.set({ model });
    // A provider that can answer was found.
    if (this.current.choosing && before !== null && isUnserved(before.provider)) {
      if (!isUnserved(model.provider)) this.set({ choosing: false });
    }
    if (before !== null && before.sessionId !== model.sessionId) {
      this.cancelEdit();
      // An error of one conversation means nothing in another.
      this.set({ hints: this.current.hints.filter(({ level }) => level !== 'error') });
    }
    this.settle();
  }

  /** Prompts that have come back as messages are no longer pending. */
  private settle(): void {
    const { model, pending } = this.current;
    if (model === null || pending.length === 0) return;
    const known = new Set(model.messages.map((message) => message.id));
    for (const waiting of model.queue) known.add(waiting.messageId);
    const left = pending.filter(
      ({ messageId, turnId }) =>
        !known.has(messageId) && (turnId === '' || turnId !== model.turn?.id),
    );
    if (left.length !== pending.length) this.set({ pending: left });
  }

  private announce(before: Model | null, now: Model): void {
    if (before !== null && now.consents.length > before.consents.length) {
      this.say(`${texts.asksConsent} ${now.consents.at(-1)?.text ?? ''}`);
    }
    const waiting = (model: Model): number =>
      model.edits.filter((edit) => edit.state === 'open').length;
    if (before !== null && waiting(now) > waiting(before)) this.say(texts.asksEdit);
    if (now.turn !== null) {
      if (now.turn.id !== this.announcedTurn) {
        this.announcedTurn = now.turn.id;
        this.announcedTo = now.turn.text.length;
        this.say(texts.answering);
      }
      // After a message with calls another message begins.
      if (now.turn.text.length < this.announcedTo) this.announcedTo = 0;
      const { said, next } = complete(now.turn.text, this.announcedTo);
      this.announcedTo = next;
      this.say(said);
    } else if (before?.turn && before.turn.id === this.announcedTurn) {
      const last = now.messages.at(-1);
      if (last === undefined || last.role !== 'assistant') return;
      this.say(plain(last.text.slice(this.announcedTo)));
      this.say(
        last.status === 'error'
          ? `${texts.failed} ${last.error}`
          : last.status === 'interrupted'
            ? texts.stopped
            : texts.finished,
      );
    }
  }

  private say(text: string): void {
    if (text === '') return;
    this.set({
      announcements: [...this.current.announcements, { id: ++this.lastId, text }].slice(
        -MAX_ANNOUNCEMENTS,
      ),
    });
  }

  private hint(level: Hint['level'], text: string): void {
    const hints = this.current.hints.filter((hint) => hint.text !== text);
    this.set({ hints: [...hints, { id: ++this.lastId, level, text }].slice(-MAX_HINTS) });
  }

  private set(change: Partial<View>): void {
    this.current = { ...this.current, ...change };
    if (change.draft !== undefined) this.askMentions();
    this.changed(this.current);
  }

  /** A prompt being sent counts as a draft until the server has accepted it. */
  private save(): void {
    const { draft, images, pending } = this.current;
    const open = pending.filter((prompt) => prompt.messageId === '');
    this.port.save({
      draft: [...open.map((prompt) => prompt.text), draft].filter((text) => text !== '').join('\n'),
      images: [...open.flatMap((prompt) => prompt.images), ...images],
      scroll: this.scroll,
      ...(this.agreed.size > 0 && { agreed: this.agreedIn(draft) }),
    });
  }
}

/** True if the server does not restart by itself. */
export function isBroken(kind: Connection['kind']): boolean {
  return ['failed', 'noPython', 'noServer', 'stopped'].includes(kind);
}

function pick(message: Extract<ToWebview, { type: 'sent' }>): Partial<Pending> {
  return { turnId: message.turnId, messageId: message.messageId, queued: message.queued };
}
