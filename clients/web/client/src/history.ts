import type { Api } from "./api.ts";
import type { Conversation } from "./conversation.ts";
import { BatonError } from "./errors.ts";
import type { Sequence } from "./sequence.ts";

export const LOAD_AGAIN_MS = 2_000;
const PAGE_SIZE = 50;
/** Events that are told again when a conversation is opened: they have what messages lack. */
const RECENT_EVENTS = 300;
const PROBE_MS = 3_000;

/** What is known of conversations before they are asked for. */
export interface Known {
  has(threadId: string): boolean;
  add(threadId: string): void;
  remove(threadId: string): void;
}

export interface HistoryHost {
  readonly threadId: string;
  readonly api: Api;
  readonly talk: Conversation;
  readonly sequence: Sequence;
  readonly known: Known;
  readonly ended: AbortSignal;
  /** The messages are there; what else is stored may be read. */
  readonly loaded: () => void;
  /** The events after those that were loaded are wanted. */
  readonly resume: () => void;
  readonly failed: (error: BatonError) => void;
  readonly changed: () => void;
}

/** What was said before: whether there is something, its newest messages, and page after page the older ones. */
export class History {
  readonly #host: HistoryHost;
  #cursor: string | null = null;
  /** The id that the server gives the conversation. */
  canonicalId: string | null = null;
  /** The stored messages are there, as far as they were asked for. */
  isLoaded = false;
  /** The server has this conversation. */
  isKnown = false;
  isLoadingOlder = false;
  /** It is being found out over the connection whether the server has this conversation. */
  isProbing = false;
  /** Nobody is signed in, or the token is refused: it is loaded when there is a connection. */
  isStuck = false;
  /** Events came before the messages that they follow. */
  missedEvents = false;
  /** Events up to this one are told again: nobody is told what they say. */
  newsFrom = 0;

  constructor(host: HistoryHost) {
    this.#host = host;
  }

  get hasOlder(): boolean {
    return this.#cursor !== null;
  }

  /** Loads the page of messages before those that are there. */
  async loadOlder(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === null || this.isLoadingOlder) return;
    this.isLoadingOlder = true;
    this.#host.changed();
    try {
      const page = await this.#host.api.messages(this.#host.threadId, { limit: PAGE_SIZE, cursor });
      this.#host.talk.merge(page.items);
      this.#cursor = page.nextCursor;
    } catch (error) {
      if (!this.#host.ended.aborted) this.#host.failed(error as BatonError);
    } finally {
      this.isLoadingOlder = false;
      this.#host.changed();
    }
  }

  /** Finds out over the connection whether there is something to load. */
  probe(): void {
    this.isProbing = true;
    setTimeout(() => {
      if (!this.isProbing) return;
      this.isProbing = false; // there is no connection, or it is slow
      if (!this.isLoaded) void this.load();
    }, PROBE_MS);
  }

  /** Nothing was said yet. */
  async begun(): Promise<void> {
    if (this.#host.ended.aborted) return;
    this.#host.known.remove(this.#host.threadId);
    this.#host.talk.drop((item) => item.ordinal !== undefined);
    await this.#offerUnfinished();
    this.#loaded();
  }

  async load(): Promise<void> {
    const { ended: signal } = this.#host;
    if (signal.aborted) return;
    this.isStuck = false;
    try {
      const [thread, page] = await Promise.all([
        this.#host.api.thread(this.#host.threadId),
        this.#host.api.messages(this.#host.threadId, { limit: PAGE_SIZE }),
      ]);
      if (this.isLoaded || signal.aborted) return;
      this.canonicalId = thread.id;
      this.#host.talk.merge(page.items);
      this.#host.talk.title = thread.title ?? null;
      this.#host.talk.mainId = thread.agentId;
      this.#host.talk.state = thread.state ?? this.#host.talk.state;
      this.#host.talk.historySeq = thread.lastSeq;
      this.#host.talk.openRunId = thread.run?.runId ?? null;
      if (thread.run?.status === "running")
        this.#host.talk.run = { runId: thread.run.runId, messageId: thread.run.messageId };
      this.#cursor = page.nextCursor;
      this.newsFrom = Math.max(this.newsFrom, thread.lastSeq);
      // A run under way is no message yet: it is told from its beginning.
      this.#host.sequence.startAfter(Math.max(0, Math.min(thread.lastSeq, page.lastSeq) - RECENT_EVENTS));
      this.isKnown = true;
      this.#host.known.add(this.#host.threadId);
      this.#host.loaded();
    } catch (error) {
      if (signal.aborted || this.isLoaded) return;
      if (!(error instanceof BatonError) || error.status !== 404) {
        const isRefused =
          error instanceof BatonError && error.status !== undefined && !error.retryable && error.status !== 401;
        const { code, status } = error as BatonError;
        if (code === "signed_out" || status === 401) this.isStuck = true;
        else if (isRefused) this.#host.failed(error);
        else setTimeout(() => void this.load(), LOAD_AGAIN_MS);
        return;
      }
      return await this.begun();
    }
    this.#loaded();
  }

  #loaded(): void {
    if (this.#host.ended.aborted || this.isLoaded) return;
    this.isLoaded = true;
    this.isProbing = false;
    if (this.isKnown || this.missedEvents) this.#host.resume();
    this.#host.changed();
  }

  /** The conversation goes on in another branch: its newest messages take the place of those that were shown. */
  async readAgain(): Promise<void> {
    this.#host.talk.isCut = false;
    try {
      const page = await this.#host.api.messages(this.#host.threadId, { limit: PAGE_SIZE });
      this.#host.talk.merge(page.items);
      this.#cursor = page.nextCursor;
    } catch {
      if (!this.#host.ended.aborted) setTimeout(() => void this.readAgain(), LOAD_AGAIN_MS);
    }
    this.#host.changed();
  }

  /** What was left unfinished elsewhere can go on in a conversation that has not begun. */
  async #offerUnfinished(): Promise<void> {
    const { items } = await this.#host.api.workflows().catch(() => ({ items: [] }));
    this.#host.talk.unfinished = items;
  }

  /** The server has forgotten this conversation: it will count from the beginning. */
  forgotten(): void {
    this.#host.sequence.startAfter(0);
    this.isKnown = false;
    this.isLoaded = false;
    void this.begun();
  }
}
