import type { ConsoleApi } from "../../api/console-api.ts";
import { eventsOf } from "../../api/events.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { visible, watchReader } from "../../api/readers.ts";
import type { DeskItem } from "./desk-api.ts";

const AFTER_FAILURE_MS = 3_000;
/** The token or its permissions do not allow it. */
const ENDS = new Set([401, 403]);

/** All conversations that are there. */
interface Listed {
  readonly threadIds: readonly string[];
}

/** What has changed. */
export interface FeedChange {
  readonly items: readonly DeskItem[];
  /** The item before; null for one that has come. */
  readonly before: DeskItem | null;
  /** Null: the conversation has left. */
  readonly item: DeskItem | null;
}

/** Follows the conversations at the desks of the person who is signed in. */
export class DeskFeed {
  readonly #api: ConsoleApi;
  readonly #alerts: () => boolean;
  readonly #items = new Map<string, DeskItem>();
  #lastId = "-";

  /** `alerts()` is whether the person wants to hear of changes while the page is hidden. */
  constructor(api: ConsoleApi, alerts: () => boolean) {
    this.#api = api;
    this.#alerts = alerts;
  }

  /** All items; those that came first are first. */
  get items(): readonly DeskItem[] {
    return [...this.#items.values()];
  }

  /**
   * Tells every change until `signal` is aborted. A page that has been hidden for minutes rests, unless it alerts, and
   * hears of what has changed meanwhile when it is shown. `live` hears whether the connection stands, and the problem that ends
   * it for good.
   */
  async follow(
    changed: (change: FeedChange) => void,
    live: (isLive: boolean, problem: Problem | null) => void,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      if (!this.#alerts()) await visible(signal);
      const reading = watchReader(signal, this.#alerts);
      try {
        const headers = { "Last-Event-ID": this.#lastId };
        const answer = await this.#api.send(["desk", "events"], { headers, signal: reading.signal });
        live(true, null);
        for await (const { id, data } of eventsOf(answer)) {
          this.#lastId = id ?? this.#lastId;
          if (data.name === "desk_changed")
            changed(this.take(data.value as { threadId: string; item: DeskItem | null }));
          if (data.name === "desk_listed") for (const change of this.keep(data.value as Listed)) changed(change);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (reading.signal.aborted) continue;
        if (isAborted(error)) return;
        const problem = problemOf(error);
        live(false, ENDS.has(problem.status) ? problem : null);
        if (ENDS.has(problem.status)) return;
        await new Promise((resolve) => setTimeout(resolve, AFTER_FAILURE_MS));
      } finally {
        reading.end();
      }
    }
  }

  /** Drops the conversations that a list does not name: they have left. */
  keep({ threadIds }: Listed): FeedChange[] {
    const present = new Set(threadIds);
    return [...this.#items.keys()]
      .filter((threadId) => !present.has(threadId))
      .map((threadId) => this.take({ threadId, item: null }));
  }

  /** Takes one change. */
  take({ threadId, item }: { threadId: string; item: DeskItem | null }): FeedChange {
    const before = this.#items.get(threadId) ?? null;
    if (item) this.#items.set(threadId, item);
    else this.#items.delete(threadId);
    return { items: this.items, before, item };
  }
}

export type Show = "waiting" | "mine" | "all";

/** Returns the items of a list; who has waited longest for an answer is first. */
export function shownItems(items: readonly DeskItem[], show: Show, deskId: string, personId: string): DeskItem[] {
  return items
    .filter((each) => !deskId || each.deskId === deskId)
    .filter((each) => isIn(each, show, personId))
    .sort((one, other) => waitsSince(one) - waitsSince(other));
}

export function isIn(item: DeskItem, show: Show, personId: string): boolean {
  if (show === "waiting") return item.status === "waiting";
  return show === "all" || item.person?.id === personId;
}

/** Since when somebody waits for a person: one whom nobody has to answer comes after all who wait. */
export function waitsSince(item: DeskItem): number {
  if (item.status === "waiting") return Date.parse(item.since);
  return item.unansweredSince ? Date.parse(item.unansweredSince) : Number.MAX_SAFE_INTEGER;
}

/** Returns a time that has passed, such as `3 min`. */
export function passed(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 1) return "< 1 min";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d`;
}
