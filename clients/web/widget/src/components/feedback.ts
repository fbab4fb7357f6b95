import { html, type TemplateResult } from "lit";
import type { MessageItem } from "#client";
import { isComposing } from "../keys.ts";
import { feedback } from "../styles/feedback.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

const LONGEST = 2000;

/** What the user has to say about an answer that they have rated. */
export class BatonFeedback extends Piece {
  static override readonly sheet = feedback;
  static override properties = { ...Piece.properties, item: { attribute: false }, busy: { state: true } };
  declare item: MessageItem;
  declare busy: boolean;

  constructor() {
    super();
    this.busy = false;
  }

  /** It opens below the answer, which may end where the screen does. */
  protected override firstUpdated(): void {
    this.scrollIntoView({ block: "nearest" });
  }

  protected override render(): TemplateResult {
    const label = this.say("comment");
    return html`<form class="editor" part="feedback" @submit=${this.#submit} @keydown=${this.#keyed}>
      <p role="status">${this.say("feedbackKept")}</p>
      <textarea part="input" rows="2" dir="auto" maxlength=${LONGEST} aria-label=${label} placeholder=${label} .value=${this.item.feedback?.comment ?? ""}></textarea>
      <p class="buttons">
        <button type="button" class="secondary small" part="button cancel-button" @click=${this.#leave}>${this.say("cancel")}</button>
        <button type="submit" class="primary small" part="button submit-button" ?disabled=${this.busy || !this.item.feedback}>${this.say("submit")}</button>
      </p>
    </form>`;
  }

  async #submit(event: Event): Promise<void> {
    event.preventDefault();
    const comment = this.querySelector("textarea")?.value.trim() ?? "";
    const rating = this.item.feedback?.rating;
    if (!rating) return; // it is on its way still
    if (!comment) return this.#leave();
    this.busy = true;
    try {
      await this.ui.chat?.feedback(this.item.id, rating, comment);
      this.#leave();
    } catch {
      // What was written stays; the chat tells what went wrong.
    } finally {
      this.busy = false;
    }
  }

  #keyed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || isComposing(event)) return;
    event.stopPropagation();
    this.#leave();
  }

  #leave(): void {
    this.dispatchEvent(new CustomEvent("baton-commented", { bubbles: true }));
  }
}

define("baton-chat-feedback", BatonFeedback);
