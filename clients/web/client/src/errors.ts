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

  constructor(
    message: string,
    {
      cause,
      ...fields
    }: { code: string; retryable: boolean; status?: number; retryAfter?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause });
    Object.assign(this, fields);
  }
}

/** The token callback has failed, took too long, or gave something that is no token. */
export class TokenError extends BatonError {
  override readonly name = "TokenError";

  constructor(message: string, cause?: unknown) {
    super(message, { code: "token_failed", retryable: true, cause });
  }
}

/** There was no answer: the network, or the server, is away. */
export class NetworkError extends BatonError {
  override readonly name = "NetworkError";

  constructor(message: string, cause?: unknown) {
    super(message, { code: "network_failed", retryable: true, cause });
  }
}

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
  });
}
