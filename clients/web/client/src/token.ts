import { seconds } from "./clock.ts";
import { type BatonError, NetworkError, TokenError } from "./errors.ts";

/** Promises a token of the signed-in user; `signal` is aborted when nobody waits for it any more. */
export type TokenCallback = (signal: AbortSignal) => Promise<string> | string;

/** Who a token speaks for, as far as it says. */
export interface Identity {
  readonly tenant: string;
  readonly user: string;
}

const PATIENCE_SECONDS = 10;
const EARLY_SECONDS = 60;
/** Browsers keep delays in 32 bits of milliseconds. */
const LONGEST_SECONDS = 24 * 3600;
/** A token that was refused is hardly ever accepted later: the page has to give another one. */
export const REFUSED_SECONDS = 60;

/** Gives out a token that is good for a while yet; several who ask at once share one call of the callback. */
export class TokenSource {
  readonly #callback: TokenCallback;
  #token: string | null = null;
  #staleAt = 0;
  #pending: Promise<string> | null = null;
  #refusal: BatonError | null = null;
  #refusedUntil = 0;
  #checking: Promise<void> | null = null;

  constructor(token: string | TokenCallback) {
    this.#callback = typeof token === "string" ? () => token : token;
  }

  /** Seconds until a new token should be fetched; infinite where the token does not tell. */
  get freshSeconds(): number {
    return this.#staleAt - seconds();
  }

  /** A token. `renew` fetches another one than the last. Rejects with `TokenError`. */
  get({ renew = false } = {}): Promise<string> {
    if (!renew && this.#token !== null && this.freshSeconds > 0) return Promise.resolve(this.#token);
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  /** Forgets the token that was refused. */
  discard(): void {
    this.#token = null;
  }

  /** What the server has said against the newest token, for a while: nothing need be asked with it. */
  get refusal(): BatonError | null {
    return seconds() < this.#refusedUntil ? this.#refusal : null;
  }

  /** The server has accepted a token. */
  accept(): void {
    this.#refusal = null;
  }

  /**
   * Resolves once there is a newer token than `token`, which `error` refuses, and `check` was not refused with it.
   * Rejects with the refusal. Requests that were refused at the same time share the newer token and its check.
   */
  async replace(token: string, error: BatonError, check: (newer: string) => Promise<unknown>): Promise<void> {
    if (this.refusal) throw this.refusal;
    if (this.#checking === null && this.#token !== null && this.#token !== token) return;
    this.#checking ??= this.#replace(token, error, check).finally(() => {
      this.#checking = null;
    });
    await this.#checking;
    if (this.refusal) throw this.refusal;
  }

  async #replace(token: string, error: BatonError, check: (newer: string) => Promise<unknown>): Promise<void> {
    const newer = await this.get({ renew: true });
    const refusal =
      newer === token
        ? error
        : await check(newer).then(
            () => null,
            (answer: BatonError) => (answer.status === 401 ? answer : null),
          );
    this.#refusal = refusal;
    this.#refusedUntil = seconds() + REFUSED_SECONDS;
  }

  async #fetch(): Promise<string> {
    const asking = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = `The token callback took over ${PATIENCE_SECONDS} seconds.`;
        reject(new TokenError(message, new NetworkError(message)));
      }, PATIENCE_SECONDS * 1000);
    });
    try {
      const token = await Promise.race([Promise.resolve(this.#callback(asking.signal)), tooLong]);
      if (typeof token !== "string" || token.trim() === "") throw new TokenError("The token callback gave no token.");
      this.#token = token.trim();
      this.#staleAt = seconds() + lifetime(this.#token);
      return this.#token;
    } catch (error) {
      asking.abort();
      if (error instanceof TokenError) throw error;
      throw new TokenError("The token callback failed.", error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** What the token says of whom it speaks for; "anonymous" where it cannot be read. Nothing is verified here. */
export function identityOf(token: string): Identity {
  const { tenant, iss, sub } = claimsOf(token);
  return { tenant: String(tenant ?? iss ?? ""), user: typeof sub === "string" ? sub : "anonymous" };
}

/** Seconds that a new token may be used for. A wall clock that is wrong must not make every token look old. */
function lifetime(token: string): number {
  const { exp, iat } = claimsOf(token);
  if (typeof exp !== "number") return LONGEST_SECONDS;
  const left = exp - Date.now() / 1000;
  const whole = typeof iat === "number" ? exp - iat : Number.POSITIVE_INFINITY;
  const usable = left > 0 ? Math.min(left, whole) : whole;
  if (!Number.isFinite(usable)) return LONGEST_SECONDS;
  return Math.min(Math.max(usable - Math.min(EARLY_SECONDS, usable / 4), 1), LONGEST_SECONDS);
}

function claimsOf(token: string): Record<string, unknown> {
  try {
    const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
