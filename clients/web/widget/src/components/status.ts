import { html, nothing, type TemplateResult } from "lit";
import type { ConnectionState } from "#client";
import { define, Piece } from "../ui.ts";

const PATIENCE_MS = 1200; // a change of connection that is over so soon is not worth a word

/** How the connection is, where that matters: with the seconds until it is tried again. */
export class BatonStatus extends Piece {
  static override properties = {
    ...Piece.properties,
    connection: { attribute: false },
    isWorthTelling: { state: true },
  };
  declare connection: ConnectionState;
  declare isWorthTelling: boolean;
  #troubleSince: number | null = null;
  /** Whether the last attempt failed for its token: the next one is no news either. */
  #isOfToken = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.connection = { status: "idle" };
    this.isWorthTelling = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  protected override willUpdate(): void {
    const { status } = this.connection;
    if (this.connection.status === "waiting") this.#isOfToken = this.connection.reason !== "network";
    else if (status !== "connecting") this.#isOfToken = false;
    const isTrouble = status === "waiting" || status === "connecting";
    if (!isTrouble) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#troubleSince = null;
      this.isWorthTelling = false;
      return;
    }
    this.#troubleSince ??= this.ui.now();
    this.isWorthTelling = this.ui.now() - this.#troubleSince >= PATIENCE_MS;
    this.#timer ??= setInterval(() => this.requestUpdate(), 500);
  }

  protected override render(): TemplateResult {
    const { connection } = this;
    const isOut = connection.status === "signed-out";
    const isShown = this.isWorthTelling || isOut;
    const seconds =
      connection.status === "waiting" ? Math.max(0, Math.ceil((connection.retryAt - this.ui.now()) / 1000)) : 0;
    const button = html`<button type="button" class="link" part="button try-now-button" @click=${this.#tryNow}>${this.say(isOut ? "retry" : "tryNow")}</button>`;
    return html`
      <div class="connection ${isShown ? "" : "unseen"}" part="status" data-status=${connection.status}>
        <span role="status">${isShown ? this.#announced : connection.status === "open" ? this.say("connected") : ""}</span>
        ${isShown ? html`<span aria-hidden="true">${this.#words(seconds)}</span>` : nothing}
        ${isOut ? html`<slot name="sign-in">${button}</slot>` : isShown && seconds > 1 ? button : nothing}
      </div>
    `;
  }

  /** Said once: a countdown that is read out every second is a nuisance. */
  get #announced(): string {
    const { connection } = this;
    if (connection.status === "signed-out") return this.say("signedOut");
    if (this.#isOfToken) return this.say("tokenNow");
    // While the network is away, an attempt is no news.
    const isFirst = connection.status === "connecting" && connection.attempt === 1;
    return this.say(isFirst ? "connecting" : "waitingNow");
  }

  #words(seconds: number): string {
    const { connection } = this;
    if (connection.status !== "waiting") return this.#announced;
    if (connection.reason !== "network") return this.say("tokenProblem", { seconds });
    return seconds > 0 ? this.say("waiting", { seconds }) : this.#announced;
  }

  #tryNow(): void {
    this.dispatchEvent(new CustomEvent("baton-retry", { bubbles: true }));
  }
}

define("baton-chat-status", BatonStatus);
