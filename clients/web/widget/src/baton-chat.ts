import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import {
  BatonClient,
  BatonError,
  type Chat,
  type ChatEvents,
  type ChatSnapshot,
  type ClientTool,
  type ConnectionState,
  type ContextSource,
  type Item,
  type SendOptions,
  type TokenCallback,
  textOf,
} from "#client";
import type { ApprovalCard, CallCard } from "./cards.ts";
import type { BatonComposer } from "./components/composer.ts";
import type { BatonThreads } from "./components/threads.ts";
import type { BatonTranscript } from "./components/transcript.ts";
import { explain } from "./failures.ts";
import { NextFrame } from "./frames.ts";
import { icons } from "./icons.ts";
import { isComposing } from "./keys.ts";
import { Locale, loadLocale } from "./locales/index.ts";
import { styles } from "./styles/index.ts";
import { submitByClick } from "./submission.ts";
import { fetchToken } from "./token-url.ts";
import { badge, badgeText, define, type Ui } from "./ui.ts";
import { lastSeen, unreadIn } from "./unread.ts";
import type { UnreadThreads } from "./unread-threads.ts";
import "./components/composer.ts";
import "./components/header.ts";
import { loadMarkdown } from "./components/markdown.ts";
import "./components/status.ts";
import "./components/transcript.ts";

/** Fields whose change needs another client, and so another connection. */
const CLIENT_FIELDS = ["endpoint", "socket", "token", "tokenUrl"] as const;
const TOKEN_AGAIN_MS = 3000;
/** How long a conversation shows until what is unread elsewhere is asked for. */
const COUNT_MS = 1500;
const CHAT_FIELDS = ["sessionId", "agent"] as const;

/** What `<baton-chat>` dispatches, by the event's name; the value is its `detail`. */
export interface BatonChatEvents {
  "baton-open": null;
  "baton-close": null;
  "baton-message": ChatEvents["message"];
  "baton-interrupt": ChatEvents["interrupt"];
  "baton-approval": ApprovalCard;
  "baton-call": CallCard;
  "baton-event": ChatEvents["event"];
  "baton-change": ChatSnapshot;
  "baton-error": ChatEvents["error"];
  "baton-token-error": ChatEvents["tokenerror"];
  "baton-logout": null;
  "baton-unread": { readonly count: number };
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
    tools: { attribute: false },
    context: { attribute: false },
    unread: { state: true },
    unreadBeside: { state: true },
    isListing: { state: true },
    snapshot: { state: true },
    ui: { state: true },
    trouble: { state: true },
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
  /** Tools of the page that agents may call. */
  declare tools: readonly ClientTool[];
  /** What the page shows or knows, for the agents. */
  declare context: ContextSource;
  protected declare unread: number;
  /** Unread answers of conversations that do not show. */
  protected declare unreadBeside: number;
  protected declare isListing: boolean;
  protected declare snapshot: ChatSnapshot | null;
  protected declare ui: Ui;
  /** Why there is no conversation yet: no token. */
  protected declare trouble: ConnectionState | null;
  protected declare announced: string;
  protected declare problem: string;
  protected declare isDropping: boolean;
  #client: BatonClient | null = null;
  #chat: Chat | null = null;
  #starts = 0;
  #startAgain: (() => void) | null = null;
  #seenId: string | null = null;
  #ownUnread = 0;
  /** What is unread in all conversations, once it was asked for. */
  #threads: UnreadThreads | null = null;
  /** What the user said last while a workflow was under way: until they say more, it was left a moment ago. */
  #leftAfter: string | null | undefined = null;
  /** A new answer tells of changes more often than a screen can show. */
  readonly #redrawing = new NextFrame(() => this.#redraw());

