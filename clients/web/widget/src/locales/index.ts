import { en } from "./en.ts";
import type { later } from "./later.ts";

export type Sentence = keyof typeof en | keyof typeof later;
export type Catalogue = Readonly<Record<Sentence, string>>;

/** What is not English is loaded when it is wanted. */
const LOADERS: Readonly<Record<string, () => Promise<Catalogue>>> = {
  de: async () => (await import("./de.ts")).de,
  es: async () => (await import("./es.ts")).es,
  zh: async () => (await import("./zh.ts")).zh,
  ar: async () => (await import("./ar.ts")).ar,
};
const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);

/** Of a day six days from now at most, the name is unmistakable. */
const WEEK_MS = 6 * 24 * 3_600_000;

/** Embeddings, overrides and isolates of the bidirectional algorithm. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** The sentences, dates and numbers of one language. */
export class Locale {
  readonly tag: string;
  readonly #catalogue: Catalogue;

  constructor(tag = "en", catalogue = en as object as Catalogue) {
    this.tag = tag;
    this.#catalogue = catalogue;
  }

  get direction(): "ltr" | "rtl" {
    return RIGHT_TO_LEFT.has(languageOf(this.tag)) ? "rtl" : "ltr";
  }

  /** A sentence with its values, which cannot turn the direction of what stands around them. */
  readonly say = (sentence: Sentence, values: Readonly<Record<string, string | number>> = {}): string =>
    this.#catalogue[sentence].replace(/\{(\w+)\}/g, (whole, name: string) =>
      String(values[name] ?? whole).replace(TURNS, ""),
    );

  /** A date and a time; `long` is the form of dates in questions. */
  time(date: Date, dateStyle: "medium" | "long" = "medium"): string {
    return new Intl.DateTimeFormat(this.#dates, { dateStyle, timeStyle: "short" }).format(date);
  }

  /** A moment that comes soon: a day of this week by its name. */
  moment(date: Date): string {
    const isSoon = date.getTime() - Date.now() < WEEK_MS;
    const day = isSoon ? { weekday: "long" } : { weekday: "long", day: "numeric", month: "long" };
    return new Intl.DateTimeFormat(this.#dates, { ...day, hour: "2-digit", minute: "2-digit" } as object).format(date);
  }

  /** English is that of the United States only where the page says so, as in the server's texts. */
  get #dates(): string {
    return this.tag === "en" ? "en-GB" : this.tag;
  }
}

/** The language nearest to `wanted`, a BCP 47 tag; English where there is none. */
export async function loadLocale(wanted: string): Promise<Locale> {
  const tag = isTag(wanted) ? wanted : "en";
  const load = LOADERS[languageOf(tag)];
  if (!load) return new Locale(languageOf(tag) === "en" ? tag : "en");
  return new Locale(tag, await load());
}

const languageOf = (tag: string): string => tag.split("-")[0]?.toLowerCase() ?? "";

function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
