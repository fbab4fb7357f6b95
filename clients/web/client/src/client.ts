import { Api } from "./api.ts";
import { Chat, scopeOf } from "./chat.ts";
import { uuid } from "./clock.ts";
import { type KeyValueStore, SafeStore } from "./storage.ts";
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
}

const SESSION = "baton:session:";
const KEPT = "baton:";

/** A user's connection to Baton: conversations, and the HTTP API. */
export class BatonClient {
  readonly api: Api;
  readonly #socketUrl: string;
  readonly #tokens: TokenSource;
  readonly #store: SafeStore;

  constructor({ endpoint, socket, token, storage }: ClientOptions) {
    this.#tokens = new TokenSource(token);
    this.#store = new SafeStore(storage);
    this.api = new Api(endpoint, this.#tokens);
    this.#socketUrl = socket ?? `${this.api.endpoint.replace(/^http/, "ws")}/ws`;
  }

  /** A conversation: call `start()` on it. `threadId` is your own id of it, or one of `api.threads()`. */
  chat({ threadId = uuid(), agentId }: { threadId?: string; agentId?: string } = {}): Chat {
    const services = { api: this.api, socketUrl: this.#socketUrl, tokens: this.#tokens, store: this.#store };
    return new Chat({ threadId, ...(agentId !== undefined && { agentId }) }, services);
  }

  /** Who the token speaks for. Rejects with `TokenError`. */
  async identity(): Promise<Identity> {
    return identityOf(await this.#tokens.get());
  }

  /** The conversation that this user had last in this browser; a new one the first time. */
  async session(): Promise<string> {
    const key = await this.#sessionKey();
    const kept = this.#store.get(key);
    return kept ?? this.keepSession(uuid());
  }

  /** Makes `threadId` the conversation to come back to. */
  async keepSession(threadId: string): Promise<string> {
    this.#store.set(await this.#sessionKey(), threadId);
    return threadId;
  }

  /** Removes everything that is kept in this browser, of whichever user. Call it when somebody signs out. */
  forgetEverything(): void {
    for (const key of this.#store.keys(KEPT)) this.#store.remove(key);
    this.#tokens.discard();
  }

  async #sessionKey(): Promise<string> {
    const { tenant, user } = await this.identity();
    return SESSION + scopeOf(tenant, user);
  }
}
