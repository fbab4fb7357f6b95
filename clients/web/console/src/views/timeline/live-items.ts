import type { Item, ItemStatus } from "./items.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Characters of a streamed text that are kept for its row. The whole text is on record when the run has ended. */
const MAX_TEXT = 4_000;
const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);

/** What goes on in a conversation, as far as its events tell, until it is on record. */
export class LiveItems {
  readonly #items = new Map<string, Item>();
  readonly #now: () => number;
  #agent = "—";

  constructor(now: () => number) {
    this.#now = now;
  }

  get items(): readonly Item[] {
    return [...this.#items.values()];
  }

  /** Takes an event. Returns whether a run has ended, so that everything of it is on record now. */
  take(event: Fields): boolean {
    const type = text(event.type);
    const metadata = fields(event.metadata);
    const runId = text(metadata.runId) || null;
    if (type === "STATE_SNAPSHOT") this.#agent = text(fields(fields(event.snapshot).activeAgent).id) || this.#agent;
    if (type === "RUN_STARTED") this.#put(`turn:${runId}`, "turn", runId, "running", event);
    else if (type === "REASONING_MESSAGE_START") this.#said("thinking", event, metadata, runId);
    else if (type === "REASONING_MESSAGE_CONTENT") this.#grow(`thinking:${text(event.messageId)}`, text(event.delta));
    else if (type === "REASONING_MESSAGE_END") this.#end(`thinking:${text(event.messageId)}`, "ok");
    else if (type === "TEXT_MESSAGE_START") this.#said("message", event, metadata, runId);
    else if (type === "TEXT_MESSAGE_CONTENT") this.#grow(`message:${text(event.messageId)}`, text(event.delta));
    else if (type === "TEXT_MESSAGE_END") this.#end(`message:${text(event.messageId)}`, "ok");
    else if (type === "TOOL_CALL_START")
      this.#put(`call:${text(event.toolCallId)}`, "call", runId, text(event.toolCallName), event);
    else if (type === "TOOL_CALL_RESULT") this.#end(`call:${text(event.toolCallId)}`, "ok");
    else if (type === "SUBAGENT_STARTED") this.#task(event, runId);
    else if (type === "SUBAGENT_FINISHED") this.#end(`task:${text(event.subagentRunId)}`, "ok");
    else if (type === "SUBAGENT_ERROR") this.#end(`task:${text(event.subagentRunId)}`, "failed");
    return ENDS.has(type);
  }

  clear(): void {
    this.#items.clear();
  }

  #said(kind: "message" | "thinking", event: Fields, metadata: Fields, runId: string | null): void {
    const lane = text(metadata.agentId) || this.#agent;
    this.#put(`${kind}:${text(event.messageId)}`, kind, runId, "", event, lane);
  }

  #task(event: Fields, runId: string | null): void {
    const lane = text(event.agentId) || text(event.name) || this.#agent;
    this.#put(`task:${text(event.subagentRunId)}`, "task", runId, text(event.name), event, lane);
  }

  #put(key: string, kind: Item["kind"], runId: string | null, title: string, record: object, lane = this.#agent): void {
    const item = {
      key,
      kind,
      lane,
      title,
      status: "running",
      runId,
      at: this.#now(),
      durationMs: null,
      tokens: null,
      record,
    };
    this.#items.set(key, item as Item);
  }

  #grow(key: string, delta: string): void {
    const item = this.#items.get(key);
    if (!item || item.title.length >= MAX_TEXT) return;
    const title = (item.title + delta).replace(/\s+/g, " ").slice(0, MAX_TEXT); // a space at its end may part two words
    this.#items.set(key, { ...item, title });
  }

  #end(key: string, status: ItemStatus): void {
    const item = this.#items.get(key);
    if (item) this.#items.set(key, { ...item, status, durationMs: Math.max(0, this.#now() - item.at) });
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
