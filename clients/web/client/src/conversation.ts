import { applyEvent } from "./changes.ts";
import type { InterruptItem, Item, MessageItem } from "./items.ts";
import type { BatonEvent, Content, EventMetadata, StoredMessage, ThreadState, Workflow } from "./wire.ts";

/** The run under way. */
export interface Run {
  readonly runId: string;
  readonly messageId?: string;
}

/** What is known of one conversation, built from its messages and events. It knows no network, and shows nothing. */
export class Conversation {
  title: string | null = null;
  items: readonly Item[] = [];
  state: ThreadState | null = null;
  /** The id of the main agent, once it is known. */
  mainId: string | null = null;
  run: Run | null = null;
  /** Why the conversation was closed, where that was seen. */
  closedBecause: string | null = null;
  /** Workflows to continue where nothing was said yet. */
  unfinished: readonly Workflow[] = [];
  /** Events up to this one are older than what was loaded as messages. */
  historySeq = 0;
  /** The run that was under way when they were loaded. */
  openRunId: string | null = null;
  /** Results of calls that are older than what was loaded, by the id of their item. */
  readonly #results = new Map<string, Partial<Item>>();
  /** The interrupts of these items: text that grows changes none, and is looked at without the rest. */
  #waiting: { readonly of: readonly Item[]; readonly found: readonly InterruptItem[] } | null = null;

  /** Messages have to be read again: the conversation goes on in a branch that is not shown here. */
  isCut = false;

  apply(event: BatonEvent): void {
    if (!this.#isOfAnotherBranch(event.metadata ?? {})) applyEvent(this, event);
  }

  /** Takes away what came after a message; all of it where that is not shown, which is then read again. */
  cutAfter(messageId: string | null): void {
    const at = messageId === null ? -1 : this.items.findLastIndex(({ id }) => id === messageId);
    if (messageId !== null && at < 0) this.isCut = true;
    this.items = this.items.filter((item, index) => index <= at || (isUnsent(item) && item.ordinal === undefined));
  }

  /** Events of before are told again, those of branches that are not selected too: of these no message was loaded. */
  #isOfAnotherBranch(about: EventMetadata): boolean {
    return about.runId != null && this.isOver(about) && !this.items.some(({ runId }) => runId === about.runId);
  }

  /** Whether an event is told again of something that was over when the messages and the state were loaded. */
  isOver({ seq, runId }: EventMetadata): boolean {
    return seq !== undefined && seq <= this.historySeq && (runId == null || runId !== this.openRunId);
  }

  /** Whether something is awaited that no item shows yet. */
  get isWaiting(): boolean {
    const last = this.items.at(-1);
    if (this.state?.desk) return false; // people answer, whenever they do
    if (this.run) return this.items.findLast((item) => item.open) === undefined; // what goes on stands at the end
    return last?.role === "user" && last.delivery === "accepted" && !last.failed;
  }

  /** The workflows that can be continued here; none while a specialist is active. */
  get offers(): readonly Workflow[] {
    const { activeAgent, workflow, resumable = [] } = this.state ?? { resumable: this.unfinished };
    return workflow || activeAgent?.isMain === false ? [] : resumable;
  }

  get interrupts(): readonly InterruptItem[] {
    if (this.#waiting?.of !== this.items) {
      const found = this.items.filter((item): item is InterruptItem => item.role === "interrupt" && !item.settled);
      this.#waiting = { of: this.items, found };
    }
    return this.#waiting.found;
  }

  find(id: string | null | undefined): Item | undefined {
    return id == null ? undefined : this.items.findLast((item) => item.id === id);
  }

  /** The last message of this role, of the run `runId` if that is given. */
  lastMessage(role: "user" | "assistant", runId?: string | null): MessageItem | undefined {
    const matches = (item: Item): item is MessageItem =>
      item.role === role && (runId === undefined || item.runId === runId);
    return this.items.findLast(matches);
  }

  /** Shows a message of the user's before the server has it. */
  say(id: string, content: Content): void {
    const known = this.find(id);
    if (known) this.change(id, { content, failed: null, delivery: "sending" } as Partial<MessageItem>);
    else this.items = [...this.items, { id, role: "user", content, open: false, delivery: "sending" }];
  }

