import type { ConsoleApi, Page } from "../../api/console-api.ts";

/** Bytes of a SKILL.md, as the server limits them. */
export const MOST_BYTES = 64 * 1024;
const MARKDOWN = "text/markdown";

export type Status = "pending" | "approved" | "rejected" | "retired" | "offered" | "private" | "shared";
/** The statuses that are listed. Private are the reader's own skills only, and offered those of all users. */
export const STATUSES: readonly Status[] = ["pending", "offered", "approved", "rejected", "retired", "private"];

export interface Procedure {
  readonly id: string;
  readonly agentId: string;
  readonly scope: "agent" | "tenant" | "user";
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

/** Whether an id is that of a private skill. Several users may have one of the same id. */
export const isPrivate = (id: string): boolean => id.startsWith("user.");

/** A version is decided on as it was read: its number and its status. */
const asRead = ({ version, status }: Procedure) => ({ "If-Match": `"${version}-${status}"` });
const pathOf = (agentId: string, id: string): readonly string[] => ["agents", agentId, "procedures", id];

export const listProcedures = (
  api: ConsoleApi,
  status: Status,
  cursor: string | null,
  signal: AbortSignal,
): Promise<Page<Procedure>> =>
  status === "private"
    ? api.page<Procedure>(["skills"], { scope: "user", cursor }, signal)
    : api.page<Procedure>(["procedures"], { status, cursor }, signal);

export const readProcedure = (
  api: ConsoleApi,
  agentId: string,
  id: string,
  { version, cursor, userId }: { version?: number | null; cursor?: string | null; userId?: string | null },
  signal: AbortSignal,
): Promise<ReadProcedure> =>
  api.get<ReadProcedure>(
    pathOf(agentId, id),
    { version: version ?? null, cursor: cursor ?? null, userId: userId ?? null },
    signal,
  );

/** Makes a private skill an approved procedure of its agent; `replaces` is the approved version of that name. */
export async function shareSkill(api: ConsoleApi, skill: Procedure, replaces: number | null): Promise<Procedure> {
  const { agentId, id, version, createdBy: userId } = skill;
  const body = { userId, version, replaces };
  return (await api.request<Procedure>([...pathOf(agentId, id), "share"], { method: "POST", body })).value;
}

export async function declineSkill(api: ConsoleApi, skill: Procedure, reason: string): Promise<Procedure> {
  const { agentId, id, version, createdBy: userId } = skill;
  const body = { userId, version, reason };
  return (await api.request<Procedure>([...pathOf(agentId, id), "decline"], { method: "POST", body })).value;
}

/** Offers the reader's own skill to be shared, or takes the offer back. */
export async function offerSkill(api: ConsoleApi, { agentId, id }: Procedure, isOffered: boolean): Promise<Procedure> {
  const method = isOffered ? "POST" : "DELETE";
  return (await api.request<Procedure>([...pathOf(agentId, id), "offer"], { method })).value;
}

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
