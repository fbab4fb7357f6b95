import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolCall } from "../src/api/shapes.ts";
import { callItem } from "../src/views/timeline/items.ts";

const CALL: ToolCall = {
  id: "call_1",
  runId: "r-1",
  taskId: null,
  agentId: "rental",
  toolName: "book_bike",
  input: {},
  output: "B-7",
  succeeded: true,
  errorMessage: null,
  calledAt: "2026-12-05T12:00:00Z",
  durationMs: 5,
};

test("a call has the tool's name for people, and the one for models", () => {
  assert.equal(callItem({ ...CALL, label: "Bike booking" }).title, "Bike booking (book_bike)");
  assert.equal(callItem({ ...CALL, label: null }).title, "book_bike");
});
