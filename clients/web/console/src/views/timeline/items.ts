import type { Handoff, Message, Task, ToolCall, Turn } from "../../api/shapes.ts";

/** What kind of thing a row of the timeline is. */
export type ItemKind = "turn" | "message" | "thinking" | "call" | "workflow" | "task" | "handoff";
export type ItemStatus = "ok" | "failed" | "running" | "waiting" | "cancelled";

/** One thing that happened in a conversation, whichever list it was read from. */
export interface Item {
  /** Unique in the conversation: the kind, and the id of the record. */
  readonly key: string;
  readonly kind: ItemKind;
  /** Who did it: `user`, or an agent's id. */
  readonly lane: string;
  readonly title: string;
  readonly status: ItemStatus;
  readonly runId: string | null;
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly durationMs: number | null;
  readonly tokens: number | null;
  /** The record as it was served. */
  readonly record: object;
}

const TITLE_LENGTH = 160;
/** Stands for the agent of what none is on record for. */
const NOBODY = "—";
/** The tool by which an agent moves its workflow on. */
const ADVANCE = "advance_workflow";
const TURN_STATUS: Readonly<Record<Turn["status"], ItemStatus>> = {
  running: "running",
  interrupted: "failed",
  success: "ok",
  cancelled: "cancelled",
  error: "failed",
  interrupt: "waiting",
  delivered: "ok",
};
const TASK_STATUS: Readonly<Record<Task["status"], ItemStatus>> = {
  working: "running",
  completed: "ok",
  failed: "failed",
  timed_out: "failed",
  cancelled: "cancelled",
};

/** Returns the beginning of a text on one line. */
export function beginning(text: string, length = TITLE_LENGTH): string {
  const line = text
    .slice(0, length * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? [])
    .map((part) => (typeof part.text === "string" ? part.text : `[${String(part.type)}]`))
    .join("\n");
}

/** A turn begins with its question; one in progress has no times yet and stands at the end. */
export function turnItem(turn: Turn, now: number): Item {
  const at = turn.startedAt === null ? now : Date.parse(turn.startedAt);
  return {
    key: `turn:${turn.runId}`,
    kind: "turn",
    lane: turn.agentId ?? NOBODY,
    title: turn.errorCode ?? turn.status,
    status: TURN_STATUS[turn.status] ?? "failed",
    runId: turn.runId,
    at,
    durationMs: turn.endedAt === null ? null : Math.max(0, Date.parse(turn.endedAt) - at),
    tokens: turn.usage.totalTokens,
    record: turn,
  };
}

export function messageItem(message: Message): Item {
  const { metadata } = message;
  const isCut = metadata.status === "cancelled";
  return {
    key: `message:${message.id}`,
    kind: "message",
    lane: message.role === "user" ? "user" : (metadata.agentId ?? NOBODY),
    title: beginning(textOf(message)),
    status: isCut ? "cancelled" : "ok",
    runId: metadata.runId,
    at: Date.parse(metadata.timestamp),
    durationMs: null,
    tokens: metadata.tokens,
    record: message,
  };
}

export function callItem(call: ToolCall): Item {
  const name = call.toolName === ADVANCE ? `→ ${nextState(call.input)}` : nameOf(call);
  return {
    key: `call:${call.id}`,
    kind: call.toolName === ADVANCE ? "workflow" : "call",
    lane: call.agentId,
    title: beginning(call.errorMessage ? `${name}: ${call.errorMessage}` : name),
    status: call.succeeded ? "ok" : "failed",
    runId: call.runId,
    at: Date.parse(call.calledAt),
    durationMs: call.durationMs,
    tokens: null,
    record: call,
  };
}

/** Returns a tool's name for people with the one for models, by which developers know it. */
const nameOf = ({ label, toolName }: ToolCall): string => (label ? `${label} (${toolName})` : toolName);

function nextState(input: unknown): string {
  const state = typeof input === "object" && input !== null ? (input as { state?: unknown }).state : null;
  return typeof state === "string" ? state : "?";
}

export function taskItem(task: Task): Item {
  return {
    key: `task:${task.taskId}`,
    kind: "task",
    lane: task.agentId,
    title: beginning(task.error ?? task.message),
    status: TASK_STATUS[task.status] ?? "failed",
    runId: task.runId,
    at: Date.parse(task.startedAt),
    durationMs: task.durationMs,
    tokens: task.usage.totalTokens,
    record: task,
  };
}

export function handoffItem(handoff: Handoff): Item {
  const isRefused = handoff.outcome === "refused" || handoff.outcome === "failed";
  return {
    key: `handoff:${handoff.id}`,
    kind: "handoff",
    lane: handoff.targetAgentId,
    title: beginning(`${handoff.sourceAgentId} → ${handoff.targetAgentId}: ${handoff.handoffReason}`),
    status: isRefused ? "failed" : handoff.outcome === null ? "running" : "ok",
    runId: null,
    at: Date.parse(handoff.startedAt),
    durationMs: handoff.endedAt === null ? null : Date.parse(handoff.endedAt) - Date.parse(handoff.startedAt),
    tokens: null,
    record: handoff,
  };
}

const RANK: Readonly<Record<ItemKind, number>> = {
  turn: 0,
  message: 1,
  thinking: 1,
  handoff: 2,
  call: 3,
  workflow: 3,
  task: 4,
};

/** Orders by time; a turn stands before what happened in it. */
export function inOrder(one: Item, other: Item): number {
  return one.at - other.at || RANK[one.kind] - RANK[other.kind] || (one.key < other.key ? -1 : 1);
}
