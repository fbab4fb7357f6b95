import { html, nothing, type TemplateResult } from "lit";
import type { ChatSnapshot, OfferedDesk } from "#client";
import { desk } from "../styles/desk.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

/** Conversations that a desk counts: of so many there may be more. */
const MOST_AHEAD = 50;

/** The user waits for a person, or talks to one: how far that is, and the way back. */
export class BatonDesk extends Piece {
  static override readonly sheet = desk;
  static override properties = { ...Piece.properties, snapshot: { attribute: false } };
  declare snapshot: ChatSnapshot;

  protected override render(): TemplateResult | typeof nothing {
    const { desk, isClosed } = this.snapshot;
    if (!desk) return nothing;
    return html`<div class="session ${desk.status}" part="session desk">
      <p class="where" role="status" dir="auto">${this.#words}</p>
      ${isClosed ? nothing : html`<button type="button" class="secondary small" part="button exit-button" @click=${() => this.ui.chat?.exit()}>${this.say("backToAssistant")}</button>`}
    </div>`;
  }

  get #words(): string {
    const { desk, agent, deskOpensAt } = this.snapshot;
    const name = agent?.name ?? "";
    if (desk?.status === "active") return name;
    if (deskOpensAt && Date.parse(deskOpensAt) > Date.now())
      return this.say("opens", { name, time: this.ui.locale.moment(new Date(deskOpensAt)) });
    const ahead = desk?.ahead ?? MOST_AHEAD;
    // Those who were there before may have been answered since: more than these are not ahead.
    const position =
      ahead === 0 ? this.say("nobodyAhead") : ahead < MOST_AHEAD ? this.say("ahead", { count: ahead }) : "";
    return [this.say("waitingFor", { name }), position].filter(Boolean).join(" ");
  }
}

/** Desks that the user may ask for. */
export class BatonPeople extends Piece {
  static override readonly sheet = desk;
  static override properties = { ...Piece.properties, desks: { attribute: false }, isAsked: { state: true } };
  declare desks: readonly OfferedDesk[];
  /** One was asked for, and nothing has come of it yet. */
  declare isAsked: boolean;

  constructor() {
    super();
    this.desks = [];
    this.isAsked = false;
  }

  protected override render(): TemplateResult {
    const isOne = this.desks.length === 1;
    return html`<ul class="people" part="people">
      ${this.desks.map(
        (offered) => html`<li>
          <button type="button" class="secondary small" part="button person-button" ?disabled=${this.isAsked} @click=${() => this.#ask(offered)}>
            <span dir="auto">${isOne ? this.say("askPerson") : this.say("askDesk", { name: offered.name })}</span>
          </button>
          ${this.#opening(offered)}
        </li>`,
      )}
    </ul>`;
  }

  #opening({ name, isOpen, opensAt }: OfferedDesk): TemplateResult | typeof nothing {
    if (isOpen || !opensAt) return nothing;
    return html`<small dir="auto">${this.say("opens", { name, time: this.ui.locale.moment(new Date(opensAt)) })}</small>`;
  }

  async #ask({ id }: OfferedDesk): Promise<void> {
    this.isAsked = true;
    try {
      await this.ui.chat?.askForPerson(id);
    } catch {
      // the chat shows what went wrong
    }
    this.isAsked = false;
  }
}

define("baton-chat-desk", BatonDesk);
define("baton-chat-people", BatonPeople);
