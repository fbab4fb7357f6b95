import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveItems } from "../src/views/timeline/live-items.ts";

test("thinking is a row of its agent's, apart from the answer, until the run is on record", () => {
  let now = 1_000;
  const live = new LiveItems(() => now);
  const metadata = { runId: "run-1", agentId: "assistant", agentName: "Assistant" };
  const events = [
    { type: "REASONING_START", messageId: "th-1" },
    { type: "REASONING_MESSAGE_START", messageId: "th-1" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "th-1", delta: "The user " },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "th-1", delta: "greets." },
  ];
  for (const event of events) assert.equal(live.take({ ...event, metadata }), false);
  assert.deepEqual(
    live.items.map(({ key, lane, title, status }) => [key, lane, title, status]),
    [["thinking:th-1", "assistant", "The user greets.", "running"]],
  );
  now = 3_000;
  live.take({ type: "REASONING_MESSAGE_END", messageId: "th-1", metadata });
  live.take({ type: "TEXT_MESSAGE_START", messageId: "m-1", metadata });
  live.take({ type: "TEXT_MESSAGE_CONTENT", messageId: "m-1", delta: "Hello.", metadata });
  assert.deepEqual(
    live.items.map(({ kind, title, durationMs }) => [kind, title, durationMs]),
    [
      ["thinking", "The user greets.", 2_000],
      ["message", "Hello.", null],
    ],
  );
  assert.equal(live.take({ type: "RUN_FINISHED", metadata }), true);
});

test("a text keeps the spaces between its pieces, and grows to a limit", () => {
  const live = new LiveItems(() => 0);
  live.take({ type: "TEXT_MESSAGE_START", messageId: "m-1" });
  for (const delta of ["Hello ", "\n there", "."]) live.take({ type: "TEXT_MESSAGE_CONTENT", messageId: "m-1", delta });
  assert.equal(live.items[0]?.title, "Hello there.");
  for (let at = 0; at < 100; at++)
    live.take({ type: "TEXT_MESSAGE_CONTENT", messageId: "m-1", delta: "x".repeat(1_000) });
  assert.equal(live.items[0]?.title.length, 4_000);
});
