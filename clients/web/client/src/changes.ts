/** What each event changes in a conversation. Events that change nothing, and those that are unknown, are not listed. */

import type { Conversation } from "./conversation.ts";
import type {
  AgentProgress,
  AskedAgent,
  InterruptItem,
  Item,
  MessageItem,
  NoteItem,
  ResearchItem,
  ThinkingItem,
  ToolItem,
} from "./items.ts";
import { patched } from "./json-patch.ts";
import type { BatonEvent, Content, EventMessage, EventMetadata, Interrupt, KnownEvent, StoredMessage } from "./wire.ts";

type Type = KnownEvent["type"];
type Changes = {
  [T in Type]?: (talk: Conversation, event: Extract<KnownEvent, { type: T }>, about: EventMetadata) => void;
};

export function applyEvent(talk: Conversation, event: BatonEvent): void {
  if (!Object.hasOwn(CHANGES, event.type)) return;
  const change = CHANGES[event.type as Type] as (talk: Conversation, event: BatonEvent, about: EventMetadata) => void;
  change(talk, event, event.metadata ?? {});
}

/** Shows a message where it has entered its run; until then it stood at the end. */
function putSteered(talk: Conversation, value: Readonly<Record<string, unknown>>, about: EventMetadata): void {
  const id = String(value.messageId);
  const known = talk.find(id) as MessageItem | undefined;
  if (known?.ordinal !== undefined) return; // it is stored, in its place
  const content = (value.message as { content?: Content } | undefined)?.content ?? known?.content ?? "";
  talk.drop((item) => item.id === id);
  talk.put({ id, role: "user", content, open: false, steered: true } as MessageItem, about);
}

