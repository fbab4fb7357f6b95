import { afterEach, beforeEach, mock, type TestContext } from "node:test";
import { BatonClient, type Chat, type ClientOptions, textOf } from "../src/index.ts";
import { FakeChannel, FakeLocks, FakeSocket, FakeStorage, settled, tokenFor } from "./fakes.ts";

export const THREAD = "0b54c1f6-6f0e-4c09-8f0e-1a2b3c4d5e6f";
/** What the page under test stands on; new for each test. */
export const page = {
  /** What the server answers, by path; nothing: 404. */
  answers: {} as Record<string, unknown>,
  /** Addresses that were asked for. */
  asked: [] as string[],
  /** Milliseconds of the page's clock. */
  now: 0,
  storage: new FakeStorage(),
  chats: [] as Chat[],
};

beforeEach(() => {
  Object.assign(page, { answers: {}, asked: [], now: 1_000_000, storage: new FakeStorage(), chats: [] });
  FakeSocket.all = [];
  FakeSocket.threads.clear();
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  mock.method(performance, "now", () => page.now);
  Object.assign(globalThis, { WebSocket: FakeSocket, BroadcastChannel: FakeChannel });
  Object.defineProperty(navigator, "locks", { value: new FakeLocks(), configurable: true });
  mock.method(globalThis, "fetch", async (address: string) => {
    page.asked.push(address);
    const path = new URL(address).pathname;
    const body = page.answers[path];
    if (body === undefined) return Response.json({ title: "Not found", code: "thread_unavailable" }, { status: 404 });
    return Response.json(body);
  });
});

afterEach(() => {
  for (const chat of page.chats) chat.disconnect();
  mock.timers.reset();
  mock.restoreAll();
});

/** `fresh`: a new conversation, in which nothing was said. */
export function begin({ fresh = false, ...options }: Partial<ClientOptions> & { fresh?: boolean } = {}): Chat {
  const client = new BatonClient({
    endpoint: "http://baton.test",
    token: tokenFor(),
    storage: page.storage,
    ...options,
  });
  const chat = client.chat(fresh ? {} : { threadId: THREAD });
  page.chats.push(chat);
  chat.start();
  return chat;
}

export async function connected(options: Partial<ClientOptions> = {}): Promise<Chat> {
  const chat = begin(options);
  await settled();
  FakeSocket.last.open();
  await settled();
  FakeSocket.last.hear({ type: "PONG" });
  return chat;
}

/** Time goes by as in a page that is looked at: a tick each second. */
export async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    page.now += 1000;
    mock.timers.tick(1000);
    await settled();
  }
}

/** The window and the document of the page under test. */
export class FakeBrowser {
  readonly #window = new EventTarget();
  readonly #document = Object.assign(new EventTarget(), { visibilityState: "visible" });

  constructor(context: TestContext) {
    const listeners = ["addEventListener", "removeEventListener"] as const;
    for (const name of listeners) Object.assign(globalThis, { [name]: this.#window[name].bind(this.#window) });
    Object.assign(globalThis, { document: this.#document });
    context.after(() => {
      for (const chat of page.chats) chat.disconnect();
      for (const name of [...listeners, "document"]) delete (globalThis as Record<string, unknown>)[name];
    });
  }

  dispatch(event: "online" | "offline" | "pageshow"): void {
    this.#window.dispatchEvent(new Event(event));
  }

  hide(): void {
    this.#look("hidden");
  }

  show(): void {
    this.#look("visible");
  }

  #look(visibilityState: string): void {
    this.#document.visibilityState = visibilityState;
    this.#document.dispatchEvent(new Event("visibilitychange"));
  }
}

/** A page that sleeps: its timers come late, and all at once. */
export async function sleep(seconds: number): Promise<void> {
  page.now += seconds * 1000;
  mock.timers.tick(1000);
  await settled();
}

export const stamp = (seq: number) => ({ threadId: THREAD, runId: "r-1", seq, attempt: 1 });

export function runOf(messageId: string, text: string) {
  const input = { messages: [{ id: messageId, role: "user", content: "Hello" }] };
  return [
    { type: "RUN_STARTED", runId: "r-1", input, metadata: { ...stamp(1), messageId } },
    { type: "TEXT_MESSAGE_START", messageId: "a-1", role: "assistant", name: "Guide", metadata: stamp(2) },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "a-1", delta: text, metadata: stamp(3) },
    { type: "TEXT_MESSAGE_END", messageId: "a-1", metadata: stamp(4) },
    { type: "RUN_FINISHED", runId: "r-1", outcome: { type: "success" }, metadata: stamp(5) },
  ];
}

export const said = (chat: Chat) =>
  chat.snapshot.items.flatMap((item) =>
    "content" in item && item.role !== "research" ? [`${item.role}: ${textOf(item.content)}`] : [],
  );
