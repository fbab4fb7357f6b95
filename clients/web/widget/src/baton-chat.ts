import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import {
  BatonClient,
  type BatonError,
  type Chat,
  type ChatEvents,
  type ChatSnapshot,
  type TokenCallback,
  textOf,
} from "#client";
import type { BatonComposer } from "./components/composer.ts";
import type { BatonTranscript } from "./components/transcript.ts";
import { icons } from "./icons.ts";
import { Locale, loadLocale } from "./locales/index.ts";
import { styles } from "./styles/index.ts";
import { fetchToken } from "./token-url.ts";
import { define, type Ui } from "./ui.ts";
import "./components/composer.ts";
import "./components/header.ts";
import { loadMarkdown } from "./components/markdown.ts";
import "./components/offers.ts";
import "./components/status.ts";
import "./components/transcript.ts";

/** Fields whose change needs another client, and so another connection. */
const CLIENT_FIELDS = ["endpoint", "socket", "token", "tokenUrl"] as const;
const CHAT_FIELDS = ["sessionId", "agent"] as const;

/** What `<baton-chat>` dispatches, by the event's name; the value is its `detail`. */
export interface BatonChatEvents {
  "baton-open": null;
  "baton-close": null;
  "baton-message": ChatEvents["message"];
  "baton-interrupt": ChatEvents["interrupt"];
  "baton-event": ChatEvents["event"];
  "baton-change": ChatSnapshot;
  "baton-error": ChatEvents["error"];
  "baton-token-error": ChatEvents["tokenerror"];
}

/** Chat with Baton's agents, in any page: see docs/reference/chat-widget.md for its attributes, events and parts. */
export class BatonChat extends LitElement {
  static override styles = styles;
  static override properties = {
    endpoint: {},
    socket: {},
    token: {},
    tokenUrl: { attribute: "token-url" },
    sessionId: { attribute: "session-id" },
    agent: {},
    locale: {},
    theme: { reflect: true },
    mode: { reflect: true },
    open: { type: Boolean, reflect: true },
    heading: {},
    snapshot: { state: true },
    ui: { state: true },
    announced: { state: true },
    problem: { state: true },
    isDropping: { state: true },
  };
  declare endpoint: string;
  declare socket: string | undefined;
  declare token: string | TokenCallback | undefined;
  declare tokenUrl: string | undefined;
  declare sessionId: string | undefined;
  declare agent: string | undefined;
  declare locale: string | undefined;
  declare theme: "light" | "dark" | "auto";
  declare mode: "launcher" | "inline";
  declare open: boolean;
  declare heading: string;
  protected declare snapshot: ChatSnapshot | null;
  protected declare ui: Ui;
  protected declare announced: string;
  protected declare problem: string;
  protected declare isDropping: boolean;
  #client: BatonClient | null = null;
  #chat: Chat | null = null;
  #starts = 0;

  constructor() {
    super();
    this.endpoint = "";
    this.theme = "auto";
    this.mode = "launcher";
    this.open = false;
    this.heading = "";
    this.snapshot = null;
    this.ui = { locale: new Locale(), chat: null, now: () => performance.now() };
    this.announced = "";
    this.problem = "";
    this.isDropping = false;
  }

  /** Opens the panel of a launcher. */
  show(): void {
    this.open = true;
  }

  /** Closes the panel of a launcher. */
  hide(): void {
    this.open = false;
  }