const CHANGES: Changes = {
  RUN_STARTED(talk, event, about) {
    const { runId } = event;
    if (!talk.isOver(about)) talk.run = { runId, ...(about.messageId !== undefined && { messageId: about.messageId }) };
    // A worker has died, and another one answers from the beginning.
    const isOfDead = ({ attempt = 0, ordinal, role }: Item) =>
      ordinal === undefined && role !== "user" && attempt < (about.attempt ?? 0); // what is stored stands
    talk.drop((item) => item.runId === runId && isOfDead(item));
    if (about.branch && !talk.isOver(about)) talk.cutAfter(about.branch.after);
    if (about.replayed) return;
    settleInterrupts(talk, event, about);
    for (const said of event.input?.messages ?? []) {
      if (isEvent(said)) {
        const { kind: reason, label } = said.content;
        talk.put({ ...note(said.id, "event"), label, reason } as NoteItem, { ...about, runId });
      }
      if (said.role !== "user") continue;
      const known = talk.find(said.id);
      const whole = { id: said.id, role: "user", content: said.content ?? "", open: false } as MessageItem;
      const isStored = known?.ordinal !== undefined;
      talk.put(isStored ? known : { ...(known as MessageItem), ...whole, failed: null }, { ...about, runId });
      if (known) talk.change(said.id, { delivery: undefined, waits: null } as unknown as Partial<Item>);
    }
  },

  RUN_FINISHED(talk, { runId, outcome }, about) {
    endRun(talk, runId);
    const asked = outcome?.type === "delivered" ? talk.lastMessage("user", runId) : undefined;
    if (asked) talk.change(asked.id, { delivered: true });
    if (outcome?.type === "cancelled") {
      const answer = talk.lastMessage("assistant", runId);
      if (answer) talk.change(answer.id, { cancelled: true });
      else talk.put(note(`stopped:${runId}`, "stopped"), about);
    }
    putInterrupts(talk, outcome?.interrupts ?? [], about);
  },

  RUN_ERROR(talk, { message, code }, about) {
    const isRefusal = about.action !== undefined;
    if (code === "message_withdrawn") return talk.drop(({ id }) => id === about.messageId);
    const asked =
      talk.find(about.messageId ?? talk.run?.messageId) ?? talk.lastMessage("user", about.runId ?? undefined);
    const begun = about.runId ? talk.lastMessage("assistant", about.runId) : undefined;
    if (asked) {
      const failed = {
        text: message,
        retryable: Boolean(about.retryable),
        sameId: isRefusal,
        askedBy: asked.id,
        code,
        retryAfter: about.retryAfter,
        resetsAt: about.resetsAt,
        canContinue: about.canContinue === true,
      };
      talk.change((begun ?? asked).id, { failed, delivery: undefined } as unknown as Partial<Item>);
    } else
      talk.put(
        { ...note(`error:${about.requestId ?? about.seq}`, "error"), label: message, reason: code } as NoteItem,
        about,
      );
    if (!isRefusal) endRun(talk, about.runId);
  },

  STATE_SNAPSHOT(talk, { snapshot }, about) {
    if (about.resume?.interrupts) putWaiting(talk, about.resume.interrupts, about.resume.lastSeq);
    if (talk.isOver(about)) return; // what was loaded is newer
    // Inside a run the conversation goes on, even if the snapshot still tells how it stood before the run.
    talk.state = about.runId ? { ...snapshot, status: "active" } : snapshot;
    if (snapshot.activeAgent?.isMain) talk.mainId = snapshot.activeAgent.id;
  },

  STATE_DELTA(talk, { delta }, about) {
    if (talk.state && !talk.isOver(about)) talk.state = patched(talk.state, delta ?? []);
  },

  MESSAGES_SNAPSHOT(talk, { messages }, about) {
    talk.merge(messages ?? []);
    if (!about.replayed) talk.historySeq = 0;
  },

  TEXT_MESSAGE_START(talk, { messageId, name }, about) {
    const known = talk.find(messageId);
    if (known?.ordinal !== undefined) return talk.put(known, about); // it is stored, and so complete
    const begun = { id: messageId, role: "assistant", content: "", open: true } as const;
    talk.put(
      {
        ...begun,
        ...(name !== undefined && { name }),
        ...(about.agentId && { agentId: about.agentId }),
        ...(about.author && { author: about.author }),
        isOfDesk: about.source === "desk",
      },
      about,
    );
  },

  TEXT_MESSAGE_CONTENT(talk, { messageId, delta }, about) {
    const message = talk.find(messageId) as MessageItem | undefined;
    if (!message) talk.put({ id: messageId, role: "assistant", content: delta, open: true }, about);
    else if (message.open && typeof message.content === "string")
      talk.change(messageId, { content: message.content + delta });
  },

  TEXT_MESSAGE_END(talk, { messageId }, { sources, consulted, attachments, finishReason, takenBack }) {
    if (takenBack) return talk.drop(({ id }) => id === messageId); // it was the model's thinking
    talk.change(messageId, {
      open: false,
      ...(sources && { sources }),
      ...(consulted && { consulted }),
      ...(attachments && { attachments }),
      truncated: finishReason === "length",
    } as Partial<Item>);
  },

  REASONING_MESSAGE_START(talk, { messageId: id }, about) {
    const { agentId, agentName: name } = about;
    talk.put({ id, role: "thinking", text: "", open: true, agentId, name } as ThinkingItem, about);
  },

  REASONING_MESSAGE_CONTENT(talk, { messageId: id, delta }, about) {
    const thought = (talk.find(id) ?? { open: true, text: "" }) as ThinkingItem;
    if (thought.open) talk.put({ ...thought, id, role: "thinking", text: thought.text + delta }, about);
  },

  REASONING_MESSAGE_END(talk, { messageId }) {
    talk.change(messageId, { open: false });
  },

  TOOL_CALL_START(talk, { toolCallId, toolCallName }, about) {
    const { label } = about;
    const id = `tool:${toolCallId}`;
    const known = talk.find(id);
    if (known?.ordinal !== undefined) return talk.put(known, about);
    talk.put(
      { id, role: "tool", callId: toolCallId, name: toolCallName, args: "", open: true, ...(label && { label }) },
      about,
    );
  },

  TOOL_CALL_ARGS(talk, { toolCallId, delta }) {
    const call = talk.find(`tool:${toolCallId}`) as ToolItem | undefined;
    if (call?.open) talk.change(call.id, { args: call.args + delta });
  },

  TOOL_CALL_RESULT(talk, { toolCallId, content }, { outcome }) {
    talk.change(`tool:${toolCallId}`, { result: content, open: false, ...(outcome && { outcome }) } as Partial<Item>);
  },

  ACTIVITY_SNAPSHOT(talk, { messageId: id, activityType, content, replace }, about) {
    const known = talk.find(id);
    if (known && replace === false) return;
    if (activityType === "research") {
      const agents = known?.role === "research" ? known.agents : [];
      talk.put(withAgents({ id, role: "research", content, agents, open: true }), about);
      for (const { id: agentId } of content.agents ?? []) showInResearch(talk, about.runId, toolFor(agentId));
    } else if (content?.toolCallId) {
      talk.change(`tool:${content.toolCallId}`, { progress: content.label } as Partial<Item>);
    } else if (content?.label) {
      const { label, reason, to } = content;
      talk.put({ ...note(id, activityType), label, reason, to } as NoteItem, about);
    }
  },

  ACTIVITY_DELTA(talk, { messageId, patch }) {
    const item = talk.find(messageId);
    if (item?.role !== "research") return;
    const changed = withAgents({ ...item, content: patched(item.content, patch ?? []) });
    talk.change(messageId, talk.run ? changed : { ...changed, open: false });
  },

  SUBAGENT_STARTED(talk, { subagentRunId, name, parentToolCallId }, about) {
    const isOfRun = (item: Item) => item.role === "research" && item.runId === about.runId;
    if (!talk.items.some(isOfRun)) {
      talk.put({ id: `research:${about.runId}`, role: "research", content: {}, agents: [], open: true }, about);
    }
    const research = talk.items.findLast(isOfRun) as ResearchItem;
    setAgent(talk, research, { id: subagentRunId, name: name ?? subagentRunId, progress: "working" });
    if (parentToolCallId) talk.change(`tool:${parentToolCallId}`, { inResearch: true });
  },

  SUBAGENT_FINISHED(talk, { subagentRunId, outcome }) {
    progressed(talk, subagentRunId, { progress: outcome?.type === "suspended" ? "waiting" : "done" });
  },

  SUBAGENT_ERROR(talk, { subagentRunId, message, code }) {
    const end: Partial<AskedAgent> =
      code === "cancelled" ? { progress: "stopped" } : { progress: "failed", message: message ?? null };
    progressed(talk, subagentRunId, end);
  },

  CUSTOM(talk, { name, value }, about) {
    if (name === "message_accepted") {
      const item = talk.find(String(value.messageId));
      const waits = (value.busy ?? null) as NonNullable<MessageItem["waits"]> | null;
      if (item?.role === "user" && item.delivery) talk.change(item.id, { delivery: "accepted", waits });
    }
    if (name === "message_steered") putSteered(talk, value, about);
    if (name === "thread_title" && typeof value.title === "string") talk.title = value.title;
    if (name === "branch_selected" && !talk.isOver(about)) {
      talk.cutAfter((value.after as string | null) ?? null);
      talk.isCut = true; // what follows is stored, and no event tells it again
    }
    if (name === "spending_warning") {
      const { account, percent, resetsAt } = value;
      const warning = note(`spending:${about.runId}:${account}`, "spending");
      talk.put({ ...warning, percent: Number(percent), resetsAt: String(resetsAt) }, about);
    }
    if (name !== "thread_closed") return;
    if (talk.state && !talk.isOver(about)) talk.state = { ...talk.state, status: "closed" };
    const reason = String(value.reason);
    talk.closedBecause = reason;
    const person = (value.person ?? null) as { readonly name?: string } | null;
    const end = { ...note(`closed:${about.seq}`, "closed"), reason, ...(person?.name ? { name: person.name } : {}) };
    if (about.seq !== undefined) talk.put(end, about);
  },
};

