import type { TokenCallback } from "#client";

/** Fetches tokens from a route of the page's own server: the token itself, or JSON with a field `token`. */
export function fetchToken(address: string): TokenCallback {
  return async (signal) => {
    const answer = await fetch(address, { signal, cache: "no-store", credentials: "same-origin" });
    const text = (await answer.text()).trim();
    const status = answer.ok && text.startsWith("<") ? 401 : answer.status; // a page to sign in with
    if (status > 299) throw Object.assign(new Error(`${address} answered ${answer.status}.`), { status });
    if (!text.startsWith("{")) return text;
    const { token } = JSON.parse(text) as { token?: unknown };
    return typeof token === "string" ? token : "";
  };
}
