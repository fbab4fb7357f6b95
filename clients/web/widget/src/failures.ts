import type { Locale } from "./locales/index.ts";

interface Trouble {
  readonly code?: string | undefined;
  readonly message: string;
  readonly resetsAt?: string | undefined;
}

/** What went wrong, in words for users: of what passes by itself, and of spending, servers say what programs do. */
export function explain(locale: Locale, { code = "", message, resetsAt }: Trouble): string {
  if (/^(store_unavailable|thread_busy|network_failed)$/.test(code)) return locale.say("temporary");
  const reset = new Date(code === "spending_limit_reached" ? (resetsAt ?? "") : "");
  return Number.isNaN(reset.getTime()) ? message : locale.say("spent", { percent: 100, time: locale.time(reset) });
}
