import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Chat, Workflow } from "#client";
import { offers } from "../styles/offers.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

/** Unfinished work that can go on here. */
export class BatonOffers extends Piece {
  static override readonly sheet = offers;
  static override properties = {
    ...Piece.properties,
    workflows: { attribute: false },
    returning: { type: Boolean },
    isChosen: { state: true },
  };
  declare workflows: readonly Workflow[];
  /** The user comes back to them, and has not left one just now. */
  declare returning: boolean;
  /** One was chosen, and nothing has come of it yet. */
  declare isChosen: boolean;
  #heard: Chat | null = null;

  constructor() {
    super();
    this.workflows = [];
    this.returning = false;
    this.isChosen = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const { chat } = this.ui;
    if (chat && chat !== this.#heard) {
      this.#heard = chat;
      chat.on("error", () => {
        this.isChosen = false; // refused, perhaps: it can be tried again
      });
    }
    if (changed.has("workflows") && !this.workflows.length) this.isChosen = false;
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.workflows.length) return nothing;
    const heading = this.say(this.returning ? "welcomeBack" : "unfinished");
    return html`<section class="offers" part="offers" aria-label=${heading}>
      <p>${heading}</p>
      <ul>
        ${this.workflows.map(
          (
            workflow,
          ) => html`<li><button type="button" class="secondary" part="button offer-button" ?disabled=${this.isChosen} @click=${() => this.#choose(workflow)}>
            <span dir="auto">${this.say("continue", { name: workflow.name })}</span><small dir="auto">${this.#where(workflow)}</small>
          </button></li>`,
        )}
      </ul>
    </section>`;
  }

  #choose({ id }: Workflow): void {
    this.isChosen = true;
    this.ui.chat?.continue(id);
  }

  #where({ step, steps, label, updatedAt }: Workflow): string {
    const where = [step && steps ? this.say("step", { step, steps }) : null, label].filter(Boolean).join(": ");
    const when = updatedAt && this.say("leftAt", { time: this.ui.locale.time(new Date(updatedAt)) });
    return [where, when].filter(Boolean).join(" · ");
  }
}

define("baton-chat-offers", BatonOffers);
