import type { ClientFrame } from "../src/index.ts";
import { FakeSocket, settled } from "./fakes.ts";
import { page, pass, runOf, THREAD } from "./page.ts";

const STATE = { activeAgent: { id: "assistant", name: "Assistant", isMain: true }, status: "active" };
const LIFE_MS = 2 * 3600 * 1000;
const ADVICE_MS = 10 * 60 * 1000;

/** The server's end of a connection. */
interface Peer {
  readonly openedAt: number;
  usedAt: number;
  /** Frames that were read. */
  read: number;
}

/**
 * A server that answers every frame within a second, with a conversation that is at rest. Like API Gateway it ends
 * connections that are two hours old, or silent for ten minutes. It counts what is billed.
 */
export class FakeServer {
  /** When a frame went, in either direction, in milliseconds of the page's clock. */
  readonly frames: number[] = [];
  sent = 0;
  connections = 0;
  /** Connections that this end has ended. */
  ended = 0;
  /** Silence that ends a connection. */
  idleMs = 10 * 60 * 1000;
  /** Age at which a connection is to be replaced. */
  oldMs = LIFE_MS - ADVICE_MS;
  /** Open connections pass nothing more, and send no event. */
  isDead = false;
  /** The number of the conversation's last event. */
  lastSeq = 5;
  readonly #peers = new Map<FakeSocket, Peer>();

  constructor() {
    page.storage.setItem("baton:known", JSON.stringify([THREAD]));
    page.answers[`/v1/threads/${THREAD}`] = { id: THREAD, state: STATE, run: null, lastSeq: 5 };
    const items = [
      { id: "m-1", role: "user", content: "Hello", metadata: { ordinal: 0, runId: "r-1" } },
      { id: "a-1", role: "assistant", content: "Good day.", metadata: { ordinal: 1, runId: "r-1" } },
    ];
    page.answers[`/v1/threads/${THREAD}/messages`] = { items, nextCursor: null, lastSeq: 5 };
  }

  /** The most frames within any hour. */
  get busiestHour(): number {
    return Math.max(
      ...this.frames.map((from) => this.frames.filter((at) => at >= from && at < from + 3_600_000).length),
    );
  }

  /** Time goes by, and what the client sends is answered. */
  async pass(seconds: number): Promise<void> {
    await settled();
    for (let second = 0; second < seconds; second += 1) {
      await this.#serve();
      await pass(1);
    }
    await this.#serve();
  }

  async #serve(): Promise<void> {
    if (this.isDead) return;
    const before = this.frames.length;
    for (const socket of FakeSocket.all) await this.#serveOne(socket);
    if (this.frames.length > before) await settled();
  }

  async #serveOne(socket: FakeSocket): Promise<void> {
    if (socket.readyState === 0) {
      this.connections += 1;
      this.#peers.set(socket, { openedAt: page.now, usedAt: page.now, read: 0 });
      socket.open();
      await settled();
    }
    const peer = this.#peers.get(socket);
    if (!peer) return;
    const frames = socket.sent.slice(peer.read);
    peer.read = socket.sent.length;
    for (const frame of frames) {
      this.sent += 1;
      this.#count(peer);
      const isOld = page.now >= peer.openedAt + this.oldMs;
      const advice = isOld ? [[{ type: "CUSTOM", name: "reconnect", value: {}, metadata: {} }]] : [];
      for (const events of [this.#answer(frame), ...advice]) {
        if (!events.length || socket.readyState !== FakeSocket.OPEN) continue;
        this.#count(peer);
        socket.hear(...events);
      }
    }
    if (socket.readyState !== FakeSocket.OPEN) return;
    if (page.now < peer.usedAt + this.idleMs && page.now < peer.openedAt + LIFE_MS) return;
    this.ended += 1;
    socket.lose();
  }

  #count(peer: Peer): void {
    this.frames.push(page.now);
    peer.usedAt = page.now;
  }

  #answer(frame: ClientFrame): object[] {
    if (frame.action === "ping") return frame.quiet === true ? [] : [{ type: "PONG" }];
    if (frame.action === "message")
      return [{ type: "CUSTOM", name: "message_accepted", value: { messageId: frame.messageId, threadId: THREAD } }];
    if (frame.action !== "resume") return [];
    const resume = { after: frame.after, lastSeq: this.lastSeq, runId: null };
    const snapshot = { type: "STATE_SNAPSHOT", snapshot: STATE, metadata: { threadId: THREAD, resume } };
    return [snapshot, ...(frame.after === 0 ? runOf("m-1", "Good day.") : [])];
  }
}
