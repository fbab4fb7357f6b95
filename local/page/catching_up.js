// Asking for what was missed until it has come: a resume, or its answer, may get lost like anything else.

const ANSWER_MS = 5_000;
const TRIES = 2;

export class CatchingUp {
  #timer = 0;
  #tries = 0;
  #upTo = null; // the number of the last event that was promised

  /** `ask()` sends a resume; `giveUp()` is called where its answer fails to come twice. */
  constructor(ask, giveUp) {
    this.ask = ask;
    this.giveUp = giveUp;
  }

  begin() {
    if (this.#timer) return;
    this.#tries = 0;
    this.#again();
  }

  /** The answer has come: everything up to `lastSeq` follows. */
  promised(lastSeq) {
    this.#upTo = lastSeq;
  }

  /** Something was heard, and `lastSeq` is the last event known by now; null: whatever comes next is next. */
  heard(lastSeq) {
    if (!this.#timer || this.#upTo === null) return;
    if (lastSeq === null || lastSeq >= this.#upTo) this.end();
    else this.#wait();
  }

  end() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#upTo = null;
  }

  #again() {
    this.end();
    if (this.#tries === TRIES) return this.giveUp();
    this.#tries += 1;
    this.#wait();
    this.ask();
  }

  #wait() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#again(), ANSWER_MS);
  }
}
