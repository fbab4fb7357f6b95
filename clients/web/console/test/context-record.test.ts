import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AgentPrompt,
  type Block,
  type Call,
  type ContextRecord,
  cachedShare,
  type Item,
  itemChanges,
  promptsOf,
  promptText,
} from "../src/views/inspector/context-record.ts";

const item = (id: string, included = true): Item => ({
  id,
  kind: "fact",
  title: "noted",
  text: `text of ${id}`,
  date: null,
  score: null,
  signals: {},
  tokens: 1,
  included,
  reason: included ? null : "beyond the best 5",
});
const block = (
  kind: Block["kind"],
  items: Item[] = [],
  agentId = "assistant",
  taskId: string | null = null,
): Block => ({
  kind,
  agentId,
  taskId,
  tokens: 1,
  durationMs: null,
  error: null,
  items,
});
const call = (fields: Partial<Call> = {}): Call => ({
  agentId: "assistant",
  taskId: null,
  model: "m",
  beganAt: "",
  messages: [],
  tools: [],
  estimatedTokens: 10,
  inputTokens: 10,
  outputTokens: 2,
  error: null,
  ...fields,
});
const record = (blocks: Block[], calls: Call[] = []): ContextRecord => ({
  runId: "r",
  threadId: "t",
  recordedAt: null,
  budget: 100,
  redacted: false,
  cut: [],
  blocks,
  calls,
  callsLeftOut: 0,
});

test("each agent that began has a prompt of its own, also twice the same", () => {
  const blocks = [
    block("system"),
    block("history"),
    block("system", [], "expert", "task"),
    block("current", [], "expert", "task"),
    block("system"),
  ];
  const prompts = promptsOf(record(blocks, [call(), call({ agentId: "expert", taskId: "task" })]));
  assert.deepEqual(
    prompts.map(({ agentId, blocks: own, calls }) => [agentId, own.length, calls.length]),
    [
      ["assistant", 2, 1],
      ["expert", 2, 1],
      ["assistant", 1, 1],
    ],
  );
  assert.deepEqual(promptsOf(record([])), []);
});

test("items that came and went are told, and those that were left out are not there", () => {
  const left = promptsOf(record([block("system"), block("episodes", [item("a"), item("b"), item("c", false)])]))[0];
  const right = promptsOf(record([block("system"), block("episodes", [item("b"), item("c"), item("d", false)])]))[0];
  assert.ok(left && right);
  assert.deepEqual(
    itemChanges(left, right).map(({ change, item: { id } }) => [change, id]),
    [
      ["went", "a"],
      ["came", "c"],
    ],
  );
  assert.deepEqual(itemChanges(left, left), []);
});

test("the text of a prompt is bounded", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "x".repeat(1_000_000) },
  ];
  const prompt: AgentPrompt = { agentId: "a", taskId: null, blocks: [], calls: [call({ messages })] };
  assert.ok(promptText(prompt, 1_000).length < 1_010);
  assert.ok(promptText(prompt, 1_000).startsWith("--- system\nBe brief."));
  assert.equal(promptText({ ...prompt, calls: [] }, 1_000), "");
});

test("the cached share is unknown where nobody counted", () => {
  assert.equal(cachedShare(call({ cachedInputTokens: 5 })), 0.5);
  assert.equal(cachedShare(call()), null);
  assert.equal(cachedShare(call({ inputTokens: null, cachedInputTokens: null })), null);
});
