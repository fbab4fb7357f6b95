// What was sent and may have got lost with its connection. The next connection sends it again.

import { fits } from "./connection.js";

const KEPT = "baton.unanswered"; // messages outlive a reload; their ids make sure that they are answered once

export class Outbox {
  #frames = new Map(); // key -> {frame, untilArrived}

  constructor() {
    for (const frame of JSON.parse(sessionStorage.getItem(KEPT) ?? "[]")) this.#keep(frame.messageId, frame, false);
  }

  get frames() {
    return [...this.#frames.values()].map(({ frame }) => frame);
  }

  messagesTo(threadId) {
    return this.frames.filter((frame) => frame.action === "message" && frame.threadId === threadId);
  }

  /** Keeps a message, or an answer, until `done(key)`: that it was taken is told by events. */
  add(key, frame) {
    this.#keep(key, frame, false);
    this.#store();
  }

  /** Keeps a wish that has no answer of its own until it has arrived. */
  wish(frame) {
    this.#keep(frame.action, frame, true);
  }

  done(key) {
    if (this.#frames.delete(key)) this.#store();
  }

  /** Everything that was sent has reached the server. */
  arrived() {
    for (const [key, { untilArrived }] of this.#frames) if (untilArrived) this.#frames.delete(key);
  }

  clear() {
    this.#frames.clear();
    this.#store();
  }

  #keep(key, frame, untilArrived) {
    this.#frames.set(key, { frame, untilArrived });
  }

  #store() {
    const messages = this.frames.filter((frame) => frame.action === "message" && fits(frame));
    sessionStorage.setItem(KEPT, JSON.stringify(messages));
  }
}
