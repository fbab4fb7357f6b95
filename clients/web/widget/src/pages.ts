import type { Item } from "#client";

const LONGEST = 50;

/** A stretch of a conversation that is drawn as a whole; the same object as long as it looks the same. */
export interface Page {
  readonly key: string;
  /** Where it begins in the conversation. */
  readonly start: number;
  readonly items: readonly Item[];
  /** What stands next to it: whether an author is named depends on it, and on its role whether an answer is complete. */
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/**
 * Divides a conversation into pages, which begin where those of before did. Where items were only replaced, as by an
 * answer that grows, no page is looked into but those that have others now.
 */
export function pagesOf(items: readonly Item[], known: readonly Page[]): readonly Page[] {
  const last = known.at(-1);
  const count = last ? last.start + last.items.length : 0;
  const starts = count === items.length ? known.map(({ start }) => start) : startsOf(items, known);
  const byKey = new Map(known.map((page) => [page.key, page]));
  return starts.map((start, number) => {
    const end = starts[number + 1] ?? items.length;
    const old = count === items.length ? known[number] : byKey.get(items[start]?.id ?? "");
    const isSame = old !== undefined && old.items.length === end - start && areSame(old.items, items, start);
    const before = items[start - 1];
    const after = items[end];
    const isBetweenSame = old?.before === before && (old?.after === after || old?.after?.role === after?.role);
    if (isSame && old.start === start && isBetweenSame) return old;
    return { key: items[start]?.id ?? "", start, items: items.slice(start, end), before, after };
  });
}

function areSame(page: readonly Item[], items: readonly Item[], start: number): boolean {
  for (let at = 0; at < page.length; at++) if (page[at] !== items[start + at]) return false;
  return true;
}

/** What is put before the first page, or after a full one, becomes pages of its own. */
function startsOf(items: readonly Item[], known: readonly Page[]): number[] {
  const keys = new Set(known.map(({ key }) => key));
  const starts: number[] = [];
  items.forEach(({ id }, at) => {
    if (at === 0 || keys.has(id) || at - (starts.at(-1) ?? 0) >= LONGEST) starts.push(at);
  });
  return starts;
}
