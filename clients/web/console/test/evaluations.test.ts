import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Case,
  changesOf,
  interval,
  mcnemar,
  pairsOf,
  percent,
  stateOf,
  testOf,
} from "../src/views/evaluations/results.ts";

function one(name: string, judged: number, passes: number): Case {
  return { name, runs: 3, judged, passes, metrics: {}, reasons: [], tags: [] };
}

test("a case is flaky if some of its runs passed", () => {
  const states = [one("a", 3, 3), one("b", 3, 0), one("c", 3, 1), one("d", 0, 0)].map(stateOf);
  assert.deepEqual(states, ["passed", "failed", "flaky", "notJudged"]);
});

test("cases are paired by name, those that have become worse first", () => {
  const before = [one("same", 3, 3), one("better", 3, 0), one("worse", 3, 3), one("gone", 3, 3)];
  const after = [one("same", 3, 3), one("better", 3, 3), one("worse", 3, 0), one("new", 0, 0)];
  const pairs = pairsOf(before, after).map(({ name, change }) => [name, change]);
  assert.deepEqual(pairs, [
    ["worse", -1],
    ["better", 1],
    ["same", 0],
    ["new", null],
    ["gone", null],
  ]);
});

test("what is not known is a dash", () => {
  assert.deepEqual(
    [percent(null), percent(0.925), interval(null, 1), interval(0.5, 1)],
    ["–", "92.5 %", "–", "50.0 % to 100.0 %"],
  );
});

test("McNemar's exact test has its known values", () => {
  const known = [
    [0, 0, 1],
    [1, 0, 1],
    [5, 0, 0.0625],
    [6, 0, 0.03125],
    [0, 6, 0.03125],
    [8, 1, 0.0390625],
    [9, 3, 0.14599609375],
    [5, 5, 1],
  ] as const;
  for (const [better, worse, p] of known) assert.ok(Math.abs(mcnemar(better, worse) - p) < 1e-12);
  assert.ok(mcnemar(500, 0) > 0);
});

test("a difference that chance may have made is none, and few cases show none", () => {
  const verdictOf = (...changes: number[]) => testOf(changes).verdict;
  assert.equal(verdictOf(0, 0), "noChange");
  assert.equal(verdictOf(1, 1, 1, 1, 1), "tooFew");
  assert.equal(verdictOf(1, 1, 1, 1, 1, 1, 0), "better");
  assert.equal(verdictOf(-1, -1, -1, -1, -1, -1), "worse");
  assert.equal(verdictOf(1, 1, 1, 1, -1, -1), "noDifference");
  assert.equal(verdictOf(...Array<number>(8).fill(0.1), -1), "noDifference");
});

test("the changes of a metric are those of cases with a value in both", () => {
  const of = (name: string, passes: number, value: number | null) => ({
    ...one(name, 3, passes),
    metrics: { f1: value },
  });
  const pairs = pairsOf(
    [of("a", 0, 0.5), of("b", 3, null), of("gone", 3, 1)],
    [of("a", 3, 0.75), of("b", 3, 1), of("new", 3, 1)],
  );
  assert.deepEqual(changesOf("passed", pairs), [1, 0]);
  assert.deepEqual(changesOf("f1", pairs), [0.25]);
});
