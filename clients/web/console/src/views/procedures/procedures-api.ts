import type { ConsoleApi, Page } from "../../api/console-api.ts";

/** Bytes of a SKILL.md, as the server limits them. */
export const MOST_BYTES = 64 * 1024;
const MARKDOWN = "text/markdown";

export type Status = "pending" | "approved" | "rejected" | "retired";
export const STATUSES: readonly Status[] = ["pending", "approved", "rejected", "retired"];

export interface Procedure {
  readonly id: string;
  readonly agentId: string;
  readonly scope: "agent" | "tenant";
  readonly version: number;
  readonly status: Status;
  readonly name: string;
  readonly description: string;
  readonly triggers: readonly string[];
  readonly steps: readonly { readonly text: string; readonly condition: string | null }[];
  readonly allowedTools: readonly string[];
  readonly source: { readonly threadId: string; readonly runId: string | null } | null;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  readonly reason: string | null;
  readonly used: number;
  readonly wentWell: number;
}

export interface ReadProcedure extends Procedure {
  readonly versions: readonly Procedure[];
  readonly nextCursor: string | null;
}

export interface SourceMessage {
  readonly id: string;
  readonly role: "user" | "assistant" | "tool";
  readonly agentId: string | null;
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly toolName: string | null;
  readonly outcome: "succeeded" | "failed" | "refused" | null;
  readonly cut: boolean;
}

export interface SourceTurns {
  readonly threadId: string | null;
  readonly runId: string | null;
  readonly messages: readonly SourceMessage[];
  readonly missing: number;
  readonly redacted: boolean;
}

export interface Match {
  readonly id: string;
  readonly title: string;
  readonly score: number | null;
  readonly signals: Readonly<Record<string, number>>;
  readonly included: boolean;
  readonly reason: string | null;
  readonly ambiguous: boolean;
}

/** A version is decided on as it was read: its number and its status. */
const asRead = ({ version, status }: Procedure) => ({ "If-Match": `"${version}-${status}"` });
const pathOf = (agentId: string, id: string): readonly string[] => ["agents", agentId, "procedures", id];

export const listProcedures = (
  api: ConsoleApi,
  status: Status,
  cursor: string | null,
  signal: AbortSignal,
): Promise<Page<Procedure>> => api.page<Procedure>(["procedures"], { status, cursor }, signal);

export const readProcedure = (
  api: ConsoleApi,
  agentId: string,
  id: string,
  { version, cursor }: { version?: number | null; cursor?: string | null },
  signal: AbortSignal,
): Promise<ReadProcedure> =>
  api.get<ReadProcedure>(pathOf(agentId, id), { version: version ?? null, cursor: cursor ?? null }, signal);

export async function readSkill(
  api: ConsoleApi,
  agentId: string,
  id: string,
  version: number,
  signal: AbortSignal,
): Promise<string> {
  return (await api.send([...pathOf(agentId, id), "SKILL.md"], { parameters: { version }, signal })).text();
}

export const readSource = (
  api: ConsoleApi,
  agentId: string,
  id: string,
  version: number,
  signal: AbortSignal,
): Promise<SourceTurns> => api.get<SourceTurns>([...pathOf(agentId, id), "source"], { version }, signal);

export async function decide(
  api: ConsoleApi,
  agentId: string,
  read: Procedure,
  action: "approve" | "reject" | "retire",
  reason: string,
): Promise<Procedure> {
  const { version, id } = read;
  const headers = asRead(read);
  const path = pathOf(agentId, id);
  if (action === "retire") {
    return (await api.request<Procedure>(path, { method: "DELETE", parameters: { version, reason }, headers })).value;
  }
  const body = action === "reject" ? { version, reason } : { version };
  return (await api.request<Procedure>([...path, action], { method: "POST", body, headers })).value;
}

export async function saveSkill(api: ConsoleApi, agentId: string, read: Procedure, text: string): Promise<Procedure> {
  const answer = await api.request<Procedure>(pathOf(agentId, read.id), {
    method: "PUT",
    text: { content: text, type: MARKDOWN },
    headers: asRead(read),
  });
  return answer.value;
}

export async function tryMessage(
  api: ConsoleApi,
  agentId: string,
  query: string,
  signal: AbortSignal,
): Promise<{ readonly items: readonly Match[]; readonly error: string | null }> {
  const path = ["agents", agentId, "procedures", "match"];
  return (
    await api.request<{ items: Match[]; error: string | null }>(path, { method: "POST", body: { query }, signal })
  ).value;
}
