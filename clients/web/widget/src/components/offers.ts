import { html, nothing, type TemplateResult } from "lit";
import type { Workflow } from "#client";
import { define, Piece } from "../ui.ts";

/** Unfinished work that can go on here. */
export class BatonOffers extends Piece {
  static override properties = { ...Piece.properties, workflows: { attribute: false } };
  declare workflows: readonly Workflow[];

  constructor() {
    super();
    this.workflows = [];
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.workflows.length) return nothing;
    return html`<section class="offers" part="offers" aria-label=${this.say("welcomeBack")}>
      <p>${this.say("welcomeBack")}</p>
      <ul>
        ${this.workflows.map(
          (
            workflow,
          ) => html`<li><button type="button" class="secondary" part="button offer-button" @click=${() => this.ui.chat?.continue(workflow.id)}>
            <span dir="auto">${this.say("continue", { name: workflow.name })}</span><small dir="auto">${this.#where(workflow)}</small>
          </button></li>`,
        )}
      </ul>
    </section>`;
  }

  #where({ step, steps, label }: Workflow): string {
    return [step && steps ? this.say("step", { step, steps }) : null, label].filter(Boolean).join(": ");
  }
}

define("baton-chat-offers", BatonOffers);