  constructor() {
    super();
    this.endpoint = "";
    this.theme = "auto";
    this.mode = "launcher";
    this.open = false;
    this.heading = "";
    this.tools = [];
    this.context = [];
    this.unread = 0;
    this.unreadBeside = 0;
    this.isListing = false;
    this.snapshot = null;
    this.ui = { locale: new Locale(), chat: null, now: () => performance.now() };
    this.trouble = null;
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
  async send(text: string, options: Pick<SendOptions, "whileBusy"> = {}): Promise<void> {
    this.open = true;
    await this.updateComplete;
    (await this.#started())?.send(text, options);
  }

  /** Connects now instead of waiting: somebody has signed in, perhaps. */
  retry(): void {
    this.#chat?.retryNow();
    this.#startAgain?.();
  }

  /** Stops the answer in progress. */
  stop(): void {
    this.#chat?.stop();
  }

  /** Begins another conversation. */
  async newConversation(): Promise<void> {
    await this.#show();
  }

  /** Shows another conversation of the user's: one of `client.api.threads()`, or your own id of it. */
  async openConversation(threadId: string): Promise<void> {
    await this.#show(threadId);
  }

  async #show(threadId?: string, { isWanted = true } = {}): Promise<void> {
    const client = this.#connected();
    if (!client) return;
    const chat = client.chat({ ...(threadId && { threadId }), ...(this.agent && { agentId: this.agent }) });
    const start = ++this.#starts;
    await client.keepSession(chat.threadId).catch(() => {});
    if (start !== this.#starts || !this.isConnected) return;
    this.#use(chat);
    if (!isWanted) return;
    this.isListing = false;
    await this.updateComplete;
    this.#composer?.focus();
  }

  /** Forgets what is kept in this browser, and shows nothing any more until another token is given. */
  logout(): void {
    this.#connected()?.forgetEverything();
    this.#signedOut();
  }

  #signedOut(): void {
    this.#endClient();
    this.isListing = false;
    this.token = undefined;
    this.tokenUrl = undefined;
    this.open = false;
    this.#tell("baton-logout", null);
  }

  #endClient(): void {
    this.#endAll();
    this.#client = null;
    this.#showUnread();
  }

