import { html, nothing, svg, type TemplateResult } from "lit";
import type { ThinkingItem } from "#client";
import { icon, icons } from "../icons.ts";
import { thinking } from "../styles/thinking.ts";
import { define, Piece } from "../ui.ts";
import "./markdown.ts";
import "../locales/later.ts";

const bulb = icon(svg`<path d="M9 18h6M10 21h4M8.5 14.5a6 6 0 1 1 7 0c-.6.5-1 1.2-1 2v.5h-5v-.5c0-.8-.4-1.5-1-2z"/>`);

/** What the model thought before an answer: a line that opens. */
export class BatonThinking extends Piece {
  static override readonly sheet = thinking;
  static override properties = { ...Piece.properties, item: { attribute: false }, isExpanded: { state: true } };
  declare item: ThinkingItem;
  declare isExpanded: boolean;

  constructor() {
    super();
    this.isExpanded = false;
  }

  protected override render(): TemplateResult {
    const { id, open, text } = this.item;
    const label = this.say(open ? "thinking" : "thought");
    return html`
      <div class="thinking ${open ? "busy" : ""}" part="thinking">
        <button type="button" class="thinking-line" part="button thinking-button" aria-expanded=${this.isExpanded ? "true" : "false"} aria-controls="thinking-${id}" @click=${this.#toggle}>
          ${bulb}<span>${label}</span>${icons.next}
        </button>
        <div id="thinking-${id}" class="thoughts" part="thoughts" dir="auto" tabindex="0" role="group" aria-label=${label} ?hidden=${!this.isExpanded}>
          ${this.isExpanded ? html`<baton-chat-markdown class="markdown" .ui=${this.ui} .text=${text} .complete=${!open}></baton-chat-markdown>` : nothing}
        </div>
      </div>
    `;
  }

  #toggle(): void {
    this.isExpanded = !this.isExpanded;
  }
}

define("baton-chat-thinking", BatonThinking);
