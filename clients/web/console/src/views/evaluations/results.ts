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

/** The fewest cases that can show a difference, if all of them change in the same direction. */
export const FEWEST_CHANGED = 6;
const SIGNIFICANT = 0.05;

/** The test of a metric over the cases that both evaluations have. */
export interface Difference {
  /** Cases whose value has risen. */
  readonly better: number;
  /** Cases whose value has fallen. */
  readonly worse: number;
  /** Of McNemar's exact test: of as many risen as fallen cases. */
  readonly p: number;
  readonly verdict: "better" | "worse" | "noDifference" | "tooFew" | "noChange";
}

/** Returns the two-sided p-value of McNemar's exact test: of equally many cases in both directions. */
export function mcnemar(better: number, worse: number): number {
  const changed = better + worse;
  if (changed === 0) return 1;
  let term = 2 ** (1 - changed);
  let tail = term;
  for (let k = 0; k < Math.min(better, worse); k += 1) {
    term *= (changed - k) / (k + 1);
    tail += term;
  }
  return Math.min(1, tail);
}

/** Returns the test of a metric's changes, one for each case that has a value in both evaluations. */
export function testOf(changes: readonly number[]): Difference {
  const better = changes.filter((each) => each > 0).length;
  const worse = changes.filter((each) => each < 0).length;
  const p = mcnemar(better, worse);
  const sum = changes.reduce((all, each) => all + each, 0);
  // The test knows nothing of the sizes of changes, so the mean has to have the same direction.
  const verdict =
    better + worse === 0
      ? "noChange"
      : better + worse < FEWEST_CHANGED
        ? "tooFew"
        : p >= SIGNIFICANT || (better > worse ? sum <= 0 : sum >= 0)
          ? "noDifference"
          : better > worse
            ? "better"
            : "worse";
  return { better, worse, p, verdict };
}

/** Returns the changes of a metric in paired cases; `passed` is the share of runs. */
export function changesOf(name: string, pairs: readonly Pair[]): readonly number[] {
  const change = ({ before, after, change }: Pair) => {
    if (name === "passed") return change;
    const [x, y] = [before?.metrics[name], after?.metrics[name]];
    return typeof x === "number" && typeof y === "number" ? y - x : null;
  };
  return pairs.map(change).filter((each) => each !== null);
}

/** Returns a share as a person reads it. */
export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(1)} %`;
}

/** Returns an interval as a person reads it. */
export function interval(low: number | null, high: number | null): string {
  return low === null || high === null ? "–" : `${percent(low)} to ${percent(high)}`;
}
