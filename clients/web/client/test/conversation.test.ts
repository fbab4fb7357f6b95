import assert from "node:assert/strict";
import { test } from "node:test";
import { Conversation } from "../src/conversation.ts";
import type { BatonEvent, StoredMessage } from "../src/wire.ts";

const stored = (ordinal: number, runId: string, message: Partial<StoredMessage>): StoredMessage =>
  ({ id: `m-${ordinal}`, ...message, metadata: { ordinal, runId } }) as StoredMessage;

/** What was stored of a question, a call of the page's tool in the run that it began, and the answer of the next run. */
const STORED = [
  stored(0, "run-1", { role: "user", content: "Make it red" }),
  stored(1, "run-1", { role: "assistant", toolCalls: [{ id: "c-1", function: { name: "paint", arguments: "{}" } }] }),
  stored(2, "run-2", { role: "tool", toolCallId: "c-1", content: "done" }),
  stored(3, "run-2", {
    role: "assistant",
    content: "It is red.",
    feedback: { rating: "up", comment: null, updatedAt: "2026-05-01T12:00:00Z" },
  }),
];

test("events that are told again of what is stored change nothing", () => {
  const talk = new Conversation();
  talk.merge(STORED);
  talk.historySeq = 5;
  const before = talk.items.map(({ id }) => id);
  const told: readonly Record<string, unknown>[] = [
    { type: "RUN_STARTED", runId: "run-1" },
    { type: "TOOL_CALL_START", toolCallId: "c-1", toolCallName: "paint", runId: "run-1" },
    { type: "RUN_STARTED", runId: "run-2" },
    { type: "TOOL_CALL_RESULT", toolCallId: "c-1", content: "done", runId: "run-2" },
    { type: "TEXT_MESSAGE_START", messageId: "m-3", runId: "run-2" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m-3", delta: "It is red.", runId: "run-2" },
  ];
  told.forEach(({ runId, ...event }, at) => {
    const metadata = { threadId: "t", runId, seq: at + 1, attempt: 1 };
    talk.apply({ ...event, ...(event.type === "RUN_STARTED" && { runId }), metadata } as unknown as BatonEvent);
  });
  assert.deepEqual(
    talk.items.map(({ id }) => id),
    before,
  );
  const answer = talk.items.at(-1);
  assert.ok(answer?.role === "assistant");
  assert.equal(answer.content, "It is red.");
  assert.equal(answer.feedback?.rating, "up");
});
