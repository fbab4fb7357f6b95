import { bytesOf } from "./clock.ts";
import type { SafeStore } from "./storage.ts";
import type { ClientFrame } from "./wire.ts";

/** A connection carries frames up to this size; what is larger goes by HTTP. */
export const FRAME_BYTES = 28 * 1024;
const KEPT_MS = 24 * 3600 * 1000;
const PREFIX = "baton:outbox:";

export const fits = (frame: ClientFrame): boolean => bytesOf(frame) <= FRAME_BYTES;

/**
 * What was said and may not have reached the server. Messages outlive the page, each under a key of its own, so that
 * tabs do not overwrite each other's; their ids make sure that each is answered once, whoever sends it again.
 */
export class Outbox {
  readonly #store: SafeStore;
  #prefix: string | null = null;
  readonly #frames = new Map<string, { frame: ClientFrame; untilArrived: boolean }>();

  constructor(store: SafeStore) {
    this.#store = store;
  }

  /** Keeps messages under `scope`, the user and the conversation, from now on; returns those that were kept there. */
  keepUnder(scope: string): ClientFrame[] {
    const prefix = `${PREFIX}${scope}:`;
    const found: ClientFrame[] = [];
    this.#prefix = prefix;
    for (const [key, { frame }] of this.#frames) this.#keep(key, frame);
    const kept = this.#store.keys(prefix).map((key) => ({ key, ...entryOf(this.#store.get(key)) }));
    for (const { key, frame, at } of kept.sort((a, b) => a.at - b.at)) {
      const id = key.slice(prefix.length);
      if (!frame || Date.now() - at > KEPT_MS) this.#store.remove(key);
      else if (!this.#frames.has(id)) {
        this.#frames.set(id, { frame, untilArrived: false });
        found.push(frame);
      }
    }
    return found;
  }

  get frames(): ClientFrame[] {
    return [...this.#frames.values()].map(({ frame }) => frame);
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
  }

  /** Everything that was sent has reached the server. */
  arrived(): void {
    for (const [key, { untilArrived }] of this.#frames) if (untilArrived) this.#frames.delete(key);
  }

  clear(): void {
    for (const key of [...this.#frames.keys()]) this.done(key);
  }

  #keep(key: string, frame: ClientFrame): void {
    if (this.#prefix === null || frame.action !== "message" || !fits(frame)) return;
    this.#store.set(this.#prefix + key, JSON.stringify({ frame, at: Date.now() }));
  }
}

function entryOf(text: string | null): { frame: ClientFrame | null; at: number } {
  try {
    const { frame, at } = JSON.parse(text ?? "null") as { frame: ClientFrame; at: number };
    const isWhole = typeof frame?.action === "string" && typeof frame.messageId === "string" && typeof at === "number";
    return isWhole ? { frame, at } : { frame: null, at: 0 };
  } catch {
    return { frame: null, at: 0 };
  }
}
