/** What travels between Baton and a client: AG-UI 1.0 events, and the JSON of the HTTP API. */

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description?: string | null;
  readonly avatarUrl?: string | null;
  readonly isMain?: boolean;
}

export interface Workflow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly label?: string | null;
  readonly step?: number | null;
  readonly steps?: number | null;
  readonly canExit?: boolean;
  /** Of one that can be continued: when it was left. */
  readonly updatedAt?: string;
}

/** A person of a desk, as users see them. */
export interface Person {
  readonly kind: "person";
  readonly id: string;
  readonly name: string;
  readonly avatarUrl?: string | null;
}

/** A conversation at a desk, where people answer. */
export interface Desk {
  readonly agentId: string;
  readonly status: "waiting" | "active";
  readonly since: string;
  /** Who has taken it; `null` while it waits. */
  readonly person: Person | null;
  /** Conversations that waited already when it came, 50 at most; `null` where that is not known. */
  readonly ahead: number | null;
}

/** A desk that a user may ask for. */
export interface OfferedDesk {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly avatarUrl?: string | null;
  readonly isOpen: boolean;
  /** When it opens next; `null` while it is open. */
  readonly opensAt: string | null;
}

/** An agent of `GET /v1/agents`. */
export interface ListedAgent extends Agent {
  readonly main: boolean;
  /** Whether conversations begin with it that name no agent. */
  readonly isDefault?: boolean;
  readonly desks?: readonly OfferedDesk[];
}

/** Who answers and in which workflow: the `state` of a thread. */
export interface ThreadState {
  readonly activeAgent?: Agent;
  readonly desk?: Desk | null;
  readonly workflow?: Workflow | null;
  readonly resumable?: readonly Workflow[];
  readonly status?: "active" | "closed";
}

export interface Source {
  readonly kind: string;
  readonly id: string;
  readonly title?: string | null;
  readonly agentId?: string | null;
  /** The library of the project that has the document, if it is not the agent's own. */
  readonly library?: string;
  readonly score?: number | null;
  readonly section?: string | null;
  readonly page?: number | null;
  /** What `page` counts, if not pages. */
  readonly pageUnit?: "page" | "sheet";
  readonly url?: string | null;
  /** The number by which a text cites the passage, as in `[2]`. */
  readonly number?: number | null;
  /** The beginning of a passage that is cited, or the part of it that the question is about. */
  readonly excerpt?: string;
  /** Where the text cites it by number: offsets of characters, not of UTF-16 units. */
  readonly places?: readonly { readonly start: number; readonly end: number }[];
}

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** An image or a document: inside the message (`data`), on the web (`url`) or uploaded before (`file`). */
export interface FilePart {
  readonly type: "image" | "document" | "binary";
  readonly source?: {
    readonly type: "data" | "url" | "file";
    readonly value: string;
    readonly mimeType?: string;
    readonly provider?: string;
  };
  readonly metadata?: {
    readonly name?: string;
    readonly size?: number;
    readonly mimeType?: string;
    readonly downloadUrl?: string | null;
  };
}

export type Part = TextPart | FilePart;
export type Content = string | readonly Part[];

/** Whether it can be shown as what somebody said: what a store or another script gives may be anything. */
export const isContent = (value: unknown): value is Content =>
  typeof value === "string" || (Array.isArray(value) && value.every(isPartOfContent));

function isPartOfContent(value: unknown): value is Part {
  const { type, text } = (value ?? {}) as { type?: unknown; text?: unknown };
  return typeof type === "string" && (type !== "text" || typeof text === "string");
}

export interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
  readonly metadata?: { readonly label?: string };
}

/** A message as `GET /v1/threads/{id}/messages` tells it. */
export interface StoredMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: Content | null;
  readonly name?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly feedback?: Feedback | null;
  readonly metadata?: {
    readonly ordinal?: number;
    readonly isSteered?: boolean;
    readonly runId?: string;
    readonly status?: "complete" | "cancelled";
    readonly finishReason?: "length" | null;
    readonly refusedBy?: string;
    readonly agentId?: string | null;
    readonly agentName?: string | null;
    readonly isHandoffSummary?: boolean;
    readonly timestamp?: string;
    readonly sources?: readonly Source[];
    readonly consulted?: readonly Source[];
    readonly outcome?: CallOutcome;
    /** What has begun the run, of a message of the role `event`; `desk` of a sentence about a desk. */
    readonly source?: { readonly kind: string; readonly type?: string } | string | null;
    /** The person of a desk who wrote it, and the files of their message. */
    readonly author?: Person;
    readonly attachments?: readonly FilePart[];
  };
}

