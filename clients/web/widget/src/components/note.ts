import { html, nothing, type TemplateResult } from "lit";
import type { NoteItem } from "#client";
import { explain } from "../failures.ts";
import { define, Piece } from "../ui.ts";

const CLOSED = {
  UserClosed: "closedByUser",
  PersonClosed: "closedByPerson",
  AgentClosed: "closedByAgent",
  Timeout: "closedByTime",
} as const;

/** A line between messages: a handoff, a return, an end. */
export class BatonNote extends Piece {
  static override properties = { ...Piece.properties, item: { attribute: false }, by: {} };
  declare item: NoteItem;
  /** Who has answered after a handoff, or has worked in the background. */
  declare by: string | undefined;

  protected override render(): TemplateResult | typeof nothing {
    const words = this.#words;
    return words ? html`<p class="note ${this.item.kind}" part="note" dir="auto"><span>${words}</span></p>` : nothing;
  }

  get #words(): string {
    const { kind, label, reason, name, percent = 0, resetsAt = "" } = this.item;
    if (kind === "event" && reason === "task") return [this.say("background"), this.by].filter(Boolean).join(": ");
    if (this.by) return this.say("handedOver", { name: this.by });
    if (kind === "event" && reason === "schedule") return this.say("reminder", { text: label ?? "" });
    if (kind === "spending")
      return this.say("spent", { percent: String(percent), time: this.ui.locale.time(new Date(resetsAt)) });
    if (label) return explain(this.ui.locale, { code: reason ?? "", message: label });
    if (kind === "stopped") return this.say("stopped");
    if (kind === "closed") return this.say(CLOSED[reason as keyof typeof CLOSED] ?? "closed", { name: name ?? "" });
    return "";
  }
}

define("baton-chat-note", BatonNote);
