import assert from "node:assert/strict";
import { test } from "node:test";
import { added, type UsagePage } from "../src/views/usage/usage.ts";

function page(more: Partial<UsagePage>): UsagePage {
  return {
    month: "2040-03",
    threads: 1,
    turns: 2,
    failures: 0,
    inputTokens: 10,
    outputTokens: 4,
    cachedInputTokens: 1,
    cost: 0.1,
    unpriced: 0,
    agents: [],
    models: [],
    storage: { objects: 1, bytes: 100 },
    meteredCost: null,
    nextCursor: "more",
    ...more,
  };
}

test("pages add up, by agent and model, and the first one says what was metered", () => {
  const counts = {
    turns: 2,
    failures: 0,
    inputTokens: 10,
    outputTokens: 4,
    cachedInputTokens: 1,
    cost: 0.1,
    unpriced: 0,
  };
  const model = { model: "m", inputTokens: 10, outputTokens: 4, cachedInputTokens: 1, cost: null };
  const first = page({ agents: [{ agentId: "a", ...counts }], models: [model], meteredCost: 3 });
  const second = page({ cost: 0.2, agents: [{ agentId: "a", ...counts }], models: [model], nextCursor: null });
  const total = added(added(null, first), second);
  assert.equal(total.turns, 4);
  assert.equal(total.cost, 0.3);
  assert.equal(total.meteredCost, 3);
  assert.equal(total.nextCursor, null);
  assert.deepEqual(total.storage, { objects: 2, bytes: 200 });
  assert.deepEqual(total.agents, [
    { agentId: "a", ...counts, turns: 4, inputTokens: 20, outputTokens: 8, cachedInputTokens: 2, cost: 0.2 },
  ]);
  assert.deepEqual(total.models, [{ ...model, inputTokens: 20, outputTokens: 8, cachedInputTokens: 2 }]);
});