const isEvent = (said: StoredMessage | EventMessage): said is EventMessage => said.role === "activity";

const note = (id: string, kind: string): NoteItem => ({ id, role: "note", kind, open: false });

const PROGRESS: Readonly<Record<string, AgentProgress>> = {
  working: "working",
  completed: "done",
  failed: "failed",
  timed_out: "late",
  cancelled: "stopped",
};

/** Completes the agents of a consultation by those that its content names, and tells whether it still goes on. */
function withAgents(research: ResearchItem): ResearchItem {
  const started = research.agents.filter(({ id }) => !id.startsWith("asked:"));
  const names = started.map(({ name }) => name);
  const asked = (research.content.agents ?? [])
    .map(({ id, name, status }) => ({
      id: `asked:${id}`,
      name: name ?? id,
      progress: PROGRESS[status ?? ""] ?? "asked",
    }))
    .filter(({ name }) => !names.includes(name));
  const agents = [...started, ...asked];
  return { ...research, agents, open: agents.some(isAtWork) };
}

const isAtWork = ({ progress }: AskedAgent): boolean => progress === "working" || progress === "asked";

/** The tool by which an agent is asked. */
const toolFor = (agentId: string): string => `ask_${agentId.replaceAll("-", "_")}`;

/** A worker that takes over uses the answers that agents have given, and starts none: their calls are known by name. */
function showInResearch(talk: Conversation, runId: string | null | undefined, name: string): void {
  if (runId == null) return;
  const isCall = (item: Item) => item.role === "tool" && item.runId === runId && item.name === name && !item.inResearch;
  talk.changeAll((item) => (isCall(item) ? { inResearch: true } : null));
}