export type Rating = "up" | "down" | "none";

/** What the user thinks of an answer. */
export interface Feedback {
  readonly rating: Exclude<Rating, "none">;
  readonly comment: string | null;
  readonly updatedAt: string;
}

export type CallOutcome = "succeeded" | "failed" | "refused";

export interface Interrupt {
  readonly id: string;
  readonly reason: string;
  readonly message?: string;
  readonly toolCallId?: string;
  readonly responseSchema?: JsonSchema;
  readonly expiresAt?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** One argument of a call that waits for approval, in words; an empty `text` makes it a heading of those within. */
export interface CardField {
  readonly name: string;
  readonly label: string;
  readonly text: string;
  /** The number of objects and lists around it. */
  readonly depth: number;
  /** Whether the question shows the whole value. */
  readonly inText: boolean;
}

/** As much of JSON Schema as forms are made of. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

export interface Thread {
  readonly id: string;
  readonly title?: string | null;
  readonly agentId: string;
  readonly status: "active" | "closed";
  readonly state: ThreadState | null;
  readonly interrupts?: readonly Interrupt[];
  readonly run: { readonly runId: string; readonly messageId: string; readonly status: string } | null;
  readonly lastSeq: number;
  readonly createdAt: string;
  readonly lastActivityAt: string;
  /** Answers that the user has not read */
  readonly unread?: number;
}

