import { html, nothing, svg, type TemplateResult } from "lit";
import type { ToolItem } from "#client";
import { callCard, isForDevelopers, offerCard } from "../cards.ts";
import { icon } from "../icons.ts";
import type { Sentence } from "../locales/index.ts";
import { tool } from "../styles/tool.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

const wrench = icon(svg`<path d="M14.5 6.5a4 4 0 0 0-5.2 5.2L4 17l3 3 5.3-5.3a4 4 0 0 0 5.2-5.2L15 12l-3-3z"/>`);

/** A call of a tool; for developers with what it was given and what came back. */
export class BatonTool extends Piece {
  static override readonly sheet = tool;
  static override properties = { ...Piece.properties, item: { attribute: false } };
  declare item: ToolItem;

  /** What the page was told last: arguments that are still being written are no news. */
  #told = "";
  #isShown = true;

  protected override willUpdate(): void {
    const { open, outcome, waits, result, args } = this.item;
    const news = JSON.stringify([open, outcome, waits, result === undefined, open || args]);
    if (news === this.#told) return;
    this.#told = news;
    this.#isShown = offerCard(this, "baton-call", callCard(this.item));
  }

  protected override render(): TemplateResult {
    return html`<slot name="call-${this.item.callId}">${this.#isShown ? this.#line() : nothing}</slot>`;
  }

  #line(): TemplateResult {
    const { name = "?", label = name, args, result, open, progress } = this.item;
    if (this.#isAsked) return html``;
    const style = `tool ${open ? "busy" : ""}`;
    const line = html`${wrench}<span>${this.say(this.#sentence, { name: label })} ${open ? progress : nothing}</span>`;
    if (!isForDevelopers(this)) return html`<p class=${style} part="tool" dir="auto">${line}</p>`;
    return html`
      <details class=${style} part="tool">
        <summary>${line}</summary>
        ${args ? this.#labelled("input", args) : nothing} ${result === undefined ? nothing : this.#labelled("result", result)}
      </details>
    `;
  }

  /** Its question stands above, and says all that a customer needs to know. */
  get #isAsked(): boolean {
    return this.item.waits === true && this.item.result === undefined && !this.item.outcome && !isForDevelopers(this);
  }

  get #sentence(): Sentence {
    const { open, outcome, waits, result } = this.item;
    if (!isForDevelopers(this)) {
      if (outcome === "refused") return "toolRefused";
      return outcome === "failed" ? "toolFailed" : open ? "toolBusy" : "toolDone";
    }
    if (outcome === "refused") return "callRefused";
    if (outcome === "failed") return "callFailed";
    if (waits && result === undefined) return "wantsToCall";
    return open ? "calling" : "called";
  }

  #labelled(label: Sentence, text: string): TemplateResult {
    return html`<figure><figcaption>${this.say(label)}</figcaption><pre tabindex="0" role="group" aria-label=${this.say(label)} dir="ltr"><code>${indented(text)}</code></pre></figure>`;
  }
}

export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

define("baton-chat-tool", BatonTool);