  /** Says something in the user's name. */
  async send(text: string): Promise<void> {
    this.open = true;
    await this.updateComplete;
    (await this.#started())?.send(text);
  }

  /** Stops the answer in progress. */
  stop(): void {
    this.#chat?.stop();
  }

  /** Begins another conversation. */
  async newConversation(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    const threadId = crypto.randomUUID?.() ?? undefined;
    const chat = client.chat({ ...(threadId && { threadId }), ...(this.agent && { agentId: this.agent }) });
    await client.keepSession(chat.threadId).catch(() => {});
    this.#use(chat);
  }

  /** Forgets what is kept in this browser, and shows nothing any more until another token is given. */
  logout(): void {
    this.#end();
    this.#client?.forgetEverything();
    this.#client = null;
    this.token = undefined;
    this.tokenUrl = undefined;
    this.open = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) void this.#started();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#end();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("locale") || !this.hasUpdated) void this.#speak();
    if (CLIENT_FIELDS.some((name) => changed.has(name))) {
      this.#end();
      this.#client = null;
    } else if (CHAT_FIELDS.some((name) => changed.has(name))) this.#end();
    if (this.#isWanted) void this.#started();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (this.mode === "inline" || !changed.has("open") || changed.get("open") === undefined) return;
    this.#tell(this.open ? "baton-open" : "baton-close", null);
    if (this.open) {
      this.#transcript?.toEnd();
      this.#composer?.focus();
    } else this.renderRoot.querySelector<HTMLElement>(".launcher")?.focus();
  }

  protected override render(): TemplateResult {
    const { direction } = this.ui.locale;
    const isInline = this.mode === "inline";
    const isShown = isInline || this.open;
    return html`
      <div class="root ${isInline ? "inline" : "floating"}" dir=${direction} lang=${this.ui.locale.tag}>
        ${isShown ? this.#panel(isInline) : nothing}
        ${isInline ? nothing : this.#launcher()}
        <div class="unseen" aria-live="polite">${this.announced}</div>
      </div>
    `;
  }

  #panel(isInline: boolean): TemplateResult {
    const { snapshot, ui } = this;
    const isEmpty = snapshot?.isLoaded === true && snapshot.items.length === 0;
    return html`
      <section class="panel ${this.isDropping ? "dropping" : ""}" part="panel" role=${isInline ? "region" : "dialog"} aria-label=${this.heading || ui.locale.say("conversation")}
        @keydown=${this.#keyed} @dragover=${this.#draggedOver} @dragleave=${this.#draggedAway} @drop=${this.#dropped}
        @baton-new=${this.newConversation} @baton-end=${() => this.#chat?.closeConversation()} @baton-close=${this.hide} @baton-said=${() => this.#transcript?.toEnd()}>
        <baton-chat-header .ui=${ui} .snapshot=${snapshot} .heading=${this.heading} ?closable=${!isInline}></baton-chat-header>
        <baton-chat-transcript .ui=${ui} .snapshot=${snapshot}></baton-chat-transcript>
        ${isEmpty ? html`<div class="welcome" part="welcome"><slot name="welcome"><p>${ui.locale.say("welcome")}</p></slot></div>` : nothing}
        <footer part="footer">
          <baton-chat-offers .ui=${ui} .workflows=${snapshot?.offers ?? []}></baton-chat-offers>
          ${snapshot?.isClosed ? html`<p class="closed" role="status">${ui.locale.say("closed")}</p>` : nothing}
          ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
          <baton-chat-status .ui=${ui} .connection=${snapshot?.connection ?? { status: "idle" }}></baton-chat-status>
          <baton-chat-composer .ui=${ui} ?running=${snapshot?.run != null} ?stopping=${snapshot?.isStopping ?? false}></baton-chat-composer>
        </footer>
        ${this.isDropping ? html`<div class="drop" aria-hidden="true">${ui.locale.say("drop")}</div>` : nothing}
      </section>
    `;
  }

