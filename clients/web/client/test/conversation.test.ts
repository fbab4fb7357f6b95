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

/** The events of a run as they come over the wire, numbered from `first`. */
function told(talk: Conversation, first: number, attempt: number, ...events: readonly Record<string, unknown>[]): void {
  events.forEach((event, at) => {
    const about = { threadId: "t", runId: "run-1", seq: first + at, attempt, ...(event.metadata as object) };
    talk.apply({ runId: "run-1", ...event, metadata: about } as unknown as BatonEvent);
  });
}

const seen = (talk: Conversation) => talk.items.map(({ role, id, open }) => `${role} ${id}${open ? " open" : ""}`);
const textIn = (talk: Conversation, id: string) => {
  const item = talk.find(id);
  return item?.role === "thinking" ? item.text : item?.role === "assistant" ? item.content : undefined;
};
const ASKED = { type: "RUN_STARTED", input: { messages: [{ id: "m-1", role: "user", content: "Hello" }] } };
const BY = { metadata: { agentId: "assistant", agentName: "Assistant" } };
const THINKS = [
  { type: "REASONING_START", messageId: "th-1" },
  { type: "REASONING_MESSAGE_START", messageId: "th-1", role: "reasoning", ...BY },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "th-1", delta: "The user " },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "th-1", delta: "greets." },
];
const THOUGHT = [
  { type: "REASONING_MESSAGE_END", messageId: "th-1" },
  { type: "REASONING_END", messageId: "th-1" },
];
const SAYS = [
  { type: "TEXT_MESSAGE_START", messageId: "m-2", name: "Assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m-2", delta: "Hello." },
];

test("thinking is an item of its own before the answer, and no part of its text", () => {
  const talk = new Conversation();
  told(talk, 1, 1, ASKED, ...THINKS);
  assert.deepEqual(seen(talk), ["user m-1", "thinking th-1 open"]);
  assert.equal(talk.isWaiting, false);
  told(talk, 6, 1, ...THOUGHT);
  assert.equal(talk.isWaiting, true);
  told(talk, 8, 1, ...SAYS, { type: "TEXT_MESSAGE_END", messageId: "m-2" }, { type: "RUN_FINISHED" });
  assert.deepEqual(seen(talk), ["user m-1", "thinking th-1", "assistant m-2"]);
  assert.equal(textIn(talk, "th-1"), "The user greets.");
  assert.equal(textIn(talk, "m-2"), "Hello.");
  const thinking = talk.find("th-1");
  assert.ok(thinking?.role === "thinking");
  assert.deepEqual([thinking.name, thinking.agentId, thinking.runId], ["Assistant", "assistant", "run-1"]);
});

test("thinking in the middle of an answer stands above it", () => {
  const talk = new Conversation();
  told(talk, 1, 1, ASKED, ...SAYS, ...THINKS, ...THOUGHT);
  told(talk, 20, 1, { type: "TEXT_MESSAGE_CONTENT", messageId: "m-2", delta: " How are you?" });
  assert.deepEqual(seen(talk), ["user m-1", "thinking th-1", "assistant m-2 open"]);
  assert.equal(textIn(talk, "m-2"), "Hello. How are you?");
});

