import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Source } from "#client";
import { icons } from "../icons.ts";
import { isComposing } from "../keys.ts";
import { addressOf, placeOf } from "../sources.ts";
import { passage } from "../styles/passage.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

const GAP = 10;
const EDGE = 12;

/** The passage behind a citation: its document, where in it, and its words. It goes away with Escape or a click beside it. */
export class BatonPassage extends Piece {
  static override readonly sheet = passage;
  static override properties = { ...Piece.properties, source: { attribute: false }, at: { attribute: false } };
  declare source: Source;
  /** The button that shows it. */
  declare at: HTMLButtonElement;

  protected override render(): TemplateResult {
    const { number, title, id, excerpt, section, page } = this.source;
    const place = [placeOf(this.source, this.say), page ? section : ""].filter(Boolean).join(" \u00B7 ");
    const url = addressOf(this.source);
    return html`
      <div class="passage" part="passage" popover="auto" role="dialog" tabindex="-1" aria-label=${this.at.getAttribute("aria-label") ?? ""} @toggle=${this.#toggled} @keydown=${this.#keyed}>
        <header>
          <div dir="auto"><strong>${number}. ${title ?? id}</strong>${place ? html`<div class="place">${place}</div>` : nothing}</div>
          <button type="button" class="round tiny quiet" part="button hide-button" aria-label=${this.say("hide")} @click=${this.#hide}>${icons.close}</button>
        </header>
        ${excerpt ? html`<blockquote dir="auto">${excerpt}</blockquote>` : nothing}
        ${url ? html`<p><a href=${url} target="_blank" rel="noopener noreferrer">${this.say("openDocument")}</a></p>` : nothing}
      </div>
    `;
  }

  protected override willUpdate(changed: PropertyValues): void {
    const before: HTMLButtonElement | undefined = changed.get("at");
    before?.setAttribute("aria-expanded", "false");
  }

  protected override updated(changed: PropertyValues): void {
    if (!changed.has("at") && !changed.has("source")) return;
    this.at.popoverTargetElement = this.#box; // a second click hides it
    this.#box.showPopover();
    this.#place();
    this.#box.focus({ preventScroll: true });
  }

  get #box(): HTMLElement {
    return this.querySelector(".passage") as HTMLElement;
  }

  /** Below the button, or above it where there is more room; within the screen. */
  #place(): void {
    const button = this.at.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = this.#box;
    const left = Math.min(button.left, innerWidth - offsetWidth - EDGE);
    const below = button.bottom + GAP;
    const top = below + offsetHeight + EDGE <= innerHeight ? below : button.top - GAP - offsetHeight;
    style.left = `${Math.max(EDGE, left)}px`;
    style.top = `${Math.max(EDGE, Math.min(top, innerHeight - offsetHeight - EDGE))}px`;
  }

  #toggled(): void {
    const isOpen = this.#box.matches(":popover-open");
    this.at.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) return;
    this.at.popoverTargetElement = null;
    this.dispatchEvent(new CustomEvent("baton-hide"));
  }

  #keyed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || isComposing(event)) return;
    event.preventDefault();
    event.stopPropagation(); // it is not the panel that is to be closed
    this.#hide();
  }

  readonly #hide = (): void => {
    this.#box.hidePopover();
    this.at.focus();
  };
}

define("baton-chat-passage", BatonPassage);
