import { LitElement } from "lit";

/** An element of a page that asks for data: `left` is aborted when it leaves the page, so that nothing goes on unseen. */
export abstract class PageElement extends LitElement {
  #leaving = new AbortController();

  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Ends what was asked for so far, because something else is shown now. */
  protected askAnew(): void {
    this.#leaving.abort();
    this.#leaving = new AbortController();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.#leaving.signal.aborted) this.#leaving = new AbortController();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#leaving.abort();
  }
}
