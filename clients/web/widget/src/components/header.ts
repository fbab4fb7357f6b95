import { html, nothing, type TemplateResult } from "lit";
import type { ChatSnapshot } from "#client";
import { icons } from "../icons.ts";
import { initialOf, pictureOf } from "../people.ts";
import { badge, badgeText, define, Piece } from "../ui.ts";

/** Who answers, how far a workflow is, and what can be done with the conversation as a whole. */
export class BatonHeader extends Piece {
  static override properties = {
    ...Piece.properties,
    snapshot: { attribute: false },
    heading: { type: String },
    closable: { type: Boolean },
    listing: { type: Boolean },
    single: { type: Boolean },
    unread: { attribute: false },
  };
  declare snapshot: ChatSnapshot | null;
  declare heading: string;
  declare closable: boolean;
  /** The list of conversations is shown. */
  declare listing: boolean;
  /** The page says which conversation it is: there is no other one to choose or begin. */
  declare single: boolean;
  /** Unread answers of other conversations. */
  declare unread: number;

  protected override render(): TemplateResult {
    const { agent = null, main = null, desk = null, isClosed = false } = this.snapshot ?? {};
    const who = desk?.person ?? agent ?? (this.heading ? null : main);
    const name = who?.name ?? (this.heading || this.say("assistant"));
    return html`
      <header class="header" part="header">
        ${this.single ? nothing : this.#list()}
        <span class="avatar" part="avatar" aria-hidden="true">${this.#avatar(name, who?.avatarUrl)}</span>
        <div class="who">
          <h2 class="name" dir="auto" title=${desk?.person ? nothing : (agent?.description ?? nothing)}>${name}</h2>
          ${this.#title()}
        </div>
        ${this.single ? nothing : this.#button("new", icons.compose, this.say("newConversation"))}
        ${this.snapshot?.isKnown && !isClosed ? this.#button("end", icons.end, this.say("end")) : nothing}
        ${this.closable ? this.#button("close", icons.close, this.say("close")) : nothing}
      </header>
      ${this.#session()}
    `;
  }

  /** What the user is in beside the conversation with the main agent, and the way out of it. */
  #session(): TemplateResult | typeof nothing {
    const { agent = null, workflow = null, desk = null, isClosed = true } = this.snapshot ?? {};
    if (desk) {
      void import("./desk.ts").catch(() => {}); // the next drawing tries again
      return html`<baton-chat-desk .ui=${this.ui} .snapshot=${this.snapshot}></baton-chat-desk>`;
    }
    const canExit = !isClosed && (workflow ? workflow.canExit : agent?.isMain === false);
    if (!workflow && !canExit) return nothing;
    return html`<div class="session" part="session">
      <div class="where">${workflow ? this.#step() : nothing}</div>
      ${canExit ? html`<button type="button" class="secondary small" part="button exit-button" title=${this.say("exitTitle")} @click=${() => this.ui.chat?.exit()}>${this.say("exit")}</button>` : nothing}
    </div>`;
  }

  #list(): TemplateResult {
    const { unread } = this;
    const news = unread > 0 ? [this.say("newMessages", { count: badgeText(unread) })] : [];
    const label = [this.say("conversations"), ...news].join(". ");
    return this.#button("list", html`${icons.list}${badge(unread)}`, label, this.listing);
  }

  #avatar(name: string, address: string | null | undefined): TemplateResult {
    const picture = pictureOf(address);
    return picture ? html`<img src=${picture} alt="" referrerpolicy="no-referrer" />` : html`${initialOf(name)}`;
  }

  #title(): TemplateResult | typeof nothing {
    const title = this.snapshot?.title;
    return title ? html`<p class="title" part="title" dir="auto" title=${title}>${title}</p>` : nothing;
  }

  #step(): TemplateResult {
    const { step, steps, label, state, name } = this.snapshot?.workflow ?? { state: "", name: "" };
    const where = step && steps ? this.say("step", { step, steps }) : "";
    return html`
      <p class="step" part="step" role="status" title=${name} dir="auto">${[where, label ?? state].filter(Boolean).join(": ")}</p>
      ${step && steps ? html`<progress part="progress" aria-label=${name} max=${steps} .value=${step}></progress>` : nothing}
    `;
  }

  #button(action: string, icon: unknown, label: string, pressed?: boolean): TemplateResult {
    const act = () => this.dispatchEvent(new CustomEvent(`baton-${action}`, { bubbles: true }));
    return html`<button type="button" class="round quiet" part="button ${action}-button" title=${label} aria-label=${label} aria-pressed=${pressed === undefined ? nothing : String(pressed)} @click=${act}>${icon}</button>`;
  }
}

define("baton-chat-header", BatonHeader);
