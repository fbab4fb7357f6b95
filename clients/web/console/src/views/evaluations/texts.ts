const cases = (number: number) => `${number} ${number === 1 ? "case" : "cases"}`;

/** What the pages of evaluations say. */
export const words = {
  about: "Results that baton eval --publish has sent. They are kept for 180 days.",
  evaluation: "Evaluation",
  version: "Version",
  passed: "Passed",
  interval: "95% interval",
  cases: "Cases",
  runs: "Runs",
  metric: "Metric",
  metrics: "Metrics",
  mean: "Mean",
  judge: "Judge",
  by: "Published by",
  case: "Case",
  reasons: "Reasons",
  notJudged: (runs: number) => `${runs} not judged`,
  notRun: (runs: number) => `${runs} ${runs === 1 ? "run" : "runs"} did not take place.`,
  leftOut: (number: number) => `${number} more ${number === 1 ? "case was" : "cases were"} not published.`,
  of: (passes: number, judged: number) => `${passes} of ${judged}`,
  kept: (until: string) => `Kept until ${until}.`,
  compareWith: "Compare with",
  nothing: "– nothing –",
  before: "Before",
  after: "After",
  change: "Change",
  comparison: (before: string, after: string) => `${after}, compared with ${before}`,
  better: "Better",
  worse: "Worse",
  p: "p",
  verdicts: {
    better: (better: number, worse: number, p: string) =>
      `Better: ${cases(better)} better, ${worse} worse. Chance hardly explains that (p = ${p}).`,
    worse: (better: number, worse: number, p: string) =>
      `Worse: ${cases(worse)} worse, ${better} better. Chance hardly explains that (p = ${p}).`,
    noDifference: (better: number, worse: number, p: string) =>
      `No clear difference: ${cases(better)} better, ${worse} worse. Chance may have made it (p = ${p}).`,
    tooFew: (better: number, worse: number) =>
      `No clear difference: ${cases(better)} better, ${worse} worse. Chance may have made it: fewer than six changed ` +
      "cases never show one. Add cases.",
    noChange: () => "No case passes more or less often than before.",
  },
  test:
    "p is that of McNemar's exact test: of a difference at least as clear if better and worse were equally likely. " +
    "Below 0.05, chance hardly explains a difference.",
  unpaired: (number: number) => `Not compared: ${cases(number)} that only one of them has, or did not judge.`,
  states: { passed: "passed", failed: "failed", flaky: "flaky", notJudged: "not judged" },
  all: "All evaluations",
} as const;