  /** Replaces the item by one with these changes. */
  change(id: string, changes: Partial<Item>): void {
    const at = this.items.findLastIndex((item) => item.id === id);
    const known = this.items[at];
    if (!known) return;
    const items = this.items.with(at, { ...known, ...changes } as Item);
    if (known.role !== "interrupt" && this.#waiting?.of === this.items) this.#waiting = { ...this.#waiting, of: items };
    this.items = items;
  }

  /** Replaces every item for which `changes` gives something. */
  changeAll(changes: (item: Item) => Partial<Item> | null): void {
    let isChanged = false;
    const items = this.items.map((item) => {
      const changed = changes(item);
      if (!changed) return item;
      isChanged = true;
      return { ...item, ...changed } as Item;
    });
    if (isChanged) this.items = items;
  }

  drop(unwanted: (item: Item) => boolean): void {
    if (this.items.some(unwanted)) this.items = this.items.filter((item) => !unwanted(item));
  }

  /** Changes the item with this id, or puts a new one where its event belongs. */
  put(item: Item, { runId, attempt, seq }: EventMetadata = {}): void {
    const known = this.find(item.id);
    const about = { runId, attempt, seq: known?.seq ?? seq } as Partial<Item>;
    if (known) return this.change(item.id, { ...item, ...about } as Partial<Item>);
    const added = { ...item, ...about } as Item;
    this.items = this.items.toSpliced(this.#place(added), 0, added);
  }

  /** Puts a question before the call that it is about, or at the end. */
  putBefore(id: string, item: Item, { runId, attempt, seq }: EventMetadata = {}): void {
    const at = this.items.findLastIndex((other) => other.id === id);
    const added = { ...item, ...(runId !== undefined && { runId, attempt, seq }) } as Item;
    if (at < 0 && runId !== undefined) return this.put(item, { runId, ...(seq !== undefined && { seq }) });
    this.items = this.items.toSpliced(at < 0 ? this.items.length : at, 0, added);
  }

  /** Adds or replaces stored messages, in the order of the conversation. */
  merge(messages: readonly StoredMessage[]): void {
    const items = [...this.items];
    for (const item of messages.flatMap(itemsOf)) {
      const at = items.findIndex(({ id }) => id === item.id);
      const known = items[at];
      if (known) {
        const waits = known.role === "tool" && item.runId !== undefined && known.runId !== item.runId;
        items[at] = { ...known, ...item, ...(waits && { waits }) } as Item; // another run brought its result
        continue;
      }
      if (item.role === "tool" && item.name === undefined) {
        this.#results.set(item.id as string, item); // its call is older than what was loaded
        continue;
      }
      const ordinal = item.ordinal ?? Number.POSITIVE_INFINITY;
      const next = items.findIndex((other) => (other.ordinal ?? -1) > ordinal || isUnsent(other));
      items.splice(next < 0 ? items.length : next, 0, { ...item, ...this.#results.get(item.id as string) } as Item);
    }
    this.items = items;
  }

  /** Events are told again after a reload, when the messages around them are there already, without their numbers. */
  #place({ runId, seq, role }: Item): number {
    const isOfRun = (item: Item) => runId != null && item.runId === runId;
    // A specialist's answer from its fork is one message, which goes on after its agent has thought again.
    const answer = this.items.findIndex((item) => isOfRun(item) && item.role === "assistant" && item.open);
    if (role === "thinking" && answer >= 0) return answer;
    const later = this.items.findIndex((item) => isOfRun(item) && item.seq == null && item.role !== "user");
    if (later >= 0) return later;
    const before = this.items.findLastIndex((item) => isOfRun(item) || (item.seq != null && seq != null));
    if (before >= 0) return before + 1;
    return seq != null && seq <= this.historySeq ? 0 : this.items.length;
  }
}

const isUnsent = (item: Item): boolean => item.role === "user" && item.runId == null && item.ordinal === undefined;

/** What one stored message shows: itself, and the tool calls it made. Results alone have no name, and complete a call. */
function itemsOf(message: StoredMessage): Partial<Item>[] {
  const { ordinal, runId, status, sources, consulted, isHandoffSummary, outcome, finishReason } =
    message.metadata ?? {};
  const { agentId, agentName, timestamp, author, attachments } = message.metadata ?? {};
  const stored = { open: false, ...(ordinal !== undefined && { ordinal }), ...(runId !== undefined && { runId }) };
  if (message.role === "tool") {
    const result = typeof message.content === "string" ? message.content : JSON.stringify(message.content ?? "");
    const call = { ...stored, id: `tool:${message.toolCallId}`, role: "tool" as const, result };
    return [{ ...call, ...(outcome && { outcome }) }];
  }
  if (message.role === "event") {
    const { kind: reason, type } = Object(message.metadata?.source) as { kind?: string; type?: string };
    return [
      { ...stored, id: message.id, role: "note", kind: "event", reason, label: type ?? message.content },
    ] as Partial<Item>[];
  }
  if (isHandoffSummary || (message.role !== "user" && message.role !== "assistant")) return [];
  const calls = (message.toolCalls ?? []).map(({ id, function: { name, arguments: args }, metadata }) => {
    return { ...stored, id: `tool:${id}`, role: "tool" as const, callId: id, name, args, ...metadata };
  });
  if (calls.length && !message.content) return calls;
  const name = message.name ?? agentName ?? undefined;
  const said = {
    ...stored,
    id: message.id,
    role: message.role,
    content: message.content ?? "",
    cancelled: status === "cancelled",
    truncated: finishReason === "length",
    ...(name !== undefined && { name }),
    ...(agentId && { agentId }),
    ...(timestamp && { timestamp }),
    ...(sources && { sources }),
    ...(consulted && { consulted }),
    ...(message.metadata?.isSteered && { steered: true }),
    ...(author && { author }),
    isOfDesk: message.metadata?.source === "desk",
    ...(attachments && { attachments }),
    ...(message.feedback && { feedback: message.feedback }),
  };
  return [...calls, said as Partial<Item>];
}