test("thinking ends with its run, and that of a dead worker is dropped", () => {
  const talk = new Conversation();
  told(talk, 1, 1, ASKED, ...THINKS, { type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  assert.deepEqual(seen(talk), ["user m-1", "thinking th-1", "note stopped:run-1"]);
  told(talk, 20, 2, { type: "RUN_STARTED" });
  assert.deepEqual(seen(talk), ["user m-1"]);
});

test("who joins in the middle of a thought has the rest of it, and what is stored later takes its place", () => {
  const talk = new Conversation();
  const question = stored(0, "run-1", { id: "m-1", role: "user", content: "Hello" });
  talk.merge([question]);
  const [, , , rest = {}] = THINKS;
  told(talk, 4, 1, rest, ...THOUGHT, ...SAYS);
  assert.equal(textIn(talk, "th-1"), "greets.");
  talk.merge([question, stored(1, "run-1", { id: "m-2", role: "assistant", content: "Hello." })]);
  assert.deepEqual(seen(talk), ["user m-1", "thinking th-1", "assistant m-2"]);
});

/** A turn in which the agent asks two others, and calls a tool. */
const asks = (call: string, agent: string) => ({ id: call, function: { name: `ask_${agent}`, arguments: "{}" } });
const search = { id: "c-3", function: { name: "search_docs", arguments: "{}" } };
const RESEARCHED = [
  stored(0, "run-1", { role: "user", content: "Which is best?" }),
  stored(1, "run-1", { role: "assistant", toolCalls: [asks("c-1", "knowledge"), asks("c-2", "web_research"), search] }),
  ...["c-1", "c-2", "c-3"].map((toolCallId, at) =>
    stored(2 + at, "run-1", { role: "tool", toolCallId, content: "{}" }),
  ),
  stored(5, "run-1", { role: "assistant", content: "The first." }),
];
const CARD = {
  type: "ACTIVITY_SNAPSHOT",
  messageId: "a-1",
  activityType: "research",
  content: { label: "Researching...", agents: [{ id: "knowledge" }, { id: "web-research" }] },
};
const called = (toolCallId: string, toolCallName: string) => ({ type: "TOOL_CALL_START", toolCallId, toolCallName });
const CALLS = [called("c-1", "ask_knowledge"), called("c-2", "ask_web_research"), called("c-3", "search_docs")];

function tell(talk: Conversation, events: readonly Record<string, unknown>[], runId = "run-1"): void {
  events.forEach((event, at) => {
    const metadata = { threadId: "t", runId, seq: at + 1, attempt: 1 };
    talk.apply({ ...event, metadata } as unknown as BatonEvent);
  });
}

/** The calls that are shown in no other way. */
const shownCalls = (talk: Conversation): string[] =>
  talk.items.flatMap((item) => (item.role === "tool" && !item.inResearch ? [item.name ?? ""] : []));

test("a call that asks an agent is part of the research that shows it, and other calls are not", () => {
  const talk = new Conversation();
  tell(talk, CALLS);
  assert.equal(shownCalls(talk).length, 3);
  tell(talk, [CARD]);
  assert.deepEqual(shownCalls(talk), ["search_docs"]);
});

test("after a reload it is so too, as far as the research is told again", () => {
  const talk = new Conversation();
  talk.merge(RESEARCHED);
  talk.historySeq = 9;
  assert.deepEqual(shownCalls(talk), ["ask_knowledge", "ask_web_research", "search_docs"]);
  tell(talk, [...CALLS, CARD]);
  assert.deepEqual(shownCalls(talk), ["search_docs"]);
  talk.merge(RESEARCHED);
  assert.deepEqual(shownCalls(talk), ["search_docs"]);
});

test("a call is part of the research of its own run only", () => {
  const talk = new Conversation();
  tell(talk, CALLS, "run-0");
  tell(talk, [CARD], "run-1");
  assert.equal(shownCalls(talk).length, 3);
});

test("an agent that starts for a call shows it, without a list of agents", () => {
  const talk = new Conversation();
  tell(talk, [...CALLS, { type: "SUBAGENT_STARTED", subagentRunId: "s-1", name: "Web", parentToolCallId: "c-2" }]);
  assert.deepEqual(shownCalls(talk), ["ask_knowledge", "search_docs"]);
});

test("a call shows how far it is, by its own words", () => {
  const talk = new Conversation();
  const progress = (label: string) => ({
    type: "ACTIVITY_SNAPSHOT",
    messageId: "p-1",
    activityType: "progress",
    content: { toolCallId: "c-3", tool: "search_docs", label, status: "working" },
  });
  tell(talk, [...CALLS, progress("1 of 3")]);
  const shown = () => talk.items.map((item) => (item.role === "tool" ? item.progress : item.role));
  assert.deepEqual(shown(), [undefined, undefined, "1 of 3"]);
  tell(talk, [progress("2 of 3")]);
  assert.deepEqual(shown(), [undefined, undefined, "2 of 3"]);
});

test("what began a run by itself is a note, live and from the store", () => {
  const begun = { id: "m-0", role: "activity", activityType: "event", content: { kind: "schedule", label: "Water." } };
  const live = new Conversation();
  told(live, 1, 1, { type: "RUN_STARTED", runId: "run-1", input: { messages: [begun] } });
  const source = { kind: "schedule", id: "s-1" };
  const kept = { id: "m-0", role: "event", content: "Water.", metadata: { ordinal: 0, runId: "run-1", source } };
  const loaded = new Conversation();
  loaded.merge([kept as StoredMessage]);
  for (const { items } of [live, loaded]) {
    assert.deepEqual(
      items.map((item) => item.role === "note" && [item.id, item.kind, item.reason, item.label]),
      [["m-0", "event", "schedule", "Water."]],
    );
  }
  live.merge([kept as StoredMessage]);
  assert.equal(live.items.length, 1);
});
