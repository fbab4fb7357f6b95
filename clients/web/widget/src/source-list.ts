import type { Source } from "#client";
import type { Locale } from "./locales/index.ts";
import { nameOf } from "./sources.ts";

/** Sources as a list shows them: those that are cited by number first, in their order, and others once for each name. */
export function listed(
  sources: readonly Source[],
  say: Locale["say"],
): { source: Source; name: string; number: number }[] {
  const found = new Map<string, { source: Source; name: string; number: number }>();
  for (const source of sources) {
    const name = nameOf(source, say);
    const number = source.places?.length ? (source.number ?? 0) : 0;
    const key = `${source.kind} ${name} ${number}`;
    if (!found.has(key)) found.set(key, { source, name, number });
  }
  return [...found.values()].sort(
    (one, other) => (one.number || Number.MAX_SAFE_INTEGER) - (other.number || Number.MAX_SAFE_INTEGER),
  );
}
