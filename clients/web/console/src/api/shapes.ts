/** What the API serves, as far as the console shows it. Fields that are null here are null on the wire. */

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

export interface Thread {
  readonly id: string;
  readonly title: string | null;
  readonly userId: string;
  readonly agentId: string;
  readonly parentThreadId: string | null;
  readonly status: "active" | "closed";
  readonly state: { readonly activeAgent: { readonly id: string; readonly name: string } };
  readonly usage: Usage;
  readonly run: {
    readonly runId: string;
    readonly messageId: string;
    readonly status: "running" | "interrupted";
  } | null;
  readonly interrupts: readonly Readonly<Record<string, unknown>>[];
  readonly lastSeq: number;
  readonly createdAt: string;
  readonly lastActivityAt: string;
  /** Answers that the user has not read. */
  readonly unread: number;
  /** Null where the deployment states no prices. */
  readonly cost?: number | null;
  /** The code of the last failure that a run has ended with. */
  readonly lastError?: string | null;
}

export interface Turn {
  readonly runId: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly status: "running" | "interrupted" | "success" | "cancelled" | "error" | "interrupt" | "delivered";
  readonly agentId: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly usage: Usage;
  readonly firstTokenMs?: number | null;
  readonly model?: string | null;
  readonly cost?: number | null;
  readonly errorCode?: string | null;
  readonly traceId?: string;
}

/** A step of a turn, of the local cloud's collector. Times are milliseconds since 1970. */
export interface Span {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly isFailed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** What an answer rests on. */
export interface Source {
  readonly kind: string;
  readonly id: string;
  readonly title?: string | null;
  readonly agentId?: string | null;
  readonly library?: string | null;
  readonly section?: string | null;
  readonly page?: number | null;
  readonly number?: number | null;
  readonly excerpt?: string;
}

export interface Message {
  readonly id: string;
  readonly role: "user" | "assistant" | "tool";
  readonly content?: string | readonly Readonly<Record<string, unknown>>[];
  readonly metadata: {
    readonly ordinal: number;
    readonly runId: string | null;
    readonly status: string;
    readonly agentId: string | null;
    readonly agentName: string | null;
    readonly timestamp: string;
    readonly tokens: number | null;
    readonly sources?: readonly Source[];
    readonly consulted?: readonly Source[];
    readonly [name: string]: unknown;
  };
  readonly feedback?: { readonly rating: string; readonly comment: string | null };
}

export interface ToolCall {
  readonly id: string;
  readonly runId: string;
  readonly taskId: string | null;
  readonly agentId: string;
  readonly toolName: string;
  /** The tool's name for people. */
  readonly label?: string | null;
  readonly input: unknown;
  readonly output: string | null;
  readonly succeeded: boolean;
  readonly errorMessage: string | null;
  readonly calledAt: string;
  readonly durationMs: number;
}

export interface Task {
  readonly taskId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly agentId: string;
  readonly status: "working" | "completed" | "failed" | "timed_out" | "cancelled";
  readonly message: string;
  readonly result: string | null;
  readonly error: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number | null;
  readonly usage: Usage;
}

export interface Handoff {
  readonly id: string;
  readonly sourceAgentId: string;
  readonly targetAgentId: string;
  readonly handoffReason: string;
  readonly contextSummary: string;
  readonly outcome: string | null;
  readonly childThreadId: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export interface CompletedWorkflow {
  readonly id: string;
  readonly agentId: string;
  readonly userId: string;
  readonly threadId: string;
  readonly name: string;
  readonly state: string;
  readonly data: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly result: string | null;
  readonly completedAt: string;
}

export interface Schedule {
  readonly id: string;
  readonly userId: string;
  readonly agentId: string;
  readonly threadId: string;
  readonly text: string;
  readonly rule: string | null;
  readonly timeZone: string;
  readonly status: "active" | "paused" | "finished";
  readonly nextAt: string | null;
  readonly paused: boolean;
  readonly runs: number;
}

/** Work that goes on after the run that has begun it. */
export interface BackgroundTask {
  readonly taskId: string;
  readonly kind: "agent" | "remote_agent" | "tool";
  readonly name: string;
  readonly status: "working" | "waiting" | "completed" | "failed" | "cancelled" | "expired";
  readonly startedAt: string;
  readonly progress: string | null;
  readonly expiresAt: string;
  readonly resultRunId: string | null;
}

export interface WebhookDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  readonly threadId: string;
  readonly userId: string;
  readonly diedAt: string;
  readonly reason: string;
}

export interface AuditRecord {
  readonly id: string;
  readonly timestamp: string;
  readonly userId: string;
  readonly threadId: string | null;
  readonly action: string;
  readonly outcome: string;
  readonly detail: Readonly<Record<string, unknown>>;
}
