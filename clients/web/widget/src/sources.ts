import type { Source } from "#client";
import type { Locale } from "./locales/index.ts";

/** Where in its document a passage stands; empty for others. */
export const placeOf = ({ page, pageUnit = "page", section }: Source, say: Locale["say"]): string =>
  page ? say(pageUnit, { page }) : (section ?? "");

/** A source in a few words: its title, and where in it the passage stands. */
export const nameOf = (source: Source, say: Locale["say"]): string =>
  [source.title ?? source.id, placeOf(source, say)].filter(Boolean).join(", ");

/** The address of a source, if it is one of a web page: others are not followed. */
export const addressOf = ({ url }: Source): string | null => (/^https?:\/\//i.test(url ?? "") ? (url ?? null) : null);
