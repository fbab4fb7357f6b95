import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { ChatSnapshot, Item } from "#client";
import { isFixed } from "../cards.ts";
import { icons } from "../icons.ts";
import { actorOf, isShownNote } from "../notes.ts";
import { type Page, pagesOf } from "../pages.ts";
import { askedByOf, isNamed, NO_BRANCHES, repeatableFrom, versionsOf } from "../people.ts";
import { define, isIdle, Piece } from "../ui.ts";
import "./message.ts";
import "./note.ts";

/** What not every conversation has is loaded when it first appears: its elements come to life then. */
const LATER: Partial<Record<Item["role"], () => Promise<unknown>>> = {
  interrupt: () => import("./interrupt.ts"),
  research: () => import("./research.ts"),
  thinking: () => import("./thinking.ts"),
  tool: () => import("./tool.ts"),
};
const NEAR_THE_END_PX = 80;
const NEAR_THE_START_PX = 400;

/** The messages in order, which stay where they are while something is added above, and follow what is added below. */
export class BatonTranscript extends Piece {
  static override properties = { ...Piece.properties, snapshot: { attribute: false }, isAway: { state: true } };
  declare snapshot: ChatSnapshot | null;
  declare isAway: boolean;
  #pages: readonly Page[] = [];
  /** The first item that can be answered again, or changed. */
  #repeatableFrom = 0;
  #followsEnd = true;
  #followedTo = 0;
  /** Where the reader is: a browser forgets it of an element that is moved in its document. */
  #scrolledTo = 0;
  #anchor: { readonly node: Element; readonly top: number } | null = null;
  #resized: ResizeObserver | null = null;

  constructor() {
    super();
    this.snapshot = null;
    this.isAway = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#resized = new ResizeObserver(() => this.#followEnd());
    if (!this.hasUpdated) return;
    this.#observe();
    if (this.#followsEnd) this.toEnd();
    else if (this.scroller) this.scroller.scrollTop = this.#scrolledTo;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resized?.disconnect();
  }

  /** Shows the end, and stays there. */
  toEnd(): void {
    this.#followsEnd = true;
    this.#followedTo = 0;
    this.isAway = false;
    this.#followEnd();
  }

  protected override willUpdate(): void {
    const { items = [], main = null, agent } = this.snapshot ?? {};
    const isNever = isFixed(this) || agent?.isMain === false;
    this.#repeatableFrom = isNever ? Number.POSITIVE_INFINITY : repeatableFrom(items, main?.id ?? null);
    this.#anchor = this.#followsEnd ? null : this.#firstVisible();
  }

  protected override render(): TemplateResult {
    const { items = [], isWaiting = false, branches, typing } = this.snapshot ?? {};
    this.#pages = pagesOf(items, this.#pages);
    return html`
      <div class="scroller" part="transcript" role="log" aria-live="off" aria-label=${this.say("conversation")} tabindex="0" @scroll=${this.#scrolled}>
        <div class="items" ?data-idle=${isIdle(this.snapshot)}>
          ${this.#earlier()}
          ${repeat(
            this.#pages,
            ({ key }) => key,
            (page) =>
              guard([page, this.ui, this.#isOffline, branches, this.#repeatableFrom, this.#delivered], () =>
                this.#page(page, items),
              ),
          )}
          ${isWaiting || typing ? html`<div class="typing" part="typing" aria-hidden="true"><i></i><i></i><i></i></div>` : nothing}
          <p class="unseen" role="status">${typing ? this.say("typing", { name: typing.name }) : ""}</p>
        </div>
      </div>
      ${this.isAway ? html`<button type="button" class="round latest" part="button latest-button" title=${this.say("latest")} aria-label=${this.say("latest")} @click=${this.toEnd}>${icons.down}</button>` : nothing}
    `;
  }

  protected override firstUpdated(): void {
    this.#observe();
  }

  #observe(): void {
    const items = this.querySelector(".items");
    const { scroller } = this;
    if (items) this.#resized?.observe(items);
    if (scroller) this.#resized?.observe(scroller);
  }

  protected override updated(): void {
    const { scroller } = this;
    if (!scroller) return;
    if (this.#followsEnd) this.#followEnd();
    else if (this.#anchor?.node.isConnected)
      scroller.scrollTop += this.#anchor.node.getBoundingClientRect().top - this.#anchor.top;
    // A page that does not fill the screen cannot be scrolled for more.
    if (scroller.scrollHeight <= scroller.clientHeight + NEAR_THE_START_PX) this.#loadOlder();
  }

  get scroller(): HTMLElement | null {
    return this.querySelector(".scroller");
  }

  get #isOffline(): boolean {
    return this.snapshot?.connection.status !== "open";
  }

  /** The last message that a desk has, and that nobody has answered yet. */
  get #delivered(): string | null {
    const { items = [], desk } = this.snapshot ?? {};
    const last = items.at(-1);
    return desk && last?.role === "user" && !last.delivery && !last.failed ? last.id : null;
  }

