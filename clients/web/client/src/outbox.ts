import { bytesOf } from "./clock.ts";
import type { SafeStore } from "./storage.ts";
import { alone } from "./tabs.ts";
import { type ClientFrame, isContent } from "./wire.ts";

/** A connection carries frames up to this size; what is larger goes by HTTP. */
export const FRAME_BYTES = 28 * 1024;
const KEPT_MS = 24 * 3600 * 1000;
const PREFIX = "baton:outbox:";

export const fits = (frame: ClientFrame): boolean => bytesOf(frame) <= FRAME_BYTES;

/**
 * What was said and may not have reached the server. Messages and answers outlive the page, each under a key of its own,
 * so that tabs do not overwrite each other's. The tab that said something sends it; when it is gone, another one does.
 */
export class Outbox {
  readonly #store: SafeStore;
  readonly #ended: AbortSignal;
  #prefix: string | null = null;
  readonly #frames = new Map<string, { frame: ClientFrame; untilArrived: boolean }>();
  readonly #releases = new Map<string, () => void>();

  constructor(store: SafeStore, ended: AbortSignal) {
    this.#store = store;
    this.#ended = ended;
  }

  /** Keeps what is said under `scope`, the user and the conversation, from now on; returns what was kept there. */
  keepUnder(scope: string): { key: string; frame: ClientFrame }[] {
    const prefix = `${PREFIX}${scope}:`;
    this.#prefix = prefix;
    for (const [key, { frame }] of this.#frames) this.#keep(key, frame);
    const kept = this.#store.keys(prefix).map((key) => ({ key, ...entryOf(this.#store.get(key)) }));
    return kept
      .sort((a, b) => a.at - b.at)
      .flatMap(({ key, frame, at }) => {
        const isGood = frame !== null && Date.now() - at <= KEPT_MS;
        if (!isGood) this.#store.remove(key);
        const id = key.slice(prefix.length);
        return isGood && !this.#frames.has(id) ? [{ key: id, frame }] : [];
      });
  }

  /** Takes over what another tab, or a page before this one, has said, once that is gone. */
  inherit(key: string, taken: (frame: ClientFrame) => void): void {
    const prefix = this.#prefix;
    if (prefix === null || this.#frames.has(key)) return;
    void alone(prefix + key, this.#ended, () => {
      const { frame } = entryOf(this.#store.get(prefix + key));
      if (!frame || this.#frames.has(key)) return; // it has arrived meanwhile
      this.#frames.set(key, { frame, untilArrived: false });
      taken(frame);
      return this.#gone(key);
    });
  }

  get frames(): ClientFrame[] {
    return [...this.#frames.values()].map(({ frame }) => frame);
  }

  get keys(): string[] {
    return [...this.#frames.keys()];
  }

  get(key: string): ClientFrame | undefined {
    return this.#frames.get(key)?.frame;
  }

  has(key: string): boolean {
    return this.#frames.has(key);
  }

  /** Keeps a message, or an answer, until `done(key)`: events tell that it was taken. */
  add(key: string, frame: ClientFrame): void {
    this.#frames.set(key, { frame, untilArrived: false });
    this.#keep(key, frame);
  }

  /** Keeps a wish that has no answer of its own until it has arrived. */
  wish(frame: ClientFrame): void {
    this.#frames.set(frame.action, { frame, untilArrived: true });
  }

  done(key: string): void {
    this.#frames.delete(key);
    if (this.#prefix !== null) this.#store.remove(this.#prefix + key);
    this.#releases.get(key)?.();
  }

  /** Everything that was sent has reached the server. */
  arrived(): void {
    for (const [key, { untilArrived }] of this.#frames) if (untilArrived) this.#frames.delete(key);
  }

  /** Keeps nothing any more beyond this page: its user has signed out. */
  forget(): void {
    this.#prefix = null;
    this.#frames.clear();
  }

  #keep(key: string, frame: ClientFrame): void {
    const isKept = frame.action === "message" || frame.action === "answer";
    if (this.#prefix === null || !isKept || !fits(frame)) return;
    this.#store.set(this.#prefix + key, JSON.stringify({ frame, at: Date.now() }));
    if (!this.#releases.has(key)) void alone(this.#prefix + key, this.#ended, () => this.#gone(key));
  }

  /** Until it has reached the server, or this page ends. */
  #gone(key: string): Promise<void> | void {
    if (!this.#frames.has(key)) return;
    return new Promise((resolve) => {
      const release = () => {
        this.#releases.delete(key);
        this.#ended.removeEventListener("abort", release);
        resolve();
      };
      this.#releases.set(key, release);
      this.#ended.addEventListener("abort", release);
    });
  }
}

function entryOf(text: string | null): { frame: ClientFrame | null; at: number } {
  try {
    const { frame, at } = JSON.parse(text ?? "null") as { frame: ClientFrame; at: number };
    const id = frame?.action === "answer" ? frame.interruptId : frame?.messageId;
    const isWhole = typeof frame?.action === "string" && typeof id === "string" && typeof at === "number";
    const isSayable = frame?.content === undefined || isContent(frame.content);
    return isWhole && isSayable ? { frame, at } : { frame: null, at: 0 };
  } catch {
    return { frame: null, at: 0 };
  }
}
