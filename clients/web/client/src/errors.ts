/** What went wrong, in the server's own words where it has some. */
export class BatonError extends Error {
  override readonly name: string = "BatonError";
  /** A stable name of the condition: a code of the server's (`rate_limited`), or one of this client's. */
  declare readonly code: string;
  /** Whether the same request may succeed later. */
  declare readonly retryable: boolean;
  /** The HTTP status, where there was an answer. */
  declare readonly status: number | undefined;
  /** Seconds after which the same request may succeed, where the server says so. */
  declare readonly retryAfter: number | undefined;
  /** When the spending limit is reset that was reached, in ISO 8601. */
  declare readonly resetsAt: string | undefined;
  /** Whether the same message may be sent with `overSpending`. */
  declare readonly canContinue: boolean | undefined;

  constructor(
    message: string,
    {
      cause,
      ...fields
    }: {
      code: string;
      retryable: boolean;
      status?: number;
      retryAfter?: number | undefined;
      resetsAt?: string | undefined;
      canContinue?: boolean | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause });
    Object.assign(this, fields);
  }
}

/** There was no answer: the network, or the server, is away. */
export class NetworkError extends BatonError {
  override readonly name = "NetworkError";

  constructor(message: string, cause?: unknown) {
    super(message, { code: "network_failed", retryable: true, cause });
  }
}

/**
 * The token callback gave no token, or one that the server refuses (`token_refused`). `code` is `signed_out` if it threw something whose `status` is 401 or 403, such as a
 * `Response`: it is not tried again. It is `network_failed` without an answer, and `token_failed` otherwise.
 */
export class TokenError extends BatonError {
  override readonly name = "TokenError";

  constructor(message: string, cause?: unknown) {
    const { status } = Object(cause) as { status?: number };
    const isOut = status === 401 || status === 403;
    const code = isOut ? "signed_out" : isOfNetwork(cause) ? "network_failed" : "token_failed";
    super(message, { code, retryable: !isOut, cause, ...(status && { status }) });
  }

  /** The server does not accept the token, for the reason that `refusal` gives. */
  static refused(refusal: BatonError): TokenError {
    return Object.assign(new TokenError(refusal.message, refusal), { code: "token_refused", retryable: true });
  }
}

/** What `fetch` rejects with has no class of its own: these are the words of browsers. */
const isOfNetwork = (cause: unknown): boolean =>
  cause instanceof NetworkError ||
  (cause instanceof TypeError && /^(Failed to fetch|NetworkError|Load failed|fetch failed)/.test(cause.message));

/** The error of an answer that is no success. `problem` is its body, and `fallback` the text where it has none. */
export function errorOf({ status, statusText, headers }: Response, problem: unknown, fallback?: string): BatonError {
  const fields = Object(problem) as Record<string, unknown>;
  const text = (name: string) => (typeof fields[name] === "string" ? (fields[name] as string) : undefined);
  const code = text("code") ?? `http_${status}`;
  return new BatonError(text("detail") ?? text("title") ?? (fallback || statusText || code), {
    code,
    retryable: (fields.retryable as boolean | undefined) ?? status > 428, // too many requests, or the server failed
    status,
    retryAfter: Number(headers.get("Retry-After")) || undefined,
    resetsAt: text("resetsAt"),
    canContinue: fields.canContinue === true,
  });
}
