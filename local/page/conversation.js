// What is known of one conversation, built from its events (AG-UI, protocol "baton.v1"). No DOM, no network.

import { CHANGES } from "./events.js";

/**
 * `entries` is what there is to show, in order: messages of "user" and "assistant", and what happened between them:
 * "note", "research", "tool", "approval". Each has `id` and `role`; `open` while it goes on; `runId`, `attempt` and `seq`
 * of the event that began it; `ordinal` if it is a stored message.
 */
export class Conversation {
  constructor(threadId) {
    this.threadId = threadId;
    this.beganWith = null; // the id of the agent that was chosen for it
    this.entries = [];
    this.state = null; // protocol.md "state": activeAgent, workflow, resumable, status
    this.unfinished = []; // workflows to begin with, where nothing was said yet
    this.closedBecause = null; // the reason, where thread_closed was seen
    this.run = null; // {runId, messageId} while one is running
    this.lastSeq = 0; // null: whatever comes next is next (after a snapshot)
    this.historySeq = 0; // events up to this one are older than what was loaded as messages
    this.openRunId = null; // the run that was under way when they were loaded
    this.parts = new Map(); // seq -> slices of a frame that came in parts
    this.early = new Map(); // seq -> event that came before the ones it follows
  }

  /** The workflows that can be continued here; none while a specialist is active. */
  get offers() {
    const { activeAgent, workflow, resumable = [] } = this.state ?? { resumable: this.unfinished };
    return workflow || activeAgent?.isMain === false ? [] : resumable;
  }

  /** Whether an event is told again of something that was over when the messages and the state were loaded. */
  isOver({ seq, runId }) {
    return seq <= this.historySeq && (runId == null || runId !== this.openRunId);
  }

  /** Whether something is awaited that no entry shows yet. */
  get isWaiting() {
    const last = this.entries.at(-1);
    if (this.run) return !this.entries.some((entry) => entry.open);
    return last?.role === "user" && last.runId == null && !last.failed;
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
    CHANGES[frame.type]?.(this, frame, about);
    this.#catchUp();
    return "applied";
  }

  /** Adds or replaces stored messages by id, in the order of the conversation. */
  merge(messages) {
    for (const entry of messages.flatMap(entriesOf)) {
      const unsent = (other) => other.role === "user" && other.runId == null;
      const at = this.entries.findIndex((other) => other.ordinal > entry.ordinal || unsent(other));
      const known = this.find(entry.id);
      if (known) Object.assign(known, entry);
      else if (entry.role === "tool" && entry.name === undefined) continue; // its call is older than what was loaded
      else this.entries.splice(at < 0 ? this.entries.length : at, 0, entry);
    }
  }

  /** Shows a message of the user's before the server has it. */
  say(id, content) {
    const known = this.find(id);
    if (known) Object.assign(known, { content, failed: null });
    else this.entries.push({ id, role: "user", content, open: false });
  }

  find(id) {
    return this.entries.find((entry) => entry.id === id);
  }

  /** The last entry with this role, of the run `runId` if that is given. */
  last(role, runId) {
    return this.entries.findLast((entry) => entry.role === role && (runId === undefined || entry.runId === runId));
  }

  drop(unwanted) {
    this.entries = this.entries.filter((entry) => !unwanted(entry));
  }

  /** Changes the entry with this id, or puts a new one where its event belongs. */
  put(entry, { runId, attempt, seq } = {}) {
    const known = this.find(entry.id);
    if (known) return Object.assign(known, entry, { runId, attempt, seq: known.seq ?? seq });
    const added = { ...entry, runId, attempt, seq };
    this.entries.splice(this.#place(added), 0, added);
    return added;
  }

  /** Events are told again after a reload, when the messages around them are there already, without their numbers. */
  #place({ runId, seq }) {
    const sameRun = (entry) => runId != null && entry.runId === runId;
    const later = this.entries.findIndex((entry) => sameRun(entry) && entry.seq == null && entry.role !== "user");
    if (later >= 0) return later;
    const before = this.entries.findLastIndex((entry) => sameRun(entry) || (entry.seq != null && seq != null));
    if (before >= 0) return before + 1;
    return seq != null && seq <= this.historySeq ? 0 : this.entries.length;
  }

  #catchUp() {
    while (this.early.size > 0) {
      const seq = Math.min(...this.early.keys());
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
}

/** What one stored message shows: itself, and the tool calls it made. */
function entriesOf(message) {
  const { ordinal, runId, status, sources, isHandoffSummary, outcome } = message.metadata ?? {};
  const stored = { ordinal, runId, open: false };
  if (message.role === "tool") return [{ ...stored, id: `tool:${message.toolCallId}`, role: "tool", result: message.content, outcome }];
  if (isHandoffSummary || !["user", "assistant"].includes(message.role)) return [];
  const calls = (message.toolCalls ?? []).map(({ id, function: { name, arguments: args } }) => {
    return { ...stored, id: `tool:${id}`, role: "tool", name, args };
  });
  const { id, role, name, content } = message;
  if (calls.length && !content) return calls;
  return [...calls, { ...stored, id, role, name, content, sources, cancelled: status === "cancelled" }];
}
