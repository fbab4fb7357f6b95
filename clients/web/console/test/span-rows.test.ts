import assert from "node:assert/strict";
import { test } from "node:test";
import type { Span } from "../src/api/shapes.ts";
import { spanRows } from "../src/views/timeline/span-rows.ts";

function span(id: string, parentId: string | null, start: number): Span {
  return { id, parentId, name: id, start, end: start + 1, isFailed: false, attributes: {} };
}

test("spans are a tree: parents first, then what is inside them by its beginning", () => {
  const spans = [span("chat", "agent", 3), span("tool", "agent", 2), span("agent", "run", 1), span("run", null, 0)];
  const rows = spanRows(spans).map(({ span: each, depth }) => [each.id, depth]);
  assert.deepEqual(rows, [
    ["run", 0],
    ["agent", 1],
    ["tool", 2],
    ["chat", 2],
  ]);
});

test("a span whose parent is in another program is at the top", () => {
  assert.deepEqual(
    spanRows([span("run", "theirs", 0)]).map(({ depth }) => depth),
    [0],
  );
});
