/** What went wrong, in the server's own words where it has some. */
export class BatonError extends Error {
  override readonly name: string = "BatonError";
  /** A stable name of the condition: a code of the server's (`rate_limited`), or one of this client's. */
  readonly code: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined;
  /** Seconds after which the same request may succeed, where the server says so. */
  readonly retryAfter: number | undefined;

  constructor(
    message: string,
    fields: { code: string; retryable: boolean; status?: number; retryAfter?: number; cause?: unknown },
  ) {
    super(message, { cause: fields.cause });
    this.code = fields.code;
    this.retryable = fields.retryable;
    this.status = fields.status;
    this.retryAfter = fields.retryAfter;
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

export function errorOf(status: number, problem: unknown, fallback: string, advised: string | null = null): BatonError {
  const fields = (typeof problem === "object" && problem !== null ? problem : {}) as Record<string, unknown>;
  const text = (name: string) => (typeof fields[name] === "string" ? (fields[name] as string) : undefined);
  return new BatonError(text("detail") ?? text("title") ?? fallback, {
    code: text("code") ?? `http_${status}`,
    retryable: typeof fields.retryable === "boolean" ? fields.retryable : status >= 500 || status === 429,
    status,
    ...(advised !== null && /^\d+$/.test(advised) ? { retryAfter: Number(advised) } : {}),
  });
}
