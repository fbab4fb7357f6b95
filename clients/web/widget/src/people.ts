import type { Branch, Item, MessageItem, Person } from "#client";

/** The address of a picture that may be shown: others are not loaded. */
export const pictureOf = (address: string | null | undefined): string | null =>
  address && /^(https:|\/)/.test(address) ? address : null;

export const initialOf = (name: string): string => [...name][0]?.toUpperCase() ?? "";

/** Whether the author stands above the message: where it is another one than before. */
export function isNamed(item: MessageItem, before: Item | undefined): boolean {
  return before?.role !== "assistant" || before.name !== item.name || idOf(before.author) !== idOf(item.author);
}

const idOf = (person: Person | undefined): string | undefined => person?.id;

/** The question that an answer completes: of several messages of one answer, only the last offers another. */
export function askedByOf(items: readonly Item[], index: number): string | null {
  const next = items[index + 1];
  if (next && next.role !== "user") return null;
  for (let at = index - 1; at >= 0; at--) {
    const item = items[at];
    if (item?.role === "user" && item.steered) continue; // its run answers the message before it
    if (item?.role === "user") return item.delivery || item.failed ? null : item.id;
  }
  return null;
}

/** Baton's tools that make and cancel reminders. */
const SCHEDULING = /^(cancel_)?schedule$/;

/**
 * The first item that can be answered again. Items up to the last words of a specialist or a person, or about a desk, cannot,
 * because their work has gone on since; nor can those before an approved call, a change of reminders or the begin of work in
 * the background, which would be made twice.
 */
export function repeatableFrom(items: readonly Item[], mainId: string | null): number {
  const isOfMain = (agentId: string | null | undefined) => agentId == null || mainId === null || agentId === mainId;
  const isFinal = (item: Item) =>
    item.role === "research"
      ? item.agents.some(({ progress, wasInBackground }) => wasInBackground || progress === "background")
      : item.role === "tool" &&
        (item.waits || SCHEDULING.test(item.name ?? "")) &&
        item.outcome !== "refused" &&
        !item.open;
  const done = items.findLastIndex(isFinal);
  const isOther = (item: Item) =>
    item.role === "assistant" && (item.author || item.isOfDesk || !isOfMain(item.agentId));
  const others = items.findLastIndex(isOther);
  return Math.max(done, others) + 1;
}

/** The alternatives that begin where this message of the user's stands. */
export function versionsOf(messageId: string, branches: readonly Branch[]): readonly Branch[] {
  const own = branches.find((branch) => branch.messageId === messageId);
  return own ? branches.filter(({ after }) => after === own.after) : NO_BRANCHES;
}

export const NO_BRANCHES: readonly Branch[] = [];
