import assert from "node:assert/strict";
import { test } from "node:test";
import { type Case, interval, pairsOf, percent, stateOf } from "../src/views/evaluations/results.ts";

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
