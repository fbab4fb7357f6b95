import type { KnownEvent } from "./wire.ts";

/** What an event says in the server's words that no message does. */
export function sentencesOf(event: KnownEvent): string[] {
  if (event.type === "RUN_ERROR") return [event.message];
  if (event.type === "ACTIVITY_SNAPSHOT") return event.content?.label ? [event.content.label] : [];
  if (event.type !== "ACTIVITY_DELTA") return [];
  const told = (event.patch ?? []).filter(({ path }) => path === "/label" || path === "/notice");
  return told.flatMap(({ value }) => (typeof value === "string" && value ? [value] : []));
}
