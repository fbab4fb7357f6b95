import type { ConsoleApi, Page } from "../../api/console-api.ts";
import type { Problem } from "../../api/problem.ts";
import { sumByKey, sumTurns, type TurnCounts } from "../../api/turn-counts.ts";
import type { LineProblem } from "../../components/code-editor.ts";

/** Bytes of a request, as the server limits them. */
export const MOST_BYTES = 256 * 1024;
const YAML = "application/yaml";

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly main: boolean;
  readonly version: number | null;
}

/** A definition as its file would have it. */
export interface AgentText {
  readonly text: string;
  /** Null: it ships with the deployment. */
  readonly version: number | null;
}

export interface FieldChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface AgentChange {
  readonly version: number;
  readonly isNew: boolean;
  readonly isStored: boolean;
  readonly changes: readonly FieldChange[];
  readonly warnings: readonly string[];
}

export interface AgentVersion {
  readonly version: number;
  readonly isDeletion: boolean;
  readonly restores: number | null;
  readonly comment: string | null;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly state: "in_force" | "candidate" | "former" | "withdrawn";
  readonly share: number | null;
  readonly evaluation: { readonly runs: number; readonly passed: number | null } | null;
}

/** The turns in which a version spoke last. */
export interface VersionFigures extends TurnCounts {
  readonly version: number;
  readonly ups: number;
  readonly downs: number;
}

export const listAgents = (api: ConsoleApi, signal: AbortSignal): Promise<Page<Agent>> =>
  api.page<Agent>(["agents"], {}, signal);

export async function readAgent(api: ConsoleApi, id: string, signal: AbortSignal): Promise<AgentText> {
  const answer = await api.send(["agents", id], { headers: { Accept: YAML }, signal });
  return { text: await answer.text(), version: versionOf(answer.headers.get("ETag")) };
}

export async function readVersion(api: ConsoleApi, id: string, version: number, signal: AbortSignal): Promise<string> {
  const path = ["agents", id, "versions", String(version)];
  return (await api.send(path, { headers: { Accept: YAML }, signal })).text();
}

/** Saves or only checks a definition. `expected` is the version that it is a change of; null: there is no such agent. */
export async function saveAgent(
  api: ConsoleApi,
  id: string,
  text: string,
  expected: number | null,
  { dryRun = false, comment = "", signal }: { dryRun?: boolean; comment?: string; signal?: AbortSignal } = {},
): Promise<AgentChange> {
  const answer = await api.request<AgentChange>(["agents", id], {
    method: "PUT",
    parameters: { ...(dryRun && { dryRun }), comment: comment.trim() },
    text: { content: text, type: YAML },
    headers: expected === null ? { "If-None-Match": "*" } : { "If-Match": `"${expected}"` },
    ...(signal && { signal }),
  });
  return answer.value;
}

export async function rollBack(
  api: ConsoleApi,
  id: string,
  version: number,
  expected: number | null,
  comment: string,
  override: string,
): Promise<AgentChange> {
  const answer = await api.request<AgentChange>(["agents", id, "rollback"], {
    method: "POST",
    body: { version, ...(comment && { comment }), ...(override && { override }) },
    headers: expected === null ? { "If-None-Match": "*" } : { "If-Match": `"${expected}"` },
  });
  return answer.value;
}

/** Sets the percentage of new sessions that use the candidate. */
export async function setShare(
  api: ConsoleApi,
  id: string,
  version: number,
  share: number,
  override: string,
): Promise<void> {
  const body = { version, share, ...(override && { override }) };
  await api.send(["agents", id, "share"], { method: "PUT", body });
}

/** Puts the candidate in force. */
export async function promote(api: ConsoleApi, id: string, version: number, override: string): Promise<void> {
  const body = { version, ...(override && { override }) };
  await api.send(["agents", id, "promote"], { method: "POST", body });
}

/** Ends the candidate, also in running sessions. */
export async function withdraw(api: ConsoleApi, id: string): Promise<void> {
  await api.send(["agents", id, "candidate"], { method: "DELETE" });
}

/** Reads the figures of all versions in the last days, by version, from all pages. */
export async function readFigures(
  api: ConsoleApi,
  id: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, VersionFigures>> {
  const entries: VersionFigures[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<VersionFigures> = await api.page(["agents", id, "figures"], { cursor }, signal);
    entries.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  const sums = sumByKey(entries, ({ version }) => String(version), sumFigures);
  return new Map([...sums.values()].map((figures) => [figures.version, figures]));
}

const sumFigures = (one: VersionFigures, other: VersionFigures): VersionFigures => ({
  ...sumTurns(one, other),
  ups: one.ups + other.ups,
  downs: one.downs + other.downs,
});

export async function deleteAgent(api: ConsoleApi, id: string, expected: number): Promise<void> {
  await api.send(["agents", id], { method: "DELETE", headers: { "If-Match": `"${expected}"` } });
}

export const listVersions = (
  api: ConsoleApi,
  id: string,
  cursor: string | null,
  signal: AbortSignal,
): Promise<Page<AgentVersion>> => api.page<AgentVersion>(["agents", id, "versions"], { cursor }, signal);

/** The problems of a definition, each with its line. */
export function problemsOf(problem: Problem): readonly LineProblem[] {
  const { errors } = problem.body;
  if (!Array.isArray(errors)) return [{ line: null, message: problem.message }];
  return errors.map((each: { field?: unknown; message?: unknown; line?: unknown }) => ({
    line: typeof each.line === "number" ? each.line : null,
    message: [each.field, each.message].filter(Boolean).map(String).join(": "),
  }));
}

function versionOf(etag: string | null): number | null {
  const found = /^(?:W\/)?"(\d+)"$/.exec(etag ?? "");
  return found ? Number(found[1]) : null;
}
