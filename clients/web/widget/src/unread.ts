import type { Item } from "#client";

/** How many answers came after the item that was seen last. Where that is not there any more, nothing is known. */
export function unreadIn(items: readonly Item[], seenId: string | null): number {
  const seenAt = items.findLastIndex(({ id }) => id === seenId);
  if (seenAt < 0 && seenId !== "") return 0;
  return items.slice(seenAt + 1).filter(({ role, open }) => role === "assistant" && !open).length;
}

/** The last item that a reader has seen, if all that shows is before them: an answer that still streams is not seen yet. */
export function lastSeen(items: readonly Item[]): string {
  return items.findLast(({ role, open }) => !open && (role === "assistant" || role === "user"))?.id ?? "";
}
