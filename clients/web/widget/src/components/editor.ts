import { html, type TemplateResult } from "lit";
import { type MessageItem, textOf } from "#client";
import { isComposing } from "../keys.ts";
import { feedback } from "../styles/feedback.ts";
import { define, isIdle, Piece } from "../ui.ts";

/** The form in place of a message of the user's, who writes another one. */
export class BatonEditor extends Piece {
  static override readonly sheet = feedback;
  static override properties = { ...Piece.properties, item: { attribute: false } };
  declare item: MessageItem;

  protected override render(): TemplateResult {
    return html`<form class="editor" @submit=${this.#save} @keydown=${this.#keyed}>
      <textarea part="input" rows="3" dir="auto" aria-label=${this.say("edit")} .value=${textOf(this.item.content)}></textarea>
      <p class="buttons">
        <button type="button" class="secondary small" part="button cancel-button" @click=${this.#leave}>${this.say("cancel")}</button>
        <button type="submit" class="primary small when-idle" part="button save-button">${this.say("save")}</button>
      </p>
    </form>`;
  }

  protected override firstUpdated(): void {
    this.querySelector("textarea")?.focus();
  }

  #save(event: Event): void {
    event.preventDefault();
    const text = this.querySelector("textarea")?.value.trim() ?? "";
    if (!text || !isIdle(this.ui.chat?.snapshot)) return;
    if (text !== textOf(this.item.content)) this.ui.chat?.edit(this.item.id, text);
    this.#leave();
  }

  #keyed(event: KeyboardEvent): void {
    if (isComposing(event) || (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey))) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") this.#leave();
    else this.querySelector<HTMLElement>("[type=submit]")?.click();
  }

  #leave(): void {
    this.dispatchEvent(new CustomEvent("baton-edited", { bubbles: true }));
  }
}

define("baton-chat-editor", BatonEditor);
