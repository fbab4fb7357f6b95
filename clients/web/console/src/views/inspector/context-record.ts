import type { Usage } from "../../api/shapes.ts";

export type BlockKind = "system" | "procedure" | "knowledge" | "episodes" | "history" | "current";

export interface ItemSource {
  readonly threadId: string | null;
  readonly episodeId: string | null;
  readonly messageIds: readonly string[];
  readonly documentId: string | null;
  readonly agentId: string | null;
  readonly section?: string | null;
  readonly pages?: string | null;
  readonly url?: string | null;
}

export interface Item {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly text: string;
  readonly date: string | null;
  readonly score: number | null;
  readonly signals: Readonly<Record<string, number>>;
  readonly tokens: number;
  readonly included: boolean;
  readonly reason: string | null;
  readonly masked?: boolean;
  readonly ambiguous?: boolean;
  /** The number by which answers cite a chunk of the prompt. */
  readonly number?: number;
  readonly source?: ItemSource | null;
}

export interface Block {
  readonly kind: BlockKind;
  readonly agentId: string;
  readonly taskId: string | null;
  readonly tokens: number;
  readonly budget?: number | null;
  readonly durationMs: number | null;
  readonly error: string | null;
  readonly items: readonly Item[];
}

export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
  readonly [name: string]: unknown;
}

export interface Call {
  readonly agentId: string;
  readonly taskId: string | null;
  readonly model: string | null;
  readonly beganAt: string;
  readonly messages: readonly SentMessage[];
  readonly tools: readonly string[];
  readonly estimatedTokens: number;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens?: number | null;
  readonly durationMs?: number | null;
  readonly error: string | null;
}

export interface ContextRecord {
  readonly runId: string;
  readonly threadId: string | null;
  readonly recordedAt: string | null;
  readonly budget: number | null;
  readonly redacted: boolean;
  readonly cut: readonly string[];
  readonly blocks: readonly Block[];
  readonly calls: readonly Call[];
  readonly callsLeftOut: number;
}

export interface Rerun {
  readonly answer: string;
  readonly outcome: string;
  readonly agentId: string | null;
  readonly agentVersion: number | null;
  readonly model: string | null;
  readonly context: ContextRecord;
  readonly toolCalls: readonly {
    readonly agentId: string;
    readonly toolName: string;
    readonly input: unknown;
    readonly isRecorded: boolean;
    readonly outcome: string;
    readonly output: string | null;
  }[];
  readonly usage: Usage;
  readonly durationMs: number;
}

/** The prompt with which one agent began in a turn. */
export interface AgentPrompt {
  readonly agentId: string;
  readonly taskId: string | null;
  readonly blocks: readonly Block[];
  /** The calls that were made from it. */
  readonly calls: readonly Call[];
}

/** Returns the prompts of a record, in the order in which the agents began. */
export function promptsOf(record: ContextRecord): AgentPrompt[] {
  const groups: Block[][] = [];
  for (const block of record.blocks) {
    const last = groups.at(-1);
    if (last?.[0] && block.kind !== "system" && last[0].agentId === block.agentId && last[0].taskId === block.taskId)
      last.push(block);
    else groups.push([block]);
  }
  return groups.map((blocks) => {
    const { agentId = "", taskId = null } = blocks[0] ?? {};
    const calls = record.calls.filter((call) => call.agentId === agentId && call.taskId === taskId);
    return { agentId, taskId, blocks, calls };
  });
}

/** Returns the share of the input tokens that came from the provider's cache; null where nobody counted. */
export function cachedShare(call: Call): number | null {
  if (!call.inputTokens || call.cachedInputTokens === null || call.cachedInputTokens === undefined) return null;
  return call.cachedInputTokens / call.inputTokens;
}

export interface ItemChange {
  readonly change: "came" | "went";
  readonly kind: BlockKind;
  readonly item: Item;
}

/** Returns which items are in the right prompt only, and which in the left one only. Those without id go by their text. */
export function itemChanges(left: AgentPrompt, right: AgentPrompt): ItemChange[] {
  const known = included(left);
  const now = included(right);
  const went = [...known].filter(([key]) => !now.has(key)).map(([, each]) => ({ ...each, change: "went" as const }));
  const came = [...now].filter(([key]) => !known.has(key)).map(([, each]) => ({ ...each, change: "came" as const }));
  return [...went, ...came];
}

function included(prompt: AgentPrompt): Map<string, { kind: BlockKind; item: Item }> {
  const found = new Map<string, { kind: BlockKind; item: Item }>();
  for (const { kind, items } of prompt.blocks) {
    for (const item of items) if (item.included) found.set(`${kind} ${item.id || item.text}`, { kind, item });
  }
  return found;
}

/** Returns the messages of an agent's first call as one text, for a comparison. */
export function promptText(prompt: AgentPrompt, most: number): string {
  const parts: string[] = [];
  let size = 0;
  for (const { role, content, toolCalls } of prompt.calls[0]?.messages ?? []) {
    const said = typeof content === "string" ? content : JSON.stringify(content, null, 2);
    const part = `--- ${role}\n${said}${toolCalls ? `\n${JSON.stringify(toolCalls, null, 2)}` : ""}`;
    parts.push(part.slice(0, most - size));
    size += part.length;
    if (size >= most) break;
  }
  return parts.join("\n\n");
}

/** Returns the system prompt of an agent's first call. */
export function systemText(prompt: AgentPrompt): string {
  const content = prompt.calls[0]?.messages.find(({ role }) => role === "system")?.content;
  return typeof content === "string" ? content : "";
}