  #page({ items: own, start }: Page, items: readonly Item[]): TemplateResult {
    const view = (item: Item, at: number) =>
      guard(this.#seenBy(items, start + at), () => this.#view(item, items, start + at));
    return html`<div class="page">${repeat(own, ({ id }) => id, view)}</div>`;
  }

  /** What a view shows: while an answer grows, one of a page is made anew. */
  #seenBy(items: readonly Item[], index: number): unknown[] {
    const neighbours = [items[index - 1], items[index + 1]?.role];
    return [
      this.ui,
      items[index],
      actorOf(items, index),
      isShownNote(items, index),
      ...neighbours,
      this.#isQueued(items[index]),
      this.#repeatableFrom <= index,
      this.#delivered === items[index]?.id,
      this.snapshot?.branches,
    ];
  }

  /** Whether it waits for a connection. */
  #isQueued(item: Item | undefined): boolean {
    return this.#isOffline && item?.role === "user" && item.delivery === "sending";
  }

  #view(item: Item, items: readonly Item[], index: number): TemplateResult {
    const { ui } = this;
    void LATER[item.role]?.().catch(() => {});
    if (item.role === "note" && !isShownNote(items, index)) return html``;
    if (item.role === "note")
      return html`<baton-chat-note class="item" .ui=${ui} .item=${item} .by=${actorOf(items, index)}></baton-chat-note>`;
    if (item.role === "thinking")
      return html`<baton-chat-thinking class="item" .ui=${ui} .item=${item}></baton-chat-thinking>`;
    if (item.role === "research")
      return html`<baton-chat-research class="item" .ui=${ui} .item=${item}></baton-chat-research>`;
    if (item.role === "tool" && item.inResearch && item.outcome !== "refused") return html``;
    if (item.role === "tool") return html`<baton-chat-tool class="item" .ui=${ui} .item=${item}></baton-chat-tool>`;
    if (item.role === "interrupt")
      return html`<baton-chat-interrupt class="item" .ui=${ui} .item=${item}></baton-chat-interrupt>`;
    const askedBy = this.#repeatableFrom <= index && item.role === "assistant" ? askedByOf(items, index) : null;
    const isRepeatable = askedBy === null || items.findIndex(({ id }) => id === askedBy) >= this.#repeatableFrom;
    const versions = item.role === "user" ? versionsOf(item.id, this.snapshot?.branches ?? []) : NO_BRANCHES;
    return html`<baton-chat-message class="item" .ui=${ui} .item=${item} ?named=${isNamed(item, items[index - 1])} .askedBy=${isRepeatable ? askedBy : null} .versions=${versions} ?editable=${this.#repeatableFrom <= index} ?delivered=${this.#delivered === item.id} ?queued=${this.#isQueued(item)}></baton-chat-message>`;
  }

  #earlier(): TemplateResult | typeof nothing {
    if (!this.snapshot?.hasOlder) return nothing;
    const isLoading = this.snapshot.isLoadingOlder;
    return html`<p class="earlier"><button type="button" class="link" part="button earlier-button" ?disabled=${isLoading} @click=${this.#loadOlder}>${this.say(isLoading ? "loadingEarlier" : "earlier")}</button></p>`;
  }

  readonly #loadOlder = (): void => {
    if (this.snapshot?.hasOlder && !this.snapshot.isLoadingOlder) void this.ui.chat?.loadOlder();
  };

  #scrolled(): void {
    const { scroller } = this;
    if (!scroller) return;
    this.#scrolledTo = scroller.scrollTop;
    const end = scroller.scrollHeight - scroller.clientHeight;
    const left = end - scroller.scrollTop;
    // What has grown since the last drawing takes nobody away from the end: only a reader who scrolls up leaves it.
    const hasScrolledUp = scroller.scrollTop < Math.min(this.#followedTo, end) - 1;
    this.#followsEnd = left < NEAR_THE_END_PX || (this.#followsEnd && !hasScrolledUp);
    this.isAway = !this.#followsEnd && left > scroller.clientHeight / 2;
    if (scroller.scrollTop < NEAR_THE_START_PX && !this.#followsEnd) this.#loadOlder();
  }

  #followEnd(): void {
    const { scroller } = this;
    if (!this.#followsEnd || !scroller) return;
    const end = scroller.scrollHeight - scroller.clientHeight;
    // The reader has scrolled up since, of which the event comes after this: the end must not take them back.
    if (scroller.scrollTop < Math.min(this.#followedTo, end) - NEAR_THE_END_PX) return;
    scroller.scrollTop = end;
    this.#followedTo = scroller.scrollTop;
  }

  #firstVisible(): { node: Element; top: number } | null {
    const { scroller } = this;
    if (!scroller) return null;
    const edge = scroller.getBoundingClientRect().top;
    const isBelow = (node: Element) => node.getBoundingClientRect().bottom > edge;
    const page = [...scroller.querySelectorAll(".page")].find(isBelow);
    const node = page && [...page.querySelectorAll(".item")].find(isBelow);
    return node ? { node, top: node.getBoundingClientRect().top } : null;
  }
}

define("baton-chat-transcript", BatonTranscript);
