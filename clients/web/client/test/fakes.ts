import type { BatonEvent, ClientFrame } from "../src/index.ts";

/** A WebSocket whose other end is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  /** Conversations that the server has. */
  static threads = new Set<string>();
  static get last(): FakeSocket {
    const socket = FakeSocket.all.at(-1);
    if (!socket) throw new Error("There is no connection.");
    return socket;
  }

  readyState = 0;
  readonly sent: ClientFrame[] = [];
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  readonly url: string;
  readonly protocols: string[];

  constructor(url: string, protocols: string[]) {
    this.url = url;
    this.protocols = protocols;
    FakeSocket.all.push(this);
  }

  send(data: string): void {
    const frame = JSON.parse(data) as ClientFrame;
    if (frame.action === "resume" && Number(frame.after) > 1e6) this.#answerProbe(String(frame.threadId));
    else this.sent.push(frame);
  }

  /** Whether there is such a conversation is asked by what can only be refused. */
  #answerProbe(threadId: string): void {
    const code = FakeSocket.threads.has(threadId) ? "invalid_sequence" : "thread_unavailable";
    const refusal = { type: "RUN_ERROR", message: "No.", code, metadata: { action: "resume", threadId } };
    queueMicrotask(() => this.hear(refusal));
  }

  close(): void {
    this.readyState = 3;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  hear(...events: (BatonEvent | object)[]): void {
    this.onmessage?.({ data: JSON.stringify(events) });
  }

  lose(): void {
    this.readyState = 3;
    this.onclose?.();
  }

  actions(): string[] {
    return this.sent.map(({ action }) => action);
  }
}

/** Storage as browsers have it, which may be full. */
export class FakeStorage {
  readonly #items = new Map<string, string>();
  isFull = false;

  get length(): number {
    return this.#items.size;
  }

  key(index: number): string | null {
    return [...this.#items.keys()][index] ?? null;
  }

  /** The keys that begin with `prefix`. */
  kept(prefix: string): string[] {
    return [...this.#items.keys()].filter((key) => key.startsWith(prefix));
  }

  getItem(key: string): string | null {
    return this.#items.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    if (this.isFull) throw new DOMException("full", "QuotaExceededError");
    this.#items.set(key, value);
  }

  removeItem(key: string): void {
    this.#items.delete(key);
  }
}

/** A channel between tabs, which here are chats. */
export class FakeChannel {
  static all = new Set<FakeChannel>();
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor() {
    FakeChannel.all.add(this);
  }

  postMessage(data: unknown): void {
    const text = JSON.stringify(data);
    for (const other of FakeChannel.all)
      if (other !== this) queueMicrotask(() => other.onmessage?.({ data: JSON.parse(text) }));
  }

  close(): void {
    FakeChannel.all.delete(this);
  }
}

/** Locks as browsers have them: one holder at a time, the others in their order. */
export class FakeLocks {
  readonly #queues = new Map<string, (() => void)[]>();

  async request(
    name: string,
    options: { ifAvailable?: boolean; signal?: AbortSignal },
    work: (lock: object | null) => unknown,
  ): Promise<void> {
    await null; // never at once
    const queue = this.#queues.get(name);
    if (queue && options.ifAvailable) return void (await work(null));
    if (queue) await this.#turn(queue, options.signal);
    else this.#queues.set(name, []);
    try {
      await work({ name });
    } finally {
      const next = this.#queues.get(name)?.shift();
      if (next) next();
      else this.#queues.delete(name);
    }
  }

  #turn(queue: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      queue.push(resolve);
      signal?.addEventListener("abort", () => {
        const at = queue.indexOf(resolve);
        if (at < 0) return;
        queue.splice(at, 1);
        reject(signal.reason);
      });
    });
  }
}

/** A token of Ada's that nobody has signed. */
export function tokenFor(claims: object = { tenant: "acme", sub: "ada" }): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.x`;
}

/** Lets everything that is ready happen. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
