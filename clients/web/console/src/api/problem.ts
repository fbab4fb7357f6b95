/** What the server answered instead of what was asked for, or that it did not answer. */
export class Problem extends Error {
  override readonly name = "Problem";
  /** The stable name of the condition, as `thread_unavailable`; `network_failed` where there was no answer. */
  readonly code: string;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly requestId: string | null;
  readonly retryable: boolean;
  /** The whole body: some problems have more members. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, body: Readonly<Record<string, unknown>>, fallback: string) {
    const text = (name: string): string | null => (typeof body[name] === "string" ? (body[name] as string) : null);
    super(text("detail") ?? text("title") ?? fallback);
    this.status = status;
    this.body = body;
    this.code = text("code") ?? (status === 0 ? "network_failed" : `http_${status}`);
    this.requestId = text("requestId");
    this.retryable = typeof body.retryable === "boolean" ? body.retryable : status === 0 || status >= 500;
  }
}

/** Returns what was thrown as a problem that can be shown. */
export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, {}, error instanceof Error ? error.message : String(error));
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
