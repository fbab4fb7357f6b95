import type { Locale } from "./locales/index.ts";

/** What went wrong, in words for users: of what passes by itself, servers say what programs do. */
export const explain = (say: Locale["say"], { code = "", message }: { code?: string; message: string }): string =>
  /^(store_unavailable|thread_busy|network_failed)$/.test(code) ? say("temporary") : message;
