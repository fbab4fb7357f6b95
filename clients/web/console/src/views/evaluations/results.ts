/** The mean of a metric, with its 95% interval. */
export interface Metric {
  readonly name: string;
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly runs: number;
  readonly notJudged: number;
  readonly isRate: boolean;
}

/** The result of one case. */
export interface Case {
  readonly name: string;
  readonly runs: number;
  readonly judged: number;
  readonly passes: number;
  readonly metrics: Readonly<Record<string, number | null>>;
  readonly reasons: readonly string[];
  readonly tags: readonly string[];
}

/** An evaluation in the list. */
export interface Entry {
  readonly id: string;
  readonly label: string;
  readonly model: string;
  readonly judge: string | null;
  readonly beganAt: string;
  readonly publishedBy: string;
  readonly publishedAt: string;
  readonly expiresAt: string;
  readonly cases: number;
  readonly runs: number;
  readonly passed: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** An evaluation with its details. */
export interface Evaluation extends Entry {
  readonly details: {
    readonly seconds: number;
    readonly tokens: number;
    readonly usd: number | null;
    readonly notRun: number;
    readonly metrics: readonly Metric[];
    readonly cases: readonly Case[];
    readonly casesLeftOut: number;
  };
}

export type State = "passed" | "failed" | "flaky" | "notJudged";

/** A row of a comparison: a case, as it is in both evaluations; null where it is not. */
export interface Pair {
  readonly name: string;
  readonly before: Case | null;
  readonly after: Case | null;
  /** The difference of the shares of runs that passed; null where one is not known. */
  readonly change: number | null;
}

/** Returns the state of a case. */
export function stateOf({ judged, passes }: Case): State {
  if (judged === 0) return "notJudged";
  if (passes === judged) return "passed";
  return passes === 0 ? "failed" : "flaky";
}

/** Returns the share of judged runs that passed; null without any. */
export function shareOf(one: Case | null): number | null {
  return one?.judged ? one.passes / one.judged : null;
}

/** Returns the cases of both evaluations, paired by their names: those that have become worse first, then better. */
export function pairsOf(before: readonly Case[], after: readonly Case[]): readonly Pair[] {
  const old = new Map(before.map((each) => [each.name, each]));
  const current = new Map(after.map((each) => [each.name, each]));
  const pairs = [...new Set([...current.keys(), ...old.keys()])].map((name) => {
    const [one, other] = [old.get(name) ?? null, current.get(name) ?? null];
    const [x, y] = [shareOf(one), shareOf(other)];
    return { name, before: one, after: other, change: x === null || y === null ? null : y - x };
  });
  const rank = ({ change }: Pair): number => (change === null ? 3 : change < 0 ? 0 : change > 0 ? 1 : 2);
  return pairs.sort((a, b) => rank(a) - rank(b));
}

/** Returns the metrics of both evaluations by name, in the order of the later one. */
export function metricsOf(
  before: readonly Metric[],
  after: readonly Metric[],
): readonly (readonly [string, Metric | null, Metric | null])[] {
  const names = [...new Set([...after, ...before].map((each) => each.name))];
  const named = (metrics: readonly Metric[], name: string) => metrics.find((each) => each.name === name) ?? null;
  return names.map((name) => [name, named(before, name), named(after, name)] as const);
}

/** Returns a share as a person reads it. */
export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(1)} %`;
}

/** Returns an interval as a person reads it. */
export function interval(low: number | null, high: number | null): string {
  return low === null || high === null ? "–" : `${percent(low)} to ${percent(high)}`;
}
