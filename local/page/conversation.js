// What is known of one conversation, built from its events (AG-UI, protocol "baton.v1"). No DOM, no network.

export class Conversation {
  constructor(threadId) {
    this.threadId = threadId;
    this.messages = []; // {id, role, name, content, open, attempt, runId, ordinal, failed, note}
    this.state = null;
    this.run = null; // {runId, messageId} while one is running
    this.lastSeq = 0; // null: whatever comes next is next (after a snapshot)
    this.parts = new Map(); // seq -> slices of a frame that came in parts
    this.early = new Map(); // seq -> event that came before the ones it follows
  }

  /** Takes one frame; returns "applied", "known" (seen before), "partial" or "gap" (something is missing). */
  take(frame) {
    if (frame.type === "PART") return this.#join(frame);
    const about = frame.metadata ?? {};
    if (about.threadId && about.threadId !== this.threadId) return "known";
    if (about.seq != null && this.lastSeq !== null) {
      // A worker died and left a hole in the numbers: the event after it says from where to jump.
      const takeover = about.previousSeq != null && about.previousSeq <= this.lastSeq;
      if (about.seq <= this.lastSeq) return "known";
      if (about.seq !== this.lastSeq + 1 && !takeover) {
        this.early.set(about.seq, frame);
        return "gap";
      }
    }
    if (about.seq != null) this.lastSeq = about.seq;
    this.#apply(frame, about);
    this.#catchUp();
    return "applied";
  }

  /** Adds or replaces messages by id, in the order of the conversation. */
  merge(messages) {
    for (const message of messages) {
      const { ordinal, runId, status } = message.metadata ?? {};
      const stored = { ...message, ordinal, runId, open: false, cancelled: status === "cancelled" };
      const unsent = (m) => m.role === "user" && m.runId == null;
      const at = this.messages.findIndex((m) => m.ordinal > ordinal || unsent(m));
      if (this.find(message.id) || at < 0) this.#put(stored);
      else this.messages.splice(at, 0, stored);
    }
  }

  /** Shows a message of the user's before the server has it. */
  say(id, content) {
    this.#put({ id, role: "user", content, open: false });
  }

  find(id) {
    return this.messages.find((message) => message.id === id);
  }

  #apply(event, about) {
    const message = this.find(event.messageId);
    switch (event.type) {
      case "RUN_STARTED": {
        this.run = { runId: event.runId, messageId: about.messageId };
        this.messages = this.messages.filter(
          (m) => m.runId !== event.runId || m.role === "user" || !(m.attempt < about.attempt),
        );
        for (const said of event.input?.messages ?? []) {
          if (said.role === "user" && !about.replayed) this.#put({ ...said, failed: null, runId: event.runId });
        }
        break;
      }
      case "RUN_FINISHED":
        this.#close(event.outcome?.type === "cancelled");
        break;
      case "RUN_ERROR":
        this.#fail(about.messageId ?? this.run?.messageId, event, about);
        if (!about.action) this.#close(false);
        break;
      case "STATE_SNAPSHOT":
        this.state = event.snapshot;
        break;
      case "STATE_DELTA":
        for (const { op, path, value } of event.delta ?? []) {
          const key = path.split("/")[1];
          if (this.state && path === `/${key}`) this.state = { ...this.state, [key]: op === "remove" ? null : value };
        }
        break;
      case "MESSAGES_SNAPSHOT":
        this.merge(event.messages ?? []);
        if (!about.replayed && about.seq == null) this.lastSeq = null;
        break;
      case "TEXT_MESSAGE_START":
        this.#put({
          id: event.messageId,
          role: "assistant",
          name: event.name,
          content: "",
          open: true,
          runId: about.runId,
          attempt: about.attempt,
        });
        break;
      case "TEXT_MESSAGE_CONTENT":
        if (!message) this.#put({ id: event.messageId, role: "assistant", content: event.delta, open: true, ...about });
        else if (message.open) message.content += event.delta;
        break;
      case "TEXT_MESSAGE_END":
        if (message) message.open = false;
        break;
      case "ACTIVITY_SNAPSHOT":
        if (event.content?.label) this.#put({ id: event.messageId, role: "note", content: event.content.label });
        break;
    }
  }

  #catchUp() {
    for (const seq of [...this.early.keys()].sort((a, b) => a - b)) {
      if (this.lastSeq !== null && seq > this.lastSeq + 1) return;
      const event = this.early.get(seq);
      this.early.delete(seq);
      this.take(event);
    }
  }

  #join(frame) {
    const { seq, part, of } = frame.metadata;
    const slices = this.parts.get(seq) ?? new Map();
    this.parts.set(seq, slices.set(part, frame.data));
    if (slices.size < of) return "partial";
    this.parts.delete(seq);
    const text = [...slices].sort(([a], [b]) => a - b).map(([, slice]) => slice);
    return this.take(JSON.parse(text.join("")));
  }

  #put(message) {
    const known = this.find(message.id);
    if (known) Object.assign(known, message);
    else this.messages.push(message);
  }

  #close(cancelled) {
    for (const message of this.messages) {
      if (message.open) Object.assign(message, { open: false, cancelled });
    }
    this.run = null;
  }

  #fail(messageId, event, about) {
    const asked = this.find(messageId) ?? this.messages.findLast((message) => message.role === "user");
    // A refused request (it names its action) has no outcome: the same id may be sent again. A run that failed has one.
    const failed = { text: event.message, retryable: about.retryable === true, sameId: about.action != null };
    const begun = this.messages.findLast((message) => message.role === "assistant" && message.runId === about.runId);
    if (asked) (about.runId && begun ? begun : asked).failed = { ...failed, askedBy: asked.id };
    else this.#put({ id: `error-${about.requestId}`, role: "note", content: event.message });
  }
}