  #launcher(): TemplateResult {
    const label = this.ui.locale.say(this.open ? "close" : "open");
    return html`<button type="button" class="launcher" part="launcher" title=${label} aria-label=${label} aria-expanded=${this.open ? "true" : "false"} @click=${() => (this.open ? this.hide() : this.show())}>
      ${this.open ? icons.close : icons.chat}
    </button>`;
  }

  get #composer(): BatonComposer | null {
    return this.renderRoot.querySelector("baton-chat-composer");
  }

  get #transcript(): BatonTranscript | null {
    return this.renderRoot.querySelector("baton-chat-transcript");
  }

  /** A launcher that was never opened costs nothing, unless a conversation is kept that may go on. */
  get #isWanted(): boolean {
    return this.mode === "inline" || this.open;
  }

  // The conversation

  async #started(): Promise<Chat | null> {
    if (this.#chat) return this.#chat;
    const client = this.#connected();
    if (!client || !this.isConnected) return null;
    const start = ++this.#starts;
    let threadId = this.sessionId;
    while (threadId === undefined) {
      try {
        threadId = await client.session();
      } catch (error) {
        if (start !== this.#starts || client !== this.#client) return null;
        this.#tell("baton-token-error", error as ChatEvents["tokenerror"]);
        await new Promise((resolve) => setTimeout(resolve, 3000));
      }
      if (start !== this.#starts || client !== this.#client || !this.isConnected) return this.#chat;
    }
    this.#use(client.chat({ threadId, ...(this.agent && { agentId: this.agent }) }));
    return this.#chat;
  }

  #connected(): BatonClient | null {
    if (this.#client) return this.#client;
    const token = this.token ?? (this.tokenUrl ? fetchToken(this.tokenUrl) : undefined);
    if (!this.endpoint || !token) return null;
    this.#client = new BatonClient({ endpoint: this.endpoint, token, ...(this.socket && { socket: this.socket }) });
    return this.#client;
  }

  #use(chat: Chat): void {
    this.#end();
    this.#chat = chat;
    this.ui = { ...this.ui, chat };
    this.snapshot = chat.snapshot;
    chat.on("change", (snapshot) => {
      if (this.#chat !== chat) return;
      this.snapshot = snapshot;
      if (snapshot.run) this.problem = "";
      this.#tell("baton-change", snapshot);
    });
    chat.on("event", (event) => this.#tell("baton-event", event));
    chat.on("message", (item) => {
      const { say } = this.ui.locale;
      this.announced = say("said", { name: item.name ?? say("assistant"), text: textOf(item.content) });
      this.#tell("baton-message", item);
    });
    chat.on("interrupt", (item) => {
      this.announced = item.interrupt.message ?? this.ui.locale.say("approval");
      this.#tell("baton-interrupt", item);
    });
    chat.on("activity", ({ text }) => {
      this.announced = text;
    });
    chat.on("error", (error: BatonError) => {
      this.problem = error.message;
      this.#tell("baton-error", error);
    });
    chat.on("tokenerror", (error) => this.#tell("baton-token-error", error));
    chat.on("userchange", () => {
      this.#end();
      void this.#started();
    });
    chat.start();
    void loadMarkdown().catch(() => {});
  }

  #end(): void {
    this.#starts += 1;
    this.#chat?.disconnect();
    this.#chat = null;
    this.problem = "";
    this.announced = "";
    this.snapshot = null;
    if (this.ui.chat) this.ui = { ...this.ui, chat: null };
  }

  async #speak(): Promise<void> {
    const wanted = this.locale ?? this.closest("[lang]")?.getAttribute("lang") ?? navigator.language;
    const locale = await loadLocale(wanted).catch(() => new Locale());
    this.ui = { ...this.ui, locale };
  }

  #tell<Name extends keyof BatonChatEvents>(name: Name, detail: BatonChatEvents[Name]): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  // What the user does

  #keyed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    if (this.snapshot?.run) this.#chat?.stop();
    else if (this.mode !== "inline") this.hide();
  }

  #draggedOver(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.isDropping = true;
  }

  #draggedAway(event: DragEvent): void {
    if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) this.isDropping = false;
  }

  #dropped(event: DragEvent): void {
    event.preventDefault();
    this.isDropping = false;
    this.#composer?.add([...(event.dataTransfer?.files ?? [])]);
  }
}

define("baton-chat", BatonChat);

declare global {
  interface HTMLElementTagNameMap {
    "baton-chat": BatonChat;
  }
}
