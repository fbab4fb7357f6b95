import { html, nothing, type PropertyValues, svg, type TemplateResult } from "lit";
import type { BatonClient, BatonError, Thread, ThreadUpdate } from "#client";
import { explain } from "../failures.ts";
import { icon, icons } from "../icons.ts";
import { isComposing } from "../keys.ts";
import { threads } from "../styles/threads.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";
import "./reminders.ts";

const bin = icon(svg`<path d="M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13"/>`);

const PAGE_SIZE = 30;
const TYPING_MS = 250;
const LONGEST_TITLE = 120;
/** A search looks at some hundred conversations for each page, and may find nothing on it. */
const MOST_EMPTY_PAGES = 5;

/** The user's conversations: found by their words, opened, renamed, deleted. */
export class BatonThreads extends Piece {
  static override readonly sheet = threads;
  static override properties = {
    ...Piece.properties,
    client: { attribute: false },
    currentId: { attribute: false },
    title: { attribute: false },
    threads: { state: true },
    query: { state: true },
    renamedId: { state: true },
    doomedId: { state: true },
    problem: { state: true },
    isLoading: { state: true },
    hasMore: { state: true },
  };
  declare client: BatonClient | null;
  /** The conversation that is open, and what it is called. */
  declare currentId: string | null;
  declare title: string;
  protected declare threads: readonly Thread[];
  protected declare query: string;
  protected declare renamedId: string | null;
  protected declare doomedId: string | null;
  protected declare problem: string;
  protected declare isLoading: boolean;
  protected declare hasMore: boolean;
  #cursor: string | null = null;
  #request = 0;
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.client = null;
    this.currentId = null;
    this.title = "";
    this.threads = [];
    this.query = "";
    this.renamedId = null;
    this.doomedId = null;
    this.problem = "";
    this.isLoading = false;
    this.hasMore = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#typing);
  }

  override focus(): void {
    this.querySelector<HTMLElement>("input[type=search]")?.focus();
  }

  /** Shows what has changed in one of the conversations; one that is not there is asked for, unless words are searched. */
  take({ threadId, title, unread, lastActivityAt }: ThreadUpdate): void {
    const known = this.threads.find(({ id }) => id === threadId);
    if (!known) {
      if (!this.query) void this.#load();
      return;
    }
    const updated = { ...known, title: title ?? known.title ?? null, unread, lastActivityAt };
    const others = this.threads.filter((each) => each !== known);
    const isNewer = lastActivityAt > known.lastActivityAt;
    this.threads = isNewer ? [updated, ...others] : this.threads.map((each) => (each === known ? updated : each));
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("client")) void this.#load();
    if (!changed.has("title") || !this.title) return;
    this.threads = this.threads.map((each) => (this.#isCurrent(each) ? { ...each, title: this.title } : each));
  }

  protected override render(): TemplateResult {
    const search = this.say("searchConversations");
    return html`
      <section class="threads" part="threads" aria-label=${this.say("conversations")} @keydown=${this.#keyed}>
        <div class="bar">
          <input type="search" part="search" dir="auto" placeholder=${search} aria-label=${search} .value=${this.query} @input=${this.#typed} />
          ${this.#button("back", icons.close, this.say("back"), () => this.#leave())}
        </div>
        ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
        <ul aria-busy=${this.isLoading ? "true" : "false"}>${this.threads.map((thread) => this.#line(thread))}</ul>
        <p class="none ${this.isLoading ? "late" : ""}" role="status">${this.threads.length ? "" : this.say(this.isLoading ? "loading" : "noConversations")}</p>
        ${this.hasMore ? html`<button type="button" class="link" part="button more-button" ?disabled=${this.isLoading} @click=${() => this.#load(true)}>${this.say("moreConversations")}</button>` : nothing}
        <baton-chat-reminders .ui=${this.ui} .client=${this.client}></baton-chat-reminders>
      </section>
    `;
  }

  #line(thread: Thread): TemplateResult {
    const { id, lastActivityAt } = thread;
    const unread = this.#isCurrent(thread) ? 0 : (thread.unread ?? 0);
    const name = this.#nameOf(thread);
    if (id === this.renamedId) return this.#renaming(thread);
    if (id === this.doomedId) return this.#deleting(thread);
    const when = new Date(lastActivityAt);
    const day = Number.isNaN(when.valueOf()) ? "" : this.ui.locale.time(when);
    return html`<li data-id=${id}>
      <button type="button" class="thread" part="button thread-button" aria-current=${this.#isCurrent(thread) ? "true" : nothing} @click=${() => this.#tell("select", id)}>
        <span dir="auto">${name}</span><small>${day}</small>
        ${unread ? html`<b class="count" part="unread" title=${this.say("newMessages", { count: unread })}>${unread > 99 ? "99+" : unread}</b>` : nothing}
      </button>
      ${this.#button("rename", icons.edit, this.say("rename", { name }), () => this.#edit("renamedId", id))}
      ${this.#button("delete", bin, this.say("delete", { name }), () => this.#edit("doomedId", id))}
    </li>`;
  }

  #renaming(thread: Thread): TemplateResult {
    return html`<li data-id=${thread.id}><form class="rename" @submit=${(event: Event) => this.#rename(event, thread)}>
      <input name="title" part="input" dir="auto" maxlength=${LONGEST_TITLE} required aria-label=${this.say("title")} .value=${thread.title ?? ""} />
      <button type="submit" class="primary small" part="button save-button">${this.say("save")}</button>
      <button type="button" class="secondary small" part="button cancel-button" @click=${this.#leaveEdit}>${this.say("cancel")}</button>
    </form></li>`;
  }

  #deleting(thread: Thread): TemplateResult {
    return html`<li class="doomed" data-id=${thread.id}>
      <p role="alert">${this.say("deleteSure")} <strong dir="auto">${this.#nameOf(thread)}</strong></p>
      <button type="button" class="danger small" part="button delete-now-button" @click=${() => this.#delete(thread)}>${this.say("deleteNow")}</button>
      <button type="button" class="secondary small" part="button cancel-button" @click=${this.#leaveEdit}>${this.say("cancel")}</button>
    </li>`;
  }

  #button(name: string, icon: unknown, label: string, act: () => void): TemplateResult {
    return html`<button type="button" class="round quiet" part="button ${name}-button" title=${label} aria-label=${label} @click=${act}>${icon}</button>`;
  }

  #nameOf({ title }: Thread): string {
    return title || this.say("untitled");
  }

  #isCurrent({ id }: Thread): boolean {
    return id === this.currentId;
  }

  async #load(more = false): Promise<void> {
    const { client } = this;
    if (!client) return;
    const request = ++this.#request;
    const query = this.query.trim();
    this.isLoading = true;
    this.problem = "";
    if (!more) this.#cursor = null;
    try {
      let found: readonly Thread[] = [];
      for (let pages = 0; pages < MOST_EMPTY_PAGES && !found.length; pages += 1) {
        const page = await client.api.threads({ limit: PAGE_SIZE, cursor: this.#cursor, ...(query && { query }) });
        if (request !== this.#request) return; // other words were typed meanwhile
        found = page.items;
        this.#cursor = page.nextCursor;
        if (this.#cursor === null) break;
      }
      this.threads = more ? [...this.threads, ...found] : found;
    } catch (error) {
      if (request !== this.#request) return;
      this.problem = explain(this.ui.locale, error as BatonError);
    }
    this.isLoading = false;
    this.hasMore = this.#cursor !== null;
  }

  async #edit(field: "renamedId" | "doomedId", id: string): Promise<void> {
    this.renamedId = this.doomedId = null;
    this[field] = id;
    await this.updateComplete;
    const at = this.#lineOf(id);
    const input = at?.querySelector<HTMLInputElement>("input");
    input?.select();
    (input ?? at?.querySelector<HTMLElement>("[part~=cancel-button]"))?.focus();
  }

  readonly #leaveEdit = async (): Promise<void> => {
    const id = this.renamedId ?? this.doomedId;
    this.renamedId = this.doomedId = null;
    await this.updateComplete;
    this.#lineOf(id)?.querySelector<HTMLElement>(".thread")?.focus();
  };

  async #rename(event: Event, { id }: Thread): Promise<void> {
    event.preventDefault();
    const title = new FormData(event.target as HTMLFormElement).get("title")?.toString().trim();
    if (!title || !this.client) return;
    try {
      const renamed = await this.client.api.rename(id, title);
      this.threads = this.threads.map((each) => (each.id === id ? { ...each, title: renamed.title ?? title } : each));
      this.problem = "";
      await this.#leaveEdit();
    } catch (error) {
      this.problem = explain(this.ui.locale, error as BatonError);
    }
  }

  async #delete({ id }: Thread): Promise<void> {
    try {
      await this.client?.delete(id);
      this.threads = this.threads.filter((each) => each.id !== id);
      this.problem = "";
      this.doomedId = null;
      await this.updateComplete;
      this.focus();
    } catch (error) {
      this.problem = explain(this.ui.locale, error as BatonError);
    }
  }

  #typed(event: Event): void {
    this.query = (event.target as HTMLInputElement).value;
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => void this.#load(), TYPING_MS);
  }

  #keyed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || isComposing(event)) return;
    event.stopPropagation();
    if (this.renamedId || this.doomedId) void this.#leaveEdit();
    else this.#leave();
  }

  #leave(): void {
    this.#tell("list", null);
  }

  #tell(name: string, detail: string | null): void {
    this.dispatchEvent(new CustomEvent(`baton-${name}`, { bubbles: true, detail }));
  }

  #lineOf(id: string | null): Element | undefined {
    return [...this.querySelectorAll("li")].find((line) => line.dataset.id === id);
  }
}

define("baton-chat-threads", BatonThreads);
