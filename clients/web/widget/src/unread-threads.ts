import type { BatonClient, ChatSnapshot, ThreadUpdate } from "#client";

/** Conversations whose unread answers are counted: the most recently active ones. */
const MOST = 20;
/** An ordinal beyond the end of each conversation: all of it. */
const ALL = 10 ** 12;
/** How long an answer shows until it counts as read: one that nobody waited for, and one to the reader's message. */
const READ_MS = 2000;
const ASKED_READ_MS = 15_000;
/** The shortest pause between two requests for the numbers while there is no connection that brings them. */
const LOOK_MS = 600_000;
/** Events that show that somebody is at the page. */
const SIGNS = ["focus", "pointerdown", "keydown"] as const;

/** Unread answers of the user's conversations, as the server counts them, and the marker of what was read here. */
export class UnreadThreads {
  readonly #client: BatonClient;
  readonly #changed: () => void;
  readonly #isLive: () => boolean;
  readonly #sessionId: string | null | undefined;
  readonly #counts = new Map<string, number>();
  #threadId = "";
  #canonicalId: string | null = null;
  #markedId = "";
  #pendingId = "";
  /** Looks again at what shows, once the page has the focus. */
  #again: (() => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The newest marker's request: numbers that were asked for before its answer may be older than it. */
  #marking: Promise<unknown> = Promise.resolve();
  #readAt = 0;

  /**
   * `isLive` says whether there is a connection, which brings the numbers. While there is none, they are asked for when
   * somebody is at the page. With a `sessionId` only that conversation counts.
   */
  constructor(client: BatonClient, changed: () => void, isLive: () => boolean, sessionId?: string | null) {
    this.#client = client;
    this.#changed = changed;
    this.#isLive = isLive;
    this.#sessionId = sessionId;
    for (const sign of SIGNS) window.addEventListener(sign, this.#noticed, true);
    document.addEventListener("visibilitychange", this.#noticed);
    void this.read();
  }

  /** Asks for nothing any more. */
  end(): void {
    for (const sign of SIGNS) window.removeEventListener(sign, this.#noticed, true);
    document.removeEventListener("visibilitychange", this.#noticed);
  }

  /** Asks for the numbers: of one conversation, or of the most recently active ones. Without an answer they stay. */
  async read(): Promise<void> {
    this.#readAt = performance.now();
    const marking = this.#marking;
    await marking;
    const { api } = this.#client;
    const id = this.#sessionId;
    const items = await (id ? api.thread(id).then((one) => [one]) : this.#recent()).catch(() => null);
    if (marking !== this.#marking) return this.read();
    if (!items) return;
    this.#counts.clear();
    for (const { id, unread = 0 } of items) this.#counts.set(id, unread);
    this.#changed();
  }

  readonly #noticed = ({ type }: Event): void => {
    if (type === "focus") this.#again?.();
    if (document.visibilityState === "hidden" || this.#isLive()) return;
    if (performance.now() - this.#readAt > LOOK_MS) void this.read();
  };

  async #recent() {
    return (await this.#client.api.threads({ limit: MOST })).items;
  }

  heard({ threadId, unread }: ThreadUpdate): void {
    this.#counts.set(threadId, unread);
    this.#changed();
  }

  /** Unread answers of all conversations, and of those that do not show. The one that shows has at least `own`. */
  count(snapshot: ChatSnapshot | null, own: number): { readonly total: number; readonly beside: number } {
    const shown = [snapshot?.threadId, snapshot?.canonicalId];
    // A conversation at rest may have gone on: the server has counted what this page has not heard.
    const isResting = snapshot?.connection.status === "resting";
    let [inShown, beside] = [own, 0];
    for (const [id, count] of this.#counts)
      if (!shown.includes(id)) beside += count;
      else if (isResting) inShown = Math.max(inShown, count);
    return { total: inShown + beside, beside };
  }

  /** Looks at what shows, with the last item: what the reader has before them for a while, or leaves, is read. */
  look(snapshot: ChatSnapshot, seenId: string | null, after?: number): void {
    if (snapshot.threadId !== this.#threadId) {
      this.leave();
      this.#threadId = snapshot.threadId;
      this.#markedId = "";
    }
    this.#canonicalId = snapshot.canonicalId;
    const answer = snapshot.items.find(({ id, role }) => id === seenId && role === "assistant");
    const isKnown = answer?.id === this.#markedId || answer?.id === this.#pendingId;
    const isLive = snapshot.connection.status === "open";
    const isSettled = snapshot.run === null && !snapshot.isWaiting && snapshot.isKnown && isLive;
    if (!answer || isKnown || !isSettled) return;
    this.#again = () => this.look(snapshot, seenId);
    if (!document.hasFocus()) return;
    const isAsked = snapshot.items.some(({ role, runId }) => role === "user" && runId === answer.runId);
    this.#pendingId = answer.id;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.leave(), after ?? (isAsked ? ASKED_READ_MS : READ_MS));
  }

  /** Marks as read what shows, without waiting longer. */
  leave(): void {
    this.#again = null;
    clearTimeout(this.#timer);
    if (!this.#pendingId) return;
    this.#markedId = this.#pendingId;
    this.#pendingId = "";
    // All that the server has is here: the conversation is watched, and no run is in progress.
    const path = `/v1/threads/${encodeURIComponent(this.#threadId)}/read`;
    const marking = this.#client.api.request(path, { method: "PUT", body: { ordinal: ALL }, keepalive: true });
    this.#marking = marking.catch(() => {});
    // Another conversation shows already, perhaps, and nothing more is heard of this one.
    this.#counts.set(this.#canonicalId ?? this.#threadId, 0);
    this.#changed();
  }
}
