import type { BatonEvent, ClientFrame } from "../src/index.ts";

/** A WebSocket whose other end is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
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
    this.sent.push(JSON.parse(data) as ClientFrame);
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

/** A token of Ada's that nobody has signed. */
export function tokenFor(claims: object = { tenant: "acme", sub: "ada" }): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.x`;
}

/** Lets everything that is ready happen. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
