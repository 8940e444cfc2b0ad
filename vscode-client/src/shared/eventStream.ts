/**
 * Keeps a model in step with the server: applies events in order, and requests the whole state when
 * one is missing. Events that arrive meanwhile wait for it.
 */
import type { Event } from '../protocol';
import { annotate, apply, fromState, type Model, type Snapshot } from './model';

export interface StreamListener {
  /** The model changed. ``event`` is null when it was replaced by a state. */
  changed(model: Model, event: Event | null): void;
  /** Ask the server for its state and hand it to ``EventStream.reset``. */
  stateNeeded(): void;
}

/** Enough for minutes of streaming; the state contains what is dropped beyond it. */
const MAX_WAITING = 10_000;

export class EventStream {
  private current: Model | null = null;
  private waiting: Event[] = [];
  private asked = false;
  /** How many of the waiting events had arrived when the state was asked for. */
  private before = 0;
  /** Sessions other than the one shown: their events need no new state. */
  private foreign = new Set<string>();

  constructor(private readonly listener: StreamListener) {}

  get model(): Model | null {
    return this.current;
  }

  /** A new connection: waiting events belong to the old one. */
  disconnected(): void {
    this.waiting = [];
    this.asked = false;
    this.foreign.clear();
  }

  push(event: Event): void {
    if (this.current === null || this.asked) {
      this.waiting.push(event);
      if (this.waiting.length > MAX_WAITING) this.waiting.shift();
      if (!this.asked) this.ask();
      return;
    }
    if (
      this.foreign.has(event.sessionId) &&
      event.seq === this.current.seq + 1 &&
      event.body.kind !== 'stateChanged'
    ) {
      this.current = { ...this.current, seq: event.seq };
      this.listener.changed(this.current, event);
      return;
    }
    const step = apply(this.current, event);
    if (step.resync) {
      this.waiting.push(event);
      this.ask();
      return;
    }
    if (step.model === this.current) return;
    this.current = step.model;
    this.listener.changed(step.model, event);
  }

  reset(state: Snapshot): void {
    this.asked = false;
    const waiting = this.waiting;
    this.waiting = [];
    let model = fromState(state, this.current ?? undefined);
    for (const event of waiting) {
      if (event.seq <= model.seq && event.sessionId === model.sessionId) {
        model = annotate(model, event.body);
      }
    }
    this.current = model;
    this.foreign.delete(state.sessionId);
    for (const event of waiting) {
      if (event.sessionId !== state.sessionId) this.foreign.add(event.sessionId);
    }
    this.listener.changed(model, null);
    waiting.forEach((event, index) => {
      // Events from before the request are in the state; asking again because of them would never
      // end.
      if (index < this.before) this.bridge(event);
      this.push(event);
    });
  }

  private bridge(event: Event): void {
    if (this.current === null || event.seq <= this.current.seq) return;
    const contained = event.body.kind === 'stateChanged' ? event.seq : event.seq - 1;
    this.current = { ...this.current, seq: contained };
  }

  /** The state could not be fetched; the next event asks again. */
  failed(): void {
    this.asked = false;
  }

  private ask(): void {
    this.asked = true;
    this.before = this.waiting.length;
    this.listener.stateNeeded();
  }
}
