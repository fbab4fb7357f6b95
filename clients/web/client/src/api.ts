import { BatonError, errorOf, NetworkError } from "./errors.ts";
import type { TokenSource } from "./token.ts";
import type {
  BackgroundTask,
  Branch,
  Feedback,
  FilePart,
  ListedAgent,
  MessagePage,
  Page,
  Rating,
  Schedule,
  Thread,
  Workflow,
} from "./wire.ts";

const READ_MS = 15_000;

export interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Milliseconds until the request is given up; 0: never. */
  readonly timeout?: number;
  /** Whether it goes on when the page is left. */
  readonly keepalive?: boolean;
}

/** The HTTP API, with a token that is fetched anew when it was refused. Everything rejects with `BatonError`. */
export class Api {
  readonly endpoint: string;
  readonly #tokens: TokenSource;

  constructor(endpoint: string, tokens: TokenSource) {
    this.endpoint = endpoint.replace(/\/+$/, "");
    this.#tokens = tokens;
  }

  async request<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const { refusal } = this.#tokens;
    if (refusal) throw refusal;
    const token = await this.#tokens.get();
    try {
      return await this.#once<T>(path, options, token);
    } catch (error) {
      if (!(error instanceof BatonError) || error.status !== 401) throw error;
      await this.#tokens.replace(token, error, (newer) => this.#once("/v1/agents", {}, newer));
      return await this.#once<T>(path, options, await this.#tokens.get());
    }
  }

  thread(id: string): Promise<Thread> {
    return this.request(`/v1/threads/${encodeURIComponent(id)}`);
  }

  /** The caller's own threads, newest first; with a `query`, those whose title or beginning has its words. */
  threads({ limit = 30, cursor, query }: ThreadsOptions = {}): Promise<Page<Thread>> {
    return this.request(`/v1/threads${parameters({ limit, cursor, q: query?.trim() })}`);
  }

  rename(id: string, title: string): Promise<Thread> {
    return this.request(`/v1/threads/${encodeURIComponent(id)}`, { method: "PATCH", body: { title } });
  }

  /** Keeps what the user thinks of an answer; `none` takes it back. */
  feedback(
    id: string,
    messageId: string,
    rating: Rating,
    comment?: string,
  ): Promise<{ readonly feedback: Feedback | null }> {
    const path = `/v1/threads/${encodeURIComponent(id)}/messages/${encodeURIComponent(messageId)}/feedback`;
    return this.request(path, { method: "POST", body: { rating, ...(comment && { comment }) } });
  }

  /** A page of messages; pages go back in time, and each is in order. */
  messages(id: string, { limit = 50, cursor }: { limit?: number; cursor?: string | null } = {}): Promise<MessagePage> {
    const path = `/v1/threads/${encodeURIComponent(id)}/messages`;
    return this.request(path + parameters({ limit, cursor, roles: "user,assistant,tool" }));
  }

  /** Withdraws a message that waits while a run is in progress. */
  withdraw(id: string, messageId: string): Promise<unknown> {
    const path = `/v1/threads/${encodeURIComponent(id)}/queue/${encodeURIComponent(messageId)}`;
    return this.request(path, { method: "DELETE" });
  }

  forget(id: string): Promise<unknown> {
    return this.request(`/v1/threads/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** The alternatives that regenerating and editing have made, in the order of their first messages. */
  branches(id: string): Promise<Page<Branch>> {
    return this.request(`/v1/threads/${encodeURIComponent(id)}/branches`);
  }

  /** Makes a branch the conversation that goes on. */
  selectBranch(id: string, branchId: string): Promise<unknown> {
    const path = `/v1/threads/${encodeURIComponent(id)}/branches/${encodeURIComponent(branchId)}/select`;
    return this.request(path, { method: "POST", body: {} });
  }

  agents(): Promise<Page<ListedAgent>> {
    return this.request("/v1/agents");
  }

  /** Asks for a person at a desk: the first one of the main agent's, unless another one is named. */
  askForDesk(id: string, deskId?: string, locale?: string): Promise<unknown> {
    const path = `/v1/threads/${encodeURIComponent(id)}/desk`;
    const body = { ...(deskId !== undefined && { deskId }), ...(locale !== undefined && { locale }) };
    return this.request(path, { method: "POST", body, timeout: 0 });
  }

  /** The caller's schedules and reminders, those of the next slots first. */
  schedules({ limit = 100, cursor }: { limit?: number; cursor?: string | null } = {}): Promise<Page<Schedule>> {
    return this.request(`/v1/schedules${parameters({ limit, cursor })}`);
  }

  changeSchedule(id: string, change: { readonly paused?: boolean; readonly text?: string }): Promise<Schedule> {
    return this.request(`/v1/schedules/${encodeURIComponent(id)}`, { method: "PATCH", body: change });
  }

  deleteSchedule(id: string): Promise<unknown> {
    return this.request(`/v1/schedules/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** Work in the background of a conversation, the newest first: what is open, and what has ended within thirty days. */
  background(id: string): Promise<{ readonly items: readonly BackgroundTask[] }> {
    return this.request(`/v1/threads/${encodeURIComponent(id)}/background`);
  }

  cancelBackground(id: string, taskId: string): Promise<BackgroundTask> {
    const path = `/v1/threads/${encodeURIComponent(id)}/background/${encodeURIComponent(taskId)}`;
    return this.request(path, { method: "DELETE" });
  }

  workflows(): Promise<Page<Workflow>> {
    return this.request("/v1/workflows");
  }

  /** Sends a message that no frame can hold. Answers when the run has ended; how it went is told by its events. */
  run(input: object, signal: AbortSignal): Promise<unknown> {
    return this.request("/v1/runs", { method: "POST", body: input, timeout: 0, signal });
  }

  /** Uploads a file for a message of this thread, and returns the part that refers to it. */
  async upload(
    threadId: string,
    file: File,
    { contentType = file.type, signal }: UploadOptions = {},
  ): Promise<FilePart> {
    const described = { name: file.name, contentType: contentType.split(";")[0] ?? "", size: file.size };
    const prepared = await this.request<{ upload: Upload; part: FilePart }>(
      `/v1/threads/${encodeURIComponent(threadId)}/files`,
      { method: "POST", body: described, ...(signal && { signal }) },
    );
    const { url, method, headers } = prepared.upload;
    const sent = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length");
    const answer = await reach(url, { method, headers: sent, body: file, ...(signal && { signal }) });
    if (!answer.ok) throw errorOf(answer, null, `${file.name} could not be uploaded.`);
    return prepared.part;
  }

  async #once<T>(path: string, options: RequestOptions, token: string): Promise<T> {
    const { method = "GET", body, timeout = READ_MS, keepalive = false } = options;
    const signals = [options.signal, timeout > 0 ? AbortSignal.timeout(timeout) : undefined];
    const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await reach(this.endpoint + path, {
      method,
      headers,
      credentials: "omit",
      keepalive,
      signal: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text().catch((cause) => {
      throw new NetworkError("The connection was lost.", cause);
    });
    if (!answer.ok) throw errorOf(answer, parsed(text));
    return parsed(text) as T;
  }
}

interface ThreadsOptions {
  readonly limit?: number;
  readonly cursor?: string | null;
  readonly query?: string;
}

interface UploadOptions {
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

interface Upload {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function reach(url: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (cause) {
    throw new NetworkError("There was no answer.", cause);
  }
}

function parsed(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function parameters(values: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}
