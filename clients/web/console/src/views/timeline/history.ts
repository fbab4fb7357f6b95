import type { Page } from "../../api/console-api.ts";
import { type Item, inOrder } from "./items.ts";

/** Reads pages of one list, newest first. */
export type ReadItems = (cursor: string | null, signal: AbortSignal) => Promise<Page<Item>>;

interface Source {
  readonly read: ReadItems;
  cursor: string | null;
  isDone: boolean;
  /** The time of the oldest item read; what is older may be missing. */
  reachesTo: number;
}

/** Pages without anything on them that are read for one call. */
const MAX_EMPTY_PAGES = 20;

/**
 * A conversation's items from several lists, each read newest first, as one list in order of time.
 *
 * Items older than what every list has been read to are kept back, so that the list has no holes: it only grows at its
 * old end, by `older`, and at its new end, by `refresh`.
 */
export class History {
  readonly #sources: readonly Source[];
  readonly #items = new Map<string, Item>();
  #sorted: readonly Item[] | null = null;

  constructor(readers: readonly ReadItems[]) {
    this.#sources = readers.map((read) => ({ read, cursor: null, isDone: false, reachesTo: Number.POSITIVE_INFINITY }));
  }

  /** All items without holes, oldest first. */
  get items(): readonly Item[] {
    if (this.#sorted === null) {
      const from = this.#reachesTo;
      this.#sorted = [...this.#items.values()].filter((each) => each.at >= from).sort(inOrder);
    }
    return this.#sorted;
  }

  /** Whether everything has been read. */
  get isWhole(): boolean {
    return this.#sources.every((each) => each.isDone);
  }

  /** Reads on in the lists that hold the others back, until there are older items or all is read. */
  async older(signal: AbortSignal): Promise<void> {
    const before = this.items.length;
    for (let pages = 0; pages < MAX_EMPTY_PAGES && !this.isWhole; pages++) {
      const behind = this.#sources.filter((each) => !each.isDone && each.reachesTo >= this.#reachesTo);
      await Promise.all(behind.map((each) => this.#readOn(each, signal)));
      if (this.items.length > before) return;
    }
  }

  /** Reads the newest pages of every list again, back to what is known. Items that were changed are replaced. */
  async refresh(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#sources.map((each) => this.#readNews(each, signal)));
  }

  /** Adds items, or replaces those with the same key. */
  put(items: readonly Item[]): void {
    for (const each of items) this.#items.set(each.key, each);
    this.#sorted = null;
  }

  /** Removes what was only known from events, and is on record under its own key by now. */
  drop(keys: Iterable<string>): void {
    for (const key of keys) this.#items.delete(key);
    this.#sorted = null;
  }

  /** Reads back until the item is there; null if it is nowhere in so many pages. */
  async find(key: string, signal: AbortSignal, maxPages = 200): Promise<Item | null> {
    for (let pages = 0; ; pages++) {
      const found = this.items.find((each) => each.key === key);
      if (found) return found;
      if (this.isWhole || pages >= maxPages) return null;
      await this.older(signal);
    }
  }

  get #reachesTo(): number {
    return Math.max(
      Number.NEGATIVE_INFINITY,
      ...this.#sources.filter((each) => !each.isDone).map((each) => each.reachesTo),
    );
  }

  async #readNews(source: Source, signal: AbortSignal): Promise<void> {
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_EMPTY_PAGES; pages++) {
      const page: Page<Item> = await source.read(cursor, signal);
      const meetsKnown = page.items.some((each) => this.#items.has(each.key) && each.at >= this.#reachesTo);
      this.put(page.items);
      cursor = page.nextCursor;
      if (meetsKnown || cursor === null) return;
    }
  }

  async #readOn(source: Source, signal: AbortSignal): Promise<void> {
    const page = await source.read(source.cursor, signal);
    source.cursor = page.nextCursor;
    source.isDone = page.nextCursor === null;
    // Not by the last item alone: lists are ordered by what they are keyed with, which is nearly the time.
    source.reachesTo = Math.min(source.reachesTo, ...page.items.map((each) => each.at));
    this.put(page.items);
  }
}