  /** Nothing is heard of any conversation any more. */
  #endAll(): void {
    this.#end();
    this.#threads?.end();
    this.#threads = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener("visibilitychange", this.#count);
    this.#languages.observe(document, { attributes: true, attributeFilter: ["lang"], subtree: true });
    if (!this.hasUpdated) return;
    void this.#speak();
    if (this.#isWanted) void this.#started();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener("visibilitychange", this.#count);
    this.#languages.disconnect();
    // An element that is moved is connected again at once, and goes on with its conversation.
    queueMicrotask(() => {
      if (!this.isConnected) this.#endAll();
    });
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("locale") || !this.hasUpdated) void this.#speak();
    if (CLIENT_FIELDS.some((name) => changed.has(name))) {
      this.#endClient();
    } else if (CHAT_FIELDS.some((name) => changed.has(name))) this.#end();
    if (this.#client && (changed.has("tools") || changed.has("context"))) this.#offer(this.#client);
    if (this.#chat) this.#chat.isShown = this.#isShown;
    if (!this.#isWanted) {
      if (this.#client?.seen) this.#countAll(); // somebody has talked here before
    } else if (!this.trouble) void this.#started();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (this.mode === "inline" || !changed.has("open") || changed.get("open") === undefined) return;
    this.#tell(this.open ? "baton-open" : "baton-close", null);
    this.#count();
    if (this.open) void this.#entered();
    else this.renderRoot.querySelector<HTMLElement>(".launcher")?.focus();
  }

  async #entered(): Promise<void> {
    await this.#composer?.updateComplete;
    this.#transcript?.toEnd();
    this.#composer?.focus();
  }

  protected override render(): TemplateResult {
    const { direction } = this.ui.locale;
    const isInline = this.mode === "inline";
    return html`
      <div class="root ${isInline ? "inline" : "floating"}" dir=${direction} lang=${this.ui.locale.tag}>
        ${this.#isShown ? this.#panel(isInline) : nothing}
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
        @click=${submitByClick} @keydown=${this.#keyed} @dragover=${this.#draggedOver} @dragleave=${this.#draggedAway} @drop=${this.#dropped}
        @baton-list=${this.#toggleList} @baton-select=${(event: CustomEvent<string>) => this.openConversation(event.detail)}
        @baton-new=${this.newConversation} @baton-end=${() => this.#chat?.closeConversation()} @baton-close=${this.hide} @baton-retry=${this.retry} @baton-said=${this.#said}>
        <baton-chat-header .ui=${ui} .snapshot=${snapshot} .heading=${this.heading} ?closable=${!isInline} ?single=${this.sessionId != null} ?listing=${this.isListing} .unread=${this.unreadBeside}></baton-chat-header>
        ${this.isListing ? html`<baton-chat-threads .ui=${ui} .client=${this.#client} .currentId=${snapshot?.canonicalId ?? snapshot?.threadId ?? null} .title=${snapshot?.title ?? ""}></baton-chat-threads>` : nothing}
        <baton-chat-transcript ?hidden=${this.isListing} .ui=${ui} .snapshot=${snapshot}></baton-chat-transcript>
        ${isEmpty && !this.isListing ? html`<div class="welcome" part="welcome"><slot name="welcome"><p>${ui.locale.say("welcome")}</p></slot></div>` : nothing}
        <footer part="footer" ?hidden=${this.isListing}>
          ${snapshot?.offers.length && (isEmpty || this.#leftAfter === lastSaid(snapshot)) ? this.#offers(snapshot, isEmpty) : nothing}
          ${snapshot?.isClosed ? html`<p class="closed" role="status">${ui.locale.say("closed")}</p>` : nothing}
          ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
          <baton-chat-status .ui=${ui} .connection=${snapshot?.connection ?? this.trouble ?? { status: "idle" }}></baton-chat-status>
          ${snapshot?.items.some(hasTask) ? this.#background(snapshot) : nothing}
          ${snapshot?.desks.length ? this.#people(snapshot.desks) : nothing}
          <baton-chat-composer .ui=${ui} ?running=${snapshot?.run != null && !snapshot.desk} ?stopping=${snapshot?.isStopping ?? false}></baton-chat-composer>
        </footer>
        ${this.isDropping ? html`<div class="drop" aria-hidden="true">${ui.locale.say("drop")}</div>` : nothing}
      </section>
    `;
  }

  #offers({ offers }: ChatSnapshot, isEmpty: boolean): TemplateResult {
    void import("./components/offers.ts").catch(() => {});
    return html`<baton-chat-offers .ui=${this.ui} .workflows=${offers} ?returning=${isEmpty}></baton-chat-offers>`;
  }

  #people(desks: ChatSnapshot["desks"]): TemplateResult {
    void import("./components/desk.ts").catch(() => {});
    return html`<baton-chat-people .ui=${this.ui} .desks=${desks}></baton-chat-people>`;
  }

  #background(snapshot: ChatSnapshot): TemplateResult {
    void import("./components/background.ts").catch(() => {});
    return html`<baton-chat-background .ui=${this.ui} .client=${this.#client} .snapshot=${snapshot}></baton-chat-background>`;
  }

  #launcher(): TemplateResult {
    const { say } = this.ui.locale;
    const count = this.open ? 0 : this.unread;
    const news = count > 0 ? [say("newMessages", { count: badgeText(count) })] : [];
    const label = [say(this.open ? "close" : "open"), ...news].join(". ");
    return html`<button type="button" class="launcher" part="launcher" title=${label} aria-label=${label} aria-expanded=${this.open ? "true" : "false"} @click=${() => (this.open ? this.hide() : this.show())}>
      ${this.open ? icons.close : icons.chat}${badge(count)}
    </button>`;
  }

  get #composer(): BatonComposer | null {
    return this.renderRoot.querySelector("baton-chat-composer");
  }

  get #list(): BatonThreads | null {
    return this.renderRoot.querySelector("baton-chat-threads");
  }

  get #transcript(): BatonTranscript | null {
    return this.renderRoot.querySelector("baton-chat-transcript");
  }

  get #isShown(): boolean {
    return this.mode === "inline" || this.open;
  }

  /** A launcher that was never opened costs nothing, unless a conversation is kept that may go on. */
  get #isWanted(): boolean {
    return this.#isShown || this.#connected()?.seen?.isOpen === true;
  }

  // The conversation

  async #started(): Promise<Chat | null> {
    if (this.#chat) return this.#chat;
    const client = this.#connected();
    if (!client || !this.isConnected) return null;
    const start = ++this.#starts;
    let threadId = this.sessionId ?? undefined; // an attribute that was removed is null
    while (threadId === undefined) {
      try {
        threadId = await client.session();
      } catch (error) {
        if (start !== this.#starts || client !== this.#client) return null;
        await this.#waitForToken(error as ChatEvents["tokenerror"]);
      }
      if (start !== this.#starts || client !== this.#client || !this.isConnected) return this.#chat;
    }
    this.#use(client.chat({ threadId, ...(this.agent && { agentId: this.agent }) }));
    return this.#chat;
  }

  /** Where nobody is signed in, waits until the page is looked at again, or is told to try. */
  async #waitForToken(error: ChatEvents["tokenerror"]): Promise<void> {
    this.#tell("baton-token-error", error);
    const isOut = error.code === "signed_out";
    const reason = error.code === "network_failed" ? "network" : "token";
    this.trouble = isOut
      ? { status: "signed-out" }
      : { status: "waiting", attempt: 1, retryAt: performance.now() + TOKEN_AGAIN_MS, reason };
    await new Promise<void>((resolve) => {
      this.#startAgain = resolve;
      if (!isOut) setTimeout(resolve, TOKEN_AGAIN_MS);
      document.addEventListener("visibilitychange", () => resolve(), { once: true });
    });
    this.trouble = null;
  }

  #connected(): BatonClient | null {
    if (this.#client) return this.#client;
    const token = this.token ?? (this.tokenUrl ? fetchToken(this.tokenUrl) : undefined);
    if (!this.endpoint || !token) return null;
    this.#client = new BatonClient({ endpoint: this.endpoint, token, ...(this.socket && { socket: this.socket }) });
    this.#client.locale = this.#spoken ?? undefined;
    this.#offer(this.#client);
    return this.#client;
  }

  /** What cannot be offered keeps nobody from talking; the page hears of it. */
  #offer(client: BatonClient): void {
    client.context = this.context;
    try {
      client.tools = this.tools;
    } catch (cause) {
      const { message } = cause as TypeError;
      this.#tell("baton-error", new BatonError(message, { code: "invalid_tools", retryable: false, cause }));
    }
  }

  /** Whether, and how much of, what was said was not seen yet. */
  readonly #count = (): void => {
    const { snapshot } = this;
    const client = this.#client;
    if (!snapshot?.isLoaded || !client) return;
    const isShown = this.#isShown && document.visibilityState !== "hidden";
    if (isShown || this.#seenId === null) this.#seenId = lastSeen(snapshot.items);
    const unread = unreadIn(snapshot.items, this.#seenId);
    const isOpen = snapshot.run !== null || snapshot.isWaiting || unread > 0;
    const { threadId, itemId, isOpen: was } = client.seen ?? {};
    if (threadId !== snapshot.threadId || itemId !== this.#seenId || was !== isOpen)
      client.seen = { threadId: snapshot.threadId, itemId: this.#seenId, isOpen };
    if (isShown) this.#threads?.look(snapshot, this.#seenId);
    else this.#leave();
    this.#ownUnread = unread;
    this.#showUnread();
  };

  /** Counts what is unread in the user's other conversations, too. */
  #countAll(read?: ChatSnapshot): void {
    const client = this.#client;
    if (!client || this.#threads) return;
    void import("./unread-threads.ts").then(
      ({ UnreadThreads }) => {
        if (this.#threads || client !== this.#client || !this.isConnected) return;
        const isLive = () => this.#chat?.snapshot.connection.status === "open";
        this.#threads = new UnreadThreads(client, () => this.#showUnread(), isLive, this.sessionId);
        if (read) this.#threads.look(read, lastSeen(read.items), 0);
        this.#count(); // that conversation shows still, perhaps, and has gone on
      },
      () => {},
    );
  }

  /** The reader leaves the conversation, or has left it: if nothing has come since it showed, all of it is read. */
  #leave(): void {
    const { snapshot } = this;
    this.#threads?.leave();
    if (!snapshot || lastSeen(snapshot.items) !== this.#seenId) return;
    this.#threads?.look(snapshot, this.#seenId, 0); // its run has ended since, perhaps
    this.#countAll(snapshot);
  }

  #showUnread(): void {
    const own = this.#ownUnread;
    const { total: count, beside } = this.#threads?.count(this.snapshot, own) ?? { total: own, beside: 0 };
    this.unreadBeside = beside;
    if (count === this.unread) return;
    this.unread = count;
    this.#tell("baton-unread", { count });
  }

  #use(chat: Chat): void {
    this.#end();
    this.#chat = chat;
    chat.isShown = this.#isShown;
    this.ui = { ...this.ui, chat };
    this.snapshot = chat.snapshot;
    let wasLive = false;
    const seen = this.#client?.seen;
    this.#seenId = seen?.threadId === chat.threadId ? seen.itemId : null;
    chat.on("change", (snapshot) => {
      if (this.#chat !== chat) return;
      const isLive = snapshot.connection.status === "open";
      if (isLive && !wasLive) void this.#threads?.read(); // no event has reported changes meanwhile
      wasLive = isLive;
      this.#redrawing.ask();
      if (snapshot.workflow) this.#leftAfter = lastSaid(snapshot);
      if (snapshot.run) this.problem = "";
      this.#tell("baton-change", snapshot);
    });
    chat.on("event", (event) => this.#tell("baton-event", event));
    chat.on("thread", (update) => {
      this.#threads?.heard(update);
      this.#list?.take(update);
    });
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
      if (error.code !== "client_tool_failed") this.problem = explain(this.ui.locale, error); // the agent gets that one
      this.#tell("baton-error", error);
    });
    chat.on("logout", () => this.#signedOut());
    chat.on("deleted", () => void this.#show(undefined, { isWanted: false }));
    chat.on("tokenerror", (error) => this.#tell("baton-token-error", error));
    chat.on("userchange", () => {
      this.#end();
      void this.#started();
    });
    chat.start();
    void loadMarkdown().catch(() => {});
  }

  #redraw(): void {
    if (!this.#chat) return;
    this.snapshot = this.#chat.snapshot;
    this.#count();
    // A first answer does not wait for it.
    const { isLoaded, items, run } = this.snapshot;
    const isWorthIt = isLoaded && (items.length > 0 || this.sessionId == null);
    if (!this.#threads && isWorthIt && !run) setTimeout(() => this.#countAll(), COUNT_MS);
  }

  #end(): void {
    this.#starts += 1;
    this.#redrawing.cancel();
    this.#leave();
    this.#chat?.disconnect();
    this.#chat = null;
    this.problem = "";
    this.announced = "";
    this.snapshot = null;
    this.trouble = null;
    this.#leftAfter = null;
    this.#ownUnread = 0;
    this.#showUnread();
    if (this.ui.chat) this.ui = { ...this.ui, chat: null };
  }

  /** Speaks the language of the attribute, else of the page, also when that changes. */
  async #speak(): Promise<void> {
    const wanted = this.locale ?? this.closest("[lang]")?.getAttribute("lang") ?? navigator.language;
    if (wanted === this.#spoken) return;
    this.#spoken = wanted;
    if (this.#client) this.#client.locale = wanted;
    const locale = await loadLocale(wanted).catch(() => new Locale());
    if (wanted === this.#spoken) this.ui = { ...this.ui, locale };
  }
  #spoken: string | null = null;
  readonly #languages = new MutationObserver(() => void this.#speak());

  #tell<Name extends keyof BatonChatEvents>(name: Name, detail: BatonChatEvents[Name]): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  // What the user does

  /** Shows what was said, and lets the user write on: the button that said it may be gone. */
  readonly #said = (): void => {
    this.#transcript?.toEnd();
    this.#composer?.focus();
  };

  async #toggleList(): Promise<void> {
    this.isListing = !this.isListing;
    if (!this.isListing) {
      void this.#threads?.read(); // some may be deleted
      await this.updateComplete;
      this.#composer?.focus();
      return;
    }
    await import("./components/threads.ts").catch(() => {
      this.isListing = false;
    });
    await this.updateComplete;
    await this.#list?.updateComplete;
    this.#list?.focus();
  }

  #keyed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || isComposing(event)) return;
    event.stopPropagation();
    if (this.snapshot?.run && !this.snapshot.desk) this.#chat?.stop();
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

const TASK_ID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/;
/** Whether a call has begun work that goes on, perhaps: what came back names it. */
const hasTask = (item: Item): boolean => item.role === "tool" && TASK_ID.test(item.result ?? "");
const lastSaid = ({ items }: ChatSnapshot) => items.findLast(({ role }) => role === "user")?.id;

define("baton-chat", BatonChat);

declare global {
  interface HTMLElementTagNameMap {
    "baton-chat": BatonChat;
  }
}
