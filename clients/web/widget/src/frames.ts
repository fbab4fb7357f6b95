/** A page that is not looked at has no frames; what happens in it is told nevertheless. */
const HIDDEN_MS = 250;

/** Does something with the next frame: once, however often it was asked for until then. */
export class NextFrame {
  readonly #act: () => void;
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(act: () => void) {
    this.#act = act;
  }

  ask(): void {
    if (this.#timer !== undefined) return;
    this.#frame = requestAnimationFrame(this.#due);
    this.#timer = setTimeout(this.#due, HIDDEN_MS);
  }

  cancel(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #due = (): void => {
    this.cancel();
    this.#act();
  };
}
