import type { Failure } from "./items.ts";
import { type ClientFrame, isContent } from "./wire.ts";

/** What the tabs of one browser tell each other; `scope` is a user's conversation. */
export type News =
  | { readonly kind: "said"; readonly scope: string; readonly frame: ClientFrame }
  | { readonly kind: "refused"; readonly scope: string; readonly messageId: string; readonly failed: Failure }
  | { readonly kind: "withdrawn"; readonly scope: string; readonly messageId: string }
  /** The server has the conversation now. */
  | { readonly kind: "begun"; readonly scope: string }
  | { readonly kind: "deleted"; readonly threadId: string }
  | { readonly kind: "logout" };

const CHANNEL = "baton";

/** The other tabs of this browser that show pages of the same origin. Where there is no way to reach them, none. */
export class Tabs {
  readonly #channel = open();

  constructor(heard: (news: News) => void) {
    if (!this.#channel) return;
    this.#channel.onmessage = ({ data }) => {
      if (isNews(data)) heard(data);
    };
  }

  tell(news: News): void {
    this.#channel?.postMessage(news);
  }

  close(): void {
    this.#channel?.close();
  }
}

/** Tells all tabs once, where nothing is listened to. */
export function tellTabs(news: News): void {
  const channel = open();
  channel?.postMessage(news);
  channel?.close();
}

/** Whether this browser can keep tabs from doing the same thing twice: insecure and sandboxed pages cannot. */
export const canExclude = (): boolean => lockManager() !== undefined;

/**
 * Does `work` while no other tab of this browser does something of this name; after `signal` it is not begun any more.
 * `waited` tells that another tab has been at it before.
 */
export async function alone(
  name: string,
  signal: AbortSignal,
  work: (waited: boolean) => Promise<void> | void,
): Promise<void> {
  if (signal.aborted) return;
  const locks = lockManager();
  if (!locks) return await work(false);
  let isFree = true;
  await locks.request(name, { ifAvailable: true }, async (lock) => {
    isFree = lock !== null;
    if (isFree && !signal.aborted) await work(false);
  });
  if (isFree || signal.aborted) return;
  try {
    await locks.request(name, { signal }, () => work(true));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Pages without an origin of their own, as in sandboxed frames, have locks whose every request is refused. */
const lockManager = (): LockManager | undefined =>
  globalThis.origin === "null" ? undefined : globalThis.navigator?.locks;

function open(): BroadcastChannel | null {
  try {
    const channel = new BroadcastChannel(CHANNEL);
    (channel as { unref?: () => void }).unref?.(); // in Node, a channel keeps the process
    return channel;
  } catch {
    return null;
  }
}

/** Any script of the origin can write to the channel. */
function isNews(data: unknown): data is News {
  const { kind, scope, threadId, frame, messageId, failed } = (data ?? {}) as Record<string, unknown>;
  if (kind === "logout") return true;
  if (kind === "deleted") return typeof threadId === "string";
  if (typeof scope !== "string") return false;
  if (kind === "begun") return true;
  if (kind === "withdrawn") return typeof messageId === "string";
  if (kind === "refused") return typeof messageId === "string" && typeof (failed as Failure)?.text === "string";
  const { action, messageId: id, content } = (frame ?? {}) as Partial<ClientFrame>;
  const isSayable = content === undefined || isContent(content);
  return kind === "said" && action === "message" && typeof id === "string" && isSayable;
}
