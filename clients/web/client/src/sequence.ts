import { isEvent } from "./connection.ts";
import type { BatonEvent, PartFrame } from "./wire.ts";

const MOST_EARLY = 2000;

/** What came of a frame: the events whose turn it is, in their order, and whether something is missing before others. */
export interface Taken {
  readonly events: readonly BatonEvent[];
  readonly isGap: boolean;
}

const NOTHING: Taken = { events: [], isGap: false };

/**
 * Puts the events of one conversation in the order of their numbers: drops what was had, joins slices, keeps what came
 * early, and goes on behind the holes that a dead worker leaves.
 */
export class Sequence {
  #lastSeq = 0;
  #isAnew = false;
  #promised = Number.POSITIVE_INFINITY;
  readonly #early = new Map<number, BatonEvent>();
  /** Slices by the text that they are of: a run and a resume may send the same event at once, cut differently. */
  readonly #slices = new Map<string, Map<number, string>>();

  /** The number of the last event: what a resume asks for is what follows it. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Whether everything that a resume has promised is there. */
  get isComplete(): boolean {
    return this.#isAnew || this.#lastSeq >= this.#promised;
  }

  /** Goes on after `seq`, whatever was had. */
  startAfter(seq: number): void {
    this.#lastSeq = seq;
    this.#isAnew = false;
    this.#promised = Number.POSITIVE_INFINITY;
    this.#early.clear();
    this.#slices.clear();
  }

  /** A resume is answered: everything up to `lastSeq` follows. */
  promise(lastSeq: number): void {
    this.#promised = lastSeq;
  }

  /** Another connection: slices of an event begin anew. */
  reconnected(): void {
    this.#slices.clear();
    this.#promised = Number.POSITIVE_INFINITY;
  }

  take(frame: BatonEvent | PartFrame): Taken {
    if (isPart(frame)) return this.#join(frame);
    const { seq, replayed } = frame.metadata ?? {};
    if (seq === undefined) {
      // The log does not reach back that far: messages stand for what is gone.
      if (frame.type === "MESSAGES_SNAPSHOT" && !replayed) {
        this.#isAnew = true;
        this.#early.clear();
      }
      return { events: [frame], isGap: false };
    }
    if (seq <= this.#lastSeq) return NOTHING;
    if (!this.#isNext(frame, seq)) {
      if (this.#early.size < MOST_EARLY) this.#early.set(seq, frame);
      return { events: [], isGap: true };
    }
    this.#lastSeq = seq;
    this.#isAnew = false;
    return { events: [frame, ...this.#followers()], isGap: false };
  }

  #isNext(event: BatonEvent, seq: number): boolean {
    if (seq === this.#lastSeq + 1) return true;
    const { previousSeq } = event.metadata ?? {};
    if (previousSeq !== undefined && previousSeq <= this.#lastSeq) return true;
    return this.#isAnew && (event.type === "RUN_STARTED" || seq === this.#promised + 1);
  }

  #followers(): BatonEvent[] {
    const found: BatonEvent[] = [];
    for (const [seq, event] of [...this.#early].sort(([a], [b]) => a - b)) {
      if (seq > this.#lastSeq && !this.#isNext(event, seq)) break;
      this.#early.delete(seq);
      if (seq <= this.#lastSeq) continue;
      this.#lastSeq = seq;
      found.push(event);
    }
    return found;
  }

  #join({ data, metadata: { seq, part, of, digest } }: PartFrame): Taken {
    if (seq !== undefined && seq <= this.#lastSeq) return NOTHING;
    const key = `${seq} ${digest}`;
    const slices = this.#slices.get(key) ?? new Map<number, string>();
    this.#slices.set(key, slices.set(part, data));
    if (slices.size < of) return NOTHING;
    for (const other of this.#slices.keys()) {
      if (other === key || (seq !== undefined && other.startsWith(`${seq} `))) this.#slices.delete(other);
    }
    const text = [...slices].sort(([a], [b]) => a - b).map(([, slice]) => slice);
    try {
      const event: unknown = JSON.parse(text.join(""));
      return isEvent(event) && !isPart(event) ? this.take(event) : NOTHING;
    } catch {
      return { events: [], isGap: true };
    }
  }
}

const isPart = (frame: BatonEvent | PartFrame): frame is PartFrame => frame.type === "PART";
