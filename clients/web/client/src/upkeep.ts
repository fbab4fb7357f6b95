import { seconds } from "./clock.ts";

/** API Gateway ends a connection after ten minutes without a frame: one is sent before, not by all at the same moment. */
const KEEP_SECONDS = 540;
const SPREAD = 1 / 18;
/** Every third of these frames asks for an answer: some networks are lost without a word, and without a reader. */
const ASKED_OF = 3;
/** A connection lives for two hours. One that is kept open without use is replaced instead, when it has this age. */
const OLD_SECONDS = 5_400;
const OLD_SPREAD_SECONDS = 900;
/** Proxies that end silent connections do so after the same time, to a few seconds; networks that are lost do not. */
const SHORTEST_SECONDS = 25;
const EXACT_SECONDS = 3;

/** `quiet`: a frame that nothing answers; `ask`: one that is answered; `replace`: another connection. */
export type Duty = "quiet" | "ask" | "replace";

/** What keeps a connection open that nobody uses. */
export class Upkeep {
  #usedAt = 0;
  #oldAt = 0;
  #seconds = KEEP_SECONDS;
  #spread = 1;
  #count = 0;
  #endedAfter = 0;

  /** A connection has opened. */
  begin(): void {
    this.used();
    this.#oldAt = seconds() + OLD_SECONDS + Math.random() * OLD_SPREAD_SECONDS;
    this.#count = 0;
  }

  /** A frame went, in either direction. */
  used(): void {
    this.#usedAt = seconds();
  }

  /** What is due now, if anything; `renewAt` is when the connection must be replaced at the latest. */
  due(renewAt: number): Duty | null {
    if (this.#silence <= this.#seconds * this.#spread) return null;
    this.used();
    this.#spread = 1 + Math.random() * SPREAD;
    this.#count += 1;
    const next = KEEP_SECONDS * (1 + SPREAD);
    if (seconds() > Math.min(this.#oldAt, renewAt - next)) return "replace";
    return this.#count % ASKED_OF === 0 ? "ask" : "quiet";
  }

  /** A connection was ended that awaited nothing. What happens twice will happen again: frames are sent more often. */
  ended(): void {
    const silence = this.#silence;
    if (silence > SHORTEST_SECONDS && Math.abs(silence - this.#endedAfter) < EXACT_SECONDS)
      this.#seconds = Math.min(this.#seconds, silence * 0.8);
    this.#endedAfter = silence;
  }

  get #silence(): number {
    return seconds() - this.#usedAt;
  }
}
