import type { Source } from "#client";
import type { Locale } from "./locales/index.ts";

/** Where in its document a passage stands; empty for others. */
export const placeOf = ({ page, section }: Source, say: Locale["say"]): string =>
  page ? say("page", { page }) : (section ?? "");

/** A source in a few words: its title, and where in it the passage stands. */
export const nameOf = (source: Source, say: Locale["say"]): string =>
  [source.title ?? source.id, placeOf(source, say)].filter(Boolean).join(", ");

/** The address of a source, if it is one of a web page: others are not followed. */
export const addressOf = ({ url }: Source): string | null => (/^https?:\/\//i.test(url ?? "") ? (url ?? null) : null);

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
