import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnCounts } from "../src/api/turn-counts.ts";
import {
  type AgentDay,
  added,
  type OverviewPage,
  percentile,
  sum,
  summed,
  type Totals,
} from "../src/views/overview/totals.ts";

function day(date: string, agentId: string | null, turns: number, more: Partial<AgentDay> = {}): AgentDay {
  return {
    day: date,
    agentId,
    turns,
    failures: 0,
    inputTokens: 10 * turns,
    outputTokens: turns,
    cachedInputTokens: 0,
    cost: null,
    unpriced: turns,
    ...more,
  };
}

function counted(turns: number, cost: number | null): TurnCounts {
  const { day: _, agentId: __, ...counts } = day("", null, turns, { cost, unpriced: 0 });
  return counts;
}

function page(more: Partial<OverviewPage>): OverviewPage {
  return {
    from: "2026-03-14T00:00:00.000Z",
    to: "2026-03-15T00:00:00.000Z",
    threads: 1,
    days: [],
    errors: [],
    firstTokens: { boundsMs: [100, 200], counts: [0, 0, 0] },
    slowest: [],
    costliest: [],
    selfStarted: counted(0, null),
    nextCursor: null,
    ...more,
  };
}

const PAGES = [
  page({
    days: [day("2026-03-14", "a", 2, { cost: 0.1, unpriced: 0 }), day("2026-03-14", null, 1, { failures: 1 })],
    errors: [{ code: "model_error", turns: 1 }],
    firstTokens: { boundsMs: [100, 200], counts: [2, 0, 0] },
    slowest: [{ threadId: "t1", title: null, runId: "r1", durationMs: 5 }],
    costliest: [{ threadId: "t1", title: null, cost: 0.1, totalTokens: 22 }],
    selfStarted: counted(1, 0.1),
  }),
  page({
    threads: 0,
    selfStarted: counted(1, 0.2),
    days: [day("2026-03-14", "a", 1, { cost: 0.2, unpriced: 0 })],
    errors: [
      { code: "model_error", turns: 2 },
      { code: "interrupted", turns: 1 },
    ],
    firstTokens: { boundsMs: [100, 200], counts: [0, 1, 1] },
    slowest: [{ threadId: "t1", title: null, runId: "r2", durationMs: 9 }],
    costliest: [{ threadId: "t1", title: null, cost: 0.1, totalTokens: 22 }],
  }),
  page({
    days: [day("2026-03-13", "a", 4)],
    slowest: [{ threadId: "t2", title: null, runId: "r3", durationMs: 7 }],
    costliest: [{ threadId: "t2", title: null, cost: null, totalTokens: 99 }],
  }),
];

test("pages add up to the same in whatever order", () => {
  const all = (pages: readonly OverviewPage[]) => pages.reduce<Totals | null>(added, null);
  const [one, two, three] = PAGES as [OverviewPage, OverviewPage, OverviewPage];
  const totals = all([one, two, three]);
  for (const order of [
    [three, two, one],
    [two, three, one],
    [one, three, two],
  ])
    assert.deepEqual(all(order), totals);
  assert.equal(totals?.threads, 2);
  assert.deepEqual(
    totals?.days.map((each) => [each.day, each.agentId, each.turns, each.cost]),
    [
      ["2026-03-13", "a", 4, null],
      ["2026-03-14", null, 1, null],
      ["2026-03-14", "a", 3, 0.3],
    ],
  );
  assert.deepEqual(totals?.selfStarted, counted(2, 0.3));
  assert.deepEqual(totals?.errors, [
    { code: "interrupted", turns: 1 },
    { code: "model_error", turns: 3 },
  ]);
  assert.deepEqual(
    totals?.slowest.map((each) => each.runId),
    ["r2", "r3"],
  );
  assert.deepEqual(
    totals?.costliest.map((each) => each.threadId),
    ["t1", "t2"],
  );
});

test("a cost of which nothing is known is not zero", () => {
  assert.equal(sum([day("2026-03-14", "a", 1), day("2026-03-15", "a", 1)])?.cost, null);
  assert.equal(sum([day("2026-03-14", "a", 1), day("2026-03-15", "a", 1, { cost: 0 })])?.cost, 0);
  assert.equal(sum([]), null);
  assert.equal(summed([day("2026-03-14", "a", 1), day("2026-03-15", "a", 1)], (each) => each.agentId ?? "").length, 1);
});

test("percentiles lie between the bounds of a histogram", () => {
  const boundsMs = [100, 200];
  assert.equal(percentile({ boundsMs, counts: [0, 0, 0] }, 0.5), null);
  assert.equal(percentile({ boundsMs, counts: [10, 0, 0] }, 0.5), 50);
  assert.equal(percentile({ boundsMs, counts: [5, 5, 0] }, 0.5), 100);
  assert.equal(percentile({ boundsMs, counts: [0, 10, 0] }, 0.95), 195);
  assert.equal(percentile({ boundsMs, counts: [0, 0, 1] }, 0.5), Number.POSITIVE_INFINITY);
});
