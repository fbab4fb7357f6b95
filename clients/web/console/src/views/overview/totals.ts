import { sumByKey, sumTurns, type TurnCounts } from "../../api/turn-counts.ts";

/** The turns of an agent on a day, as one page of the overview counts them. */
export interface AgentDay extends TurnCounts {
  readonly day: string;
  readonly agentId: string | null;
}

export interface SlowTurn {
  readonly threadId: string;
  readonly title: string | null;
  readonly runId: string;
  readonly durationMs: number;
}

export interface CostlyThread {
  readonly threadId: string;
  readonly title: string | null;
  readonly cost: number | null;
  readonly totalTokens: number;
}

/** One page of `GET /v1/overview`. */
export interface OverviewPage {
  readonly from: string;
  readonly to: string;
  readonly threads: number;
  readonly days: readonly AgentDay[];
  readonly errors: readonly { readonly code: string; readonly turns: number }[];
  readonly firstTokens: { readonly boundsMs: readonly number[]; readonly counts: readonly number[] };
  readonly slowest: readonly SlowTurn[];
  readonly costliest: readonly CostlyThread[];
  /** The turns of the days that began by themselves. */
  readonly selfStarted: TurnCounts;
  readonly nextCursor: string | null;
}

/** What several pages come to. */
export type Totals = Omit<OverviewPage, "nextCursor">;

const TOP = 10;

/** Adds a page to what others came to. In whatever order pages are added, the sums are the same. */
export function added(totals: Totals | null, page: OverviewPage): Totals {
  const { nextCursor: _, ...first } = page;
  if (!totals) return first;
  return {
    from: totals.from,
    to: totals.to,
    threads: totals.threads + page.threads,
    days: summed([...totals.days, ...page.days], (each) => `${each.day} ${each.agentId ?? ""}`),
    errors: errorsOf([...totals.errors, ...page.errors]),
    firstTokens: {
      boundsMs: totals.firstTokens.boundsMs,
      counts: totals.firstTokens.counts.map((count, index) => count + (page.firstTokens.counts[index] ?? 0)),
    },
    slowest: top([...totals.slowest, ...page.slowest], (one, other) => other.durationMs - one.durationMs),
    costliest: top([...totals.costliest, ...page.costliest], dearerFirst),
    selfStarted: sumTurns(totals.selfStarted, page.selfStarted),
  };
}

/** Sums up days, those with the same key into one that has the first one's day and agent; sorted by key. */
export function summed(days: readonly AgentDay[], keyOf: (day: AgentDay) => string): AgentDay[] {
  const sums = sumByKey(days, keyOf, sumTurns);
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, day]) => day);
}

/** All days and agents as one; null without any. */
export function sum(days: readonly AgentDay[]): AgentDay | null {
  return summed(days, () => "")[0] ?? null;
}

/**
 * The time in which this share of the turns had their first word, in milliseconds: by straight lines between the bounds.
 *
 * Null without turns; infinite where the last, unbounded count has it.
 */
export function percentile({ boundsMs, counts }: Totals["firstTokens"], share: number): number | null {
  const all = counts.reduce((one, other) => one + other, 0);
  if (all === 0) return null;
  let left = share * all;
  for (const [index, count] of counts.entries()) {
    if (left <= count && count > 0) {
      const to = boundsMs[index];
      if (to === undefined) return Number.POSITIVE_INFINITY;
      const from = boundsMs[index - 1] ?? 0;
      return from + (to - from) * (left / count);
    }
    left -= count;
  }
  return Number.POSITIVE_INFINITY;
}

function errorsOf(errors: Totals["errors"]): Totals["errors"] {
  const found = new Map<string, number>();
  for (const { code, turns } of errors) found.set(code, (found.get(code) ?? 0) + turns);
  return [...found].map(([code, turns]) => ({ code, turns })).sort((one, other) => (one.code < other.code ? -1 : 1));
}

function top<T extends { readonly threadId: string }>(rows: readonly T[], order: (one: T, other: T) => number): T[] {
  const seen = new Set<string>();
  const first = [...rows].sort((one, other) => order(one, other) || (one.threadId < other.threadId ? 1 : -1));
  return first.filter(({ threadId }) => !seen.has(threadId) && seen.add(threadId)).slice(0, TOP);
}

function dearerFirst(one: CostlyThread, other: CostlyThread): number {
  return (other.cost ?? -1) - (one.cost ?? -1) || other.totalTokens - one.totalTokens;
}
