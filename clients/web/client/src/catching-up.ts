const ANSWER_MS = 5_000;
const TRIES = 2;

/** Asks for what was missed until it has come: a resume, or its answer, may get lost like anything else. */
export class CatchingUp {
  readonly #ask: () => void;
  readonly #giveUp: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;

  /** `ask()` sends a resume; `giveUp()` is called where its answer fails to come twice. */
  constructor(ask: () => void, giveUp: () => void) {
    this.#ask = ask;
    this.#giveUp = giveUp;
  }

  get isUnderWay(): boolean {
    return this.#timer !== undefined;
  }

  begin(): void {
    if (this.isUnderWay) return;
    this.#tries = 0;
    this.#again();
  }

  /** Something was heard: the rest may take as long again. */
  heard(isComplete: boolean): void {
    if (!this.isUnderWay) return;
    if (isComplete) this.end();
    else this.#wait();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #again(): void {
    this.end();
    if (this.#tries === TRIES) return this.#giveUp();
    this.#tries += 1;
    this.#wait();
    this.#ask();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#again(), ANSWER_MS);
  }
}
