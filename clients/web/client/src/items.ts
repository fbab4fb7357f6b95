import type { ActivityContent, CallOutcome, Content, Feedback, FilePart, Interrupt, Person, Source } from "./wire.ts";

/** What there is to show of a conversation, in order. Items are replaced, never changed: the same object is the same sight. */
export type Item = MessageItem | ThinkingItem | NoteItem | ResearchItem | ToolItem | InterruptItem;

interface Shown {
  readonly id: string;
  /** While it goes on: text that streams, a call without its result. */
  readonly open: boolean;
  readonly runId?: string | null;
  /** Which worker's attempt at the run it is of. */
  readonly attempt?: number;
  /** The number of the event that began it. */
  readonly seq?: number;
  /** Its place among the stored messages. */
  readonly ordinal?: number;
}

/** What went wrong with a message, or with the run that it began. */
export interface Failure {
  readonly text: string;
  readonly code?: string | undefined;
  readonly retryable: boolean;
  /** Seconds after which it may succeed, where the server says so. */
  readonly retryAfter?: number | undefined;
  /** When the spending limit is reset that was reached. */
  readonly resetsAt?: string | undefined;
  /** Whether the user may go on beyond the spending limit that was reached. */
  readonly canContinue?: boolean | undefined;
  /** Whether the same message may be sent again: the request was refused, and has no outcome. */
  readonly sameId: boolean;
  /** The message that was answered by it. */
  readonly askedBy: string;
}

export interface MessageItem extends Shown {
  readonly role: "user" | "assistant";
  readonly content: Content;
  readonly name?: string;
  readonly agentId?: string | null;
  readonly timestamp?: string;
  readonly sources?: readonly Source[];
  /** Documents that agents were given for it, and that nothing cites. */
  readonly consulted?: readonly Source[];
  readonly feedback?: Feedback | null;
  /** Stopped in the middle; what was said is kept. */
  readonly cancelled?: boolean;
  /** Cut because it was too long. */
  readonly truncated?: boolean;
  readonly failed?: Failure | null;
  /** The person of a desk who wrote it, in an agent's place; and the files that they sent with it. */
  readonly author?: Person;
  readonly attachments?: readonly FilePart[];
  /** Baton's own sentence about a desk, which no agent and no person has said. */
  readonly isOfDesk?: boolean;
  /** Of the user's own: not yet known to have reached the server, or taken and waiting for its turn. */
  readonly delivery?: "sending" | "accepted";
  /** Of the user's own, sent while a run was in progress: it waits for its turn, to enter that run, or has stopped it. */
  readonly waits?: "queued" | "steered" | "interrupts" | null;
  /** Of the user's own: it has entered a run in progress. */
  readonly steered?: boolean;
  /** Of the user's own: people answer it, and no agent does. */
  readonly delivered?: boolean;
}

/**
 * What an agent's model thinks before an answer or a call, where the agent shows it. It stands before what it led to, is no
 * part of it, and is not stored: a page that is loaded later does not have it.
 */
export interface ThinkingItem extends Shown {
  readonly role: "thinking";
  readonly text: string;
  readonly name?: string;
  readonly agentId?: string | null;
}

export type NoteKind = "handoff" | "return" | "stopped" | "closed" | "error" | "event" | "spending" | (string & {});

/**
 * A line between messages. `label` is the server's sentence; where there is none, `kind` and `reason` say what happened. An `event`
 * has begun its run by itself: `reason` is `schedule`, `event` or `task`, and `label` its text. `spending` says that
 * `percent` of what models may cost are spent, until `resetsAt`.
 */
export interface NoteItem extends Shown {
  readonly role: "note";
  readonly kind: NoteKind;
  readonly label?: string;
  readonly reason?: string;
  readonly to?: string;
  /** Who has done it, where that is a person of a desk. */
  readonly name?: string;
  readonly percent?: number;
  readonly resetsAt?: string;
}

export type AgentProgress = "asked" | "working" | "waiting" | "done" | "failed" | "late" | "stopped" | "background";

export interface AskedAgent {
  readonly id: string;
  readonly name: string;
  readonly progress: AgentProgress;
  readonly message?: string | null;
  /** It has worked in the background: another answer would begin its work again. */
  readonly wasInBackground?: boolean;
}

/** Other agents are being asked. */
export interface ResearchItem extends Shown {
  readonly role: "research";
  readonly content: ActivityContent;
  readonly agents: readonly AskedAgent[];
}

export interface ToolItem extends Shown {
  readonly role: "tool";
  readonly callId: string;
  readonly name?: string;
  /** The tool's name for people. */
  readonly label?: string;
  readonly args: string;
  readonly result?: string;
  readonly outcome?: CallOutcome;
  /** It waits, or has waited, for somebody's answer. */
  readonly waits?: boolean;
  /** How far it is, by its own words. */
  readonly progress?: string;
  /** It asks an agent that a research item of its run shows, with how far it is: it need not be shown twice. */
  readonly inResearch?: boolean;
}

export type InterruptAnswer = "resolved" | "cancelled" | "answered" | "passed";

/** What a run waits for: an approval, a form, or the result of a tool of the page's own. */
export interface InterruptItem extends Shown {
  readonly role: "interrupt";
  readonly interrupt: Interrupt;
  readonly args?: string;
  /** Whether, and how, it was answered; `passed`: the conversation went on without it. */
  readonly answer: InterruptAnswer | null;
  /**
   * Of a call of the page's own tool: it is `running` here, `offered` because it was asked for in another browser, or is to
   * be carried out `elsewhere`: this page does not have the tool, or another tab has the call.
   */
  readonly call?: "running" | "offered" | "elsewhere";
  /** The server has the answer. */
  readonly settled: boolean;
}

/** Whether it is the page's own code that is to answer. */
export const isClientCall = ({ interrupt }: InterruptItem): boolean => interrupt.reason === "client_tool";

/** The text of a message's content, whatever is attached to it. */
export function textOf(content: Content | null | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
