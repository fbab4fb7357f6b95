import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { isComposing } from "../../../widget/src/keys.ts";
import { base } from "../styles/base.ts";
import { texts } from "../texts.ts";

const LONGEST_REASON = 500;

/** A button that asks before it acts, and for a reason where one is stored. Tells `confirmed` with the reason. */
export class ConfirmButton extends LitElement {
  static override properties = {
    label: {},
    question: {},
    reason: {},
    needsReason: { type: Boolean },
    isDisabled: { attribute: false },
    isAsking: { state: true },
  };
  static override styles = [
    base,
    css`
      :host { display: inline-block; }
      form { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; border: 1px solid var(--border); border-radius: var(--radius); padding: 10px; }
      p { margin: 0; inline-size: 100%; overflow-wrap: anywhere; }
    `,
  ];
  declare label: string;
  declare question: string;
  /** What the reason is called; empty: none is asked for. */
  declare reason: string;
  declare needsReason: boolean;
  declare isDisabled: boolean;
  protected declare isAsking: boolean;

  constructor() {
    super();
    this.label = "";
    this.question = "";
    this.reason = "";
    this.needsReason = false;
    this.isDisabled = false;
    this.isAsking = false;
  }

  protected override render(): TemplateResult {
    if (!this.isAsking) {
      return html`<button type="button" class="danger" ?disabled=${this.isDisabled} @click=${() => this.#ask(true)}>${this.label}</button>`;
    }
    return html`<form role="alertdialog" aria-label=${this.label} @submit=${this.#confirm} @keydown=${this.#keyed}>
      <p dir="auto">${this.question}</p>
      ${this.reason ? html`<label>${this.reason}<input name="reason" dir="auto" maxlength=${LONGEST_REASON} ?required=${this.needsReason} /></label>` : nothing}
      <button type="submit" class="danger" ?disabled=${this.isDisabled}>${this.label}</button>
      <button type="button" @click=${() => this.#ask(false)}>${texts.cancel}</button>
    </form>`;
  }

  async #ask(isAsking: boolean): Promise<void> {
    this.isAsking = isAsking;
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(isAsking ? "input, button[type=button]" : "button")?.focus();
  }

  #keyed = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !isComposing(event)) void this.#ask(false);
  };

  #confirm = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement).get("reason");
    const reason = typeof given === "string" ? given.trim() : "";
    if (this.needsReason && !reason) return;
    this.isAsking = false;
    this.dispatchEvent(new CustomEvent("confirmed", { detail: reason }));
  };
}

customElements.define("confirm-button", ConfirmButton);
