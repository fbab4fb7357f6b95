import { Problem } from "./problem.ts";

export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly parameters?: Parameters;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: { readonly content: string; readonly type: string };
  /** The path above the address; `/v1` unless given. */
  readonly root?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long an answer is waited for; a minute unless given. */
  readonly timeoutMs?: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface Answer<T> {
  readonly value: T;
  readonly status: number;
  readonly etag: string | null;
}

/** Gives the access token of the person who is signed in, and hears what the server says of it. */
export interface TokenHolder {
  token(): Promise<string>;
  /** The token was refused. Resolves to whether there is a newer one to try. */
  refused(token: string): Promise<boolean>;
  /** The newer one was refused as well: nobody is signed in any more. */
  ended(): void;
  /** The token lacks a permission. */
  forbidden(): void;
}

const READ_MS = 60_000;

/** The HTTP API with the token of the person who is signed in. Everything rejects with `Problem`. */
export class ConsoleApi {
  readonly endpoint: string;
  readonly #holder: TokenHolder;

  constructor(endpoint: string, holder: TokenHolder) {
    this.endpoint = endpoint.replace(/\/+$/, "");
    this.#holder = holder;
  }

  /** Reads JSON. Every segment of the path is encoded. */
  async get<T>(path: readonly string[], parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
    return (await this.request<T>(path, { parameters, ...(signal && { signal }) })).value;
  }

  /** Reads one page of a list. */
  page<T>(path: readonly string[], parameters: Parameters = {}, signal?: AbortSignal): Promise<Page<T>> {
    return this.get<Page<T>>(path, parameters, signal);
  }

  /** Sends a request and returns the JSON that came, with the `ETag` for a later `If-Match`. */
  async request<T>(path: readonly string[], options: RequestOptions = {}): Promise<Answer<T>> {
    const answer = await this.send(path, options);
    const text = await answer.text().catch(() => {
      throw new Problem(0, {}, "The connection was lost in the middle of an answer.");
    });
    return { value: parsed(text) as T, status: answer.status, etag: answer.headers.get("ETag") };
  }

  /**
   * Sends a request and returns the answer, unread, for streams and downloads.
   *
   * A request that was refused for its token has done nothing, so it is sent again with a newer one.
   */
  async send(path: readonly string[], options: RequestOptions = {}): Promise<Response> {
    let token = await this.#token();
    let answer = await this.#fetch(path, options, token);
    if (answer.status === 401 && (await this.#holder.refused(token).catch(() => false))) {
      token = await this.#token();
      answer = await this.#fetch(path, options, token);
      if (answer.status === 401) this.#holder.ended();
    }
    if (answer.ok) return answer;
    const problem = parsed(await answer.text().catch(() => ""));
    const fields = typeof problem === "object" && problem !== null ? (problem as Record<string, unknown>) : {};
    if (answer.status === 403) this.#holder.forbidden();
    throw new Problem(answer.status, fields, answer.statusText || `HTTP ${answer.status}`);
  }

  async #token(): Promise<string> {
    return this.#holder.token().catch((error: unknown) => {
      throw new Problem(0, { code: "signed_out" }, error instanceof Error ? error.message : String(error));
    });
  }

  async #fetch(path: readonly string[], options: RequestOptions, token: string): Promise<Response> {
    const { method = "GET", parameters = {}, body, text, signal } = options;
    const headers: Record<string, string> = { ...options.headers, Authorization: `Bearer ${token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (text !== undefined) headers["Content-Type"] = text.type;
    const url = `${this.endpoint}${options.root ?? "/v1"}/${path.map(encodeURIComponent).join("/")}${query(parameters)}`;
    const content = text?.content ?? (body === undefined ? undefined : JSON.stringify(body));
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), options.timeoutMs ?? READ_MS);
    try {
      return await fetch(url, {
        method,
        headers,
        credentials: "omit",
        cache: "no-store",
        signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
        ...(content !== undefined && { body: content }),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem(
        0,
        {},
        timeout.signal.aborted ? "The server took too long." : "The server could not be reached.",
      );
    } finally {
      clearTimeout(timer);
    }
  }
}

function query(values: Parameters): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

function parsed(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