/** What has changed in a conversation of the user's that does not show: CUSTOM `thread_updated`. */
export interface ThreadUpdate {
  readonly threadId: string;
  readonly title: string | null;
  readonly unread: number;
  readonly lastActivityAt: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface MessagePage extends Page<StoredMessage> {
  readonly lastSeq: number;
}

/** How a run begins a branch: `after` is the last message that both have in common, `null` if there is none. */
export interface BranchStart {
  readonly branchId: string;
  readonly from: string;
  readonly regenerate?: boolean;
  readonly after: string | null;
}

/** One of several ways on from a message: those with the same `after` are alternatives of each other. */
export interface Branch {
  readonly branchId: string;
  readonly messageId: string;
  readonly after: string | null;
  readonly regenerate: boolean;
  readonly selected: boolean;
  readonly startedAt: string;
  readonly text?: string;
}

export interface EventMetadata {
  readonly threadId?: string;
  readonly runId?: string | null;
  readonly seq?: number;
  readonly attempt?: number;
  readonly previousSeq?: number;
  readonly messageId?: string;
  readonly agentId?: string;
  readonly agentName?: string;
  readonly replayed?: boolean;
  readonly retryable?: boolean;
  readonly retryAfter?: number;
  readonly resetsAt?: string;
  readonly canContinue?: boolean;
  readonly requestId?: string;
  readonly action?: string;
  readonly outcome?: CallOutcome;
  /** Of a call: the tool's name for people. */
  readonly label?: string;
  readonly sources?: readonly Source[];
  readonly consulted?: readonly Source[];
  readonly finishReason?: string | null;
  readonly takenBack?: boolean;
  readonly refusedBy?: string;
  readonly author?: Person;
  /** `desk` of a sentence about a desk. */
  readonly source?: string;
  readonly attachments?: readonly FilePart[];
  readonly branch?: BranchStart;
  readonly part?: number;
  readonly of?: number;
  readonly resume?: {
    readonly after: number;
    readonly lastSeq: number;
    readonly runId: string | null;
    readonly interrupts?: readonly Interrupt[];
  };
}

export interface PatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export interface Outcome {
  /** `delivered`: people answer the message, and no agent does. */
  readonly type: "success" | "cancelled" | "interrupt" | "delivered";
  readonly interrupts?: readonly Interrupt[];
}

/** Work that outlives the run that began it. Its result begins another run. */
export interface BackgroundTask {
  readonly taskId: string;
  readonly kind: "agent" | "remote_agent" | "tool";
  /** The id of the agent, or the name of the tool. */
  readonly name: string;
  readonly status: "working" | "waiting" | "completed" | "failed" | "cancelled" | "expired";
  /** How far it is, in the worker's own words. */
  readonly progress: string | null;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly resultRunId: string | null;
}

/** A time, or several, at which a run begins by itself. */
export interface Schedule {
  readonly id: string;
  readonly agentId: string;
  readonly threadId: string;
  readonly text: string;
  readonly rule: string | null;
  readonly timeZone: string;
  readonly status: "active" | "paused" | "finished";
  readonly nextAt: string | null;
  readonly paused: boolean;
}

/** What has begun a run by itself. */
export interface EventMessage {
  readonly id: string;
  readonly role: "activity";
  readonly content: { readonly kind?: string; readonly label?: string };
}

/** What is said or asked when a run begins. */
export interface RunInput {
  readonly messages?: readonly (StoredMessage | EventMessage)[];
  readonly resume?: readonly {
    readonly interruptId: string;
    readonly status: string;
    readonly payload?: { readonly approved?: unknown } | null;
  }[];
  readonly parentRunId?: string;
}

interface Described<Type extends string> {
  readonly type: Type;
  readonly metadata?: EventMetadata;
}

export type KnownEvent =
  | (Described<"RUN_STARTED"> & { runId: string; threadId?: string; parentRunId?: string; input?: RunInput })
  | (Described<"RUN_FINISHED"> & { runId: string; outcome?: Outcome })
  | (Described<"RUN_ERROR"> & { message: string; code?: string })
  | (Described<"STATE_SNAPSHOT"> & { snapshot: ThreadState })
  | (Described<"STATE_DELTA"> & { delta: readonly PatchOperation[] })
  | (Described<"MESSAGES_SNAPSHOT"> & { messages: readonly StoredMessage[] })
  | (Described<"TEXT_MESSAGE_START"> & { messageId: string; role?: string; name?: string })
  | (Described<"TEXT_MESSAGE_CONTENT"> & { messageId: string; delta: string })
  | (Described<"TEXT_MESSAGE_END"> & { messageId: string })
  | (Described<"REASONING_START"> & { messageId: string })
  | (Described<"REASONING_MESSAGE_START"> & { messageId: string; role?: string })
  | (Described<"REASONING_MESSAGE_CONTENT"> & { messageId: string; delta: string })
  | (Described<"REASONING_MESSAGE_END"> & { messageId: string })
  | (Described<"REASONING_END"> & { messageId: string })
  | (Described<"TOOL_CALL_START"> & { toolCallId: string; toolCallName: string; parentMessageId?: string })
  | (Described<"TOOL_CALL_ARGS"> & { toolCallId: string; delta: string })
  | (Described<"TOOL_CALL_END"> & { toolCallId: string })
  | (Described<"TOOL_CALL_RESULT"> & { toolCallId: string; messageId?: string; content: string })
  | (Described<"ACTIVITY_SNAPSHOT"> & {
      messageId: string;
      activityType: string;
      content: ActivityContent;
      replace?: boolean;
    })
  | (Described<"ACTIVITY_DELTA"> & { messageId: string; activityType?: string; patch: readonly PatchOperation[] })
  | (Described<"STEP_STARTED"> & { stepName: string })
  | (Described<"STEP_FINISHED"> & { stepName: string })
  | (Described<"SUBAGENT_STARTED"> & { subagentRunId: string; name?: string; parentToolCallId?: string })
  | (Described<"SUBAGENT_FINISHED"> & { subagentRunId: string; outcome?: { type: string } })
  | (Described<"SUBAGENT_ERROR"> & { subagentRunId: string; message?: string; code?: string })
  | (Described<"CUSTOM"> & { name: string; value: Readonly<Record<string, unknown>> })
  | Described<"PONG">;

export interface ActivityContent {
  readonly label?: string;
  /** The call of whose progress it is. */
  readonly toolCallId?: string;
  readonly notice?: string | null;
  readonly from?: string;
  readonly to?: string;
  readonly reason?: string;
  readonly agents?: readonly { readonly id: string; readonly name?: string; readonly status?: string }[];
}

/** An event of a kind that this version does not know: it counts, and changes nothing. */
export interface UnknownEvent {
  readonly type: string;
  readonly metadata?: EventMetadata;
}

export type BatonEvent = KnownEvent | UnknownEvent;

/** A slice of an event that is larger than a frame. */
export interface PartFrame {
  readonly type: "PART";
  readonly data: string;
  /** `digest` is that of the whole event's text. Servers before 2026-12 sent none. */
  readonly metadata: { readonly seq?: number; readonly part: number; readonly of: number; readonly digest?: string };
}

/** A frame that a client sends. */
export interface ClientFrame {
  readonly action: string;
  readonly threadId?: string;
  readonly [field: string]: unknown;
}
