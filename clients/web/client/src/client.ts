import { Api } from "./api.ts";
import { Chat, scopeOf } from "./chat.ts";
import { uuid } from "./clock.ts";
import { forgetPreviews } from "./files.ts";
import type { Known } from "./history.ts";
import { type ClientTool, type ContextSource, Offer } from "./offer.ts";
import { type KeyValueStore, SafeStore } from "./storage.ts";
import { tellTabs } from "./tabs.ts";
import { type Identity, identityOf, type TokenCallback, TokenSource } from "./token.ts";

export interface ClientOptions {
  /** Where the HTTP API is: the stack's output `RestUrl`, locally `http://127.0.0.1:8080`. */
  readonly endpoint: string;
  /** Where the WebSocket API is: the stack's output `WebSocketUrl`; by default `/ws` of the endpoint. */
  readonly socket?: string;
  /** A token, or better what fetches one: it is called again before a token ends, and when one was refused. */
  readonly token: string | TokenCallback;
  /** Where messages that were not sent yet, and the session's id, are kept; by default local storage, `null`: nowhere. */
  readonly storage?: KeyValueStore | null;
  /** Tools of the page that agents may call. */
  readonly tools?: readonly ClientTool[];
  /** What the page shows or knows, for the agents; a function is called for every message. */
  readonly context?: ContextSource;
  /** The language of the page, such as `de-AT`: desks speak it to users whose token has no claim `locale`. */
  readonly locale?: string;
}

/** Where a reader is in a conversation. */
export interface Seen {
  readonly threadId: string;
  readonly itemId: string;
  /** Something is awaited, or was not read yet. */
  readonly isOpen: boolean;
}

const SEEN = "baton:seen";
const KNOWN = "baton:known";
const MOST_KNOWN = 50;
const SESSION = "baton:session:";
const KEPT = "baton:";

/** A user's connection to Baton: conversations, and the HTTP API. */
export class BatonClient {
  readonly api: Api;
  readonly #socketUrl: string;
  readonly #tokens: TokenSource;
  readonly #store: SafeStore;
  readonly #offer = new Offer();
  /** Ids that were made here, under which nothing was said yet. */
  readonly #fresh = new Set<string>();

  constructor({ endpoint, socket, token, storage, tools = [], context = [], locale }: ClientOptions) {
    this.#tokens = new TokenSource(token);
    this.#store = new SafeStore(storage);
    this.api = new Api(endpoint, this.#tokens);
    this.#socketUrl = socket ?? `${this.api.endpoint.replace(/^http/, "ws")}/ws`;
    this.tools = tools;
    this.context = context;
    this.locale = locale;
  }

  /** Tools of the page that agents may call. Setting them throws `TypeError` for one that is not well-formed. */
  get tools(): readonly ClientTool[] {
    return this.#offer.tools;
  }

  set tools(tools: readonly ClientTool[]) {
    this.#offer.tools = tools;
  }

  /** What the page shows or knows, told to the agents with every message. */
  get context(): ContextSource {
    return this.#offer.context;
  }

  set context(context: ContextSource) {
    this.#offer.context = context;
  }

  /** The page's language, which is sent with every message; `undefined` if the text was no language tag. */
  get locale(): string | undefined {
    return this.#offer.locale;
  }

  set locale(tag: string | undefined) {
    this.#offer.locale = tag;
  }

  /** A conversation: call `start()` on it. `threadId` is your own id of it, or one of `api.threads()`. */
  chat({ threadId = this.#newId(), agentId }: { threadId?: string; agentId?: string } = {}): Chat {
    const services = {
      api: this.api,
      socketUrl: this.#socketUrl,
      tokens: this.#tokens,
      store: this.#store,
      offer: this.#offer,
      known: this.#known,
      forget: () => this.#forget(),
    };
    const isNew = this.#fresh.has(threadId);
    return new Chat({ threadId, isNew, ...(agentId !== undefined && { agentId }) }, services);
  }

  /** Who the token speaks for. Rejects with `TokenError`. */
  async identity(): Promise<Identity> {
    return identityOf(await this.#tokens.get());
  }

  /** The conversation that this user had last in this browser; a new one the first time. */
  async session(): Promise<string> {
    const key = await this.#sessionKey();
    const kept = this.#store.get(key);
    return kept ?? this.keepSession(this.#newId());
  }

  /** Makes `threadId` the conversation to come back to. */
  async keepSession(threadId: string): Promise<string> {
    this.#store.set(await this.#sessionKey(), threadId);
    return threadId;
  }

  /** Deletes a conversation, everywhere and for good; chats that show it, in all tabs, are told. */
  async delete(threadId: string): Promise<void> {
    await this.api.forget(threadId);
    this.#known.remove(threadId);
    tellTabs({ kind: "deleted", threadId });
  }

  /** What the reader has seen of the conversation that was shown last, over page loads. */
  get seen(): Seen | null {
    try {
      const seen = JSON.parse(this.#store.get(SEEN) ?? "null") as Seen | null;
      return typeof seen?.threadId === "string" && typeof seen.itemId === "string" ? seen : null;
    } catch {
      return null;
    }
  }

  set seen(seen: Seen | null) {
    if (seen) this.#store.set(SEEN, JSON.stringify(seen));
    else this.#store.remove(SEEN);
  }

  /** Removes everything that is kept in this browser, of whichever user, in all tabs. Call it when somebody signs out. */
  forgetEverything(): void {
    this.#forget();
    tellTabs({ kind: "logout" });
  }

  #forget(): void {
    forgetPreviews();
    for (const key of this.#store.keys(KEPT)) this.#store.remove(key);
    this.#store.forgetMemory();
    this.#tokens.discard();
  }

  #newId(): string {
    const id = uuid();
    this.#fresh.add(id);
    return id;
  }

  /** Conversations that the server had when this browser asked last: those can be loaded without finding out. */
  readonly #known: Known = {
    has: (id) => this.#knownIds().includes(id),
    add: (id) => {
      this.#fresh.delete(id);
      const ids = this.#knownIds();
      if (!ids.includes(id)) this.#store.set(KNOWN, JSON.stringify([id, ...ids].slice(0, MOST_KNOWN)));
    },
    remove: (id) => {
      const ids = this.#knownIds();
      if (ids.includes(id)) this.#store.set(KNOWN, JSON.stringify(ids.filter((each) => each !== id)));
    },
  };

  #knownIds(): string[] {
    try {
      const ids: unknown = JSON.parse(this.#store.get(KNOWN) ?? "[]");
      return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
    } catch {
      return [];
    }
  }

  async #sessionKey(): Promise<string> {
    const { tenant, user } = await this.identity();
    return SESSION + scopeOf(tenant, user);
  }
}