function setAgent(talk: Conversation, research: ResearchItem, agent: AskedAgent): void {
  const at = research.agents.findIndex(({ id }) => id === agent.id);
  const agents = at < 0 ? [...research.agents, agent] : research.agents.with(at, agent);
  talk.change(research.id, withAgents({ ...research, agents }));
}

function progressed(talk: Conversation, id: string, change: Partial<AskedAgent>): void {
  for (const item of talk.items) {
    const agent = item.role === "research" ? item.agents.find((known) => known.id === id) : undefined;
    if (item.role === "research" && agent) return setAgent(talk, item, { ...agent, ...change });
  }
}

/** Whether the call that asks an agent has ended before the agent: its work goes on in the background. */
const isAnswered = (talk: Conversation, { runId }: ResearchItem, { id }: AskedAgent): boolean =>
  talk.items.some(
    (item) =>
      item.role === "tool" &&
      item.runId === runId &&
      item.name === toolFor(id.replace("asked:", "")) &&
      item.outcome === "succeeded",
  );

/** Nothing of the run goes on any more, however it ended; what works in the background is no part of it. */
function endRun(talk: Conversation, runId: string | null | undefined): void {
  talk.changeAll((item) => {
    if (item.runId !== runId && item.runId != null) return null;
    if (item.role !== "research" || !item.agents.some(isAtWork)) return item.open ? { open: false } : null;
    const agents = item.agents.map((agent) =>
      isAtWork(agent)
        ? { ...agent, progress: isAnswered(talk, item, agent) ? ("background" as const) : ("stopped" as const) }
        : agent,
    );
    return { open: false, agents };
  });
  talk.run = null;
}

function putInterrupts(talk: Conversation, interrupts: readonly Interrupt[], about: EventMetadata): void {
  for (const interrupt of interrupts) {
    const item = interruptItem(talk, interrupt);
    if (item) talk.putBefore(`tool:${interrupt.toolCallId}`, item, about);
  }
}

/** What a conversation waits for since before this client came: nothing has been said after it. */
function putWaiting(talk: Conversation, interrupts: readonly Interrupt[], seq: number): void {
  for (const interrupt of interrupts) {
    const item = interruptItem(talk, interrupt);
    if (item) talk.putBefore(`tool:${interrupt.toolCallId}`, { ...item, seq });
  }
}

function interruptItem(talk: Conversation, interrupt: Interrupt): InterruptItem | null {
  const id = `interrupt:${interrupt.id}`;
  if (talk.find(id)) return null;
  const call = talk.find(`tool:${interrupt.toolCallId}`) as ToolItem | undefined;
  if (call) talk.change(call.id, { waits: true });
  const args = call?.args ?? interrupt.metadata?.arguments;
  return { id, role: "interrupt", interrupt, args, answer: null, settled: false, open: false } as InterruptItem;
}

/** The next run answers what the one before asked for, or gives it up. */
function settleInterrupts(
  talk: Conversation,
  event: Extract<KnownEvent, { type: "RUN_STARTED" }>,
  { seq }: EventMetadata,
): void {
  const refused: string[] = [];
  const parent = event.parentRunId ?? event.input?.parentRunId;
  talk.changeAll((item) => {
    if (item.role !== "interrupt" || item.settled || item.runId === event.runId) return null;
    if (seq !== undefined && item.seq !== undefined && seq <= item.seq) return null; // told again, of earlier
    const given = event.input?.resume?.find(({ interruptId }) => interruptId === item.interrupt.id);
    const isContinued = parent != null && (item.runId == null || parent === item.runId);
    const status = given?.payload?.approved === false ? "cancelled" : given?.status;
    const answer = (status ?? (isContinued ? (item.answer ?? "answered") : "passed")) as InterruptItem["answer"];
    if (answer === "passed" && item.interrupt.toolCallId) refused.push(`tool:${item.interrupt.toolCallId}`);
    return { settled: true, answer };
  });
  for (const id of refused) talk.change(id, { outcome: "refused", waits: false });
}
