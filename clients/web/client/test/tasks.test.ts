import assert from "node:assert/strict";
import { test } from "node:test";
import type { Api } from "../src/api.ts";
import { Conversation } from "../src/conversation.ts";
import { readTasks } from "../src/tasks.ts";
import type { BackgroundTask, BatonEvent, StoredMessage } from "../src/wire.ts";

/** The events of a run that has two agents work in the background, of which one is asked twice. */
const EVENTS = [
  { type: "RUN_STARTED" },
  ...["researcher", "archivist", "researcher"].flatMap((agent, at) => [
    { type: "TOOL_CALL_START", toolCallId: `c-${at}`, toolCallName: `ask_${agent}` },
    { type: "TOOL_CALL_RESULT", toolCallId: `c-${at}`, content: `{"taskId": "task-${at}"}` },
  ]),
  {
    type: "ACTIVITY_SNAPSHOT",
    messageId: "a-1",
    activityType: "research",
    content: {
      agents: [
        { id: "researcher", status: "working" },
        { id: "archivist", status: "working" },
      ],
    },
  },
  { type: "ACTIVITY_DELTA", messageId: "a-1", patch: [{ op: "add", path: "/agents/0/status", value: "working" }] },
  { type: "RUN_FINISHED" },
];

function tell(talk: Conversation): void {
  EVENTS.forEach((event, at) => {
    const metadata = { threadId: "t", runId: "run-1", seq: at + 1, attempt: 1, outcome: "succeeded" };
    talk.apply({ ...event, runId: "run-1", metadata } as unknown as BatonEvent);
  });
}

/** The conversation as a page has it that was there, or that was loaded later. */
function begun({ isReloaded = false } = {}): Conversation {
  const talk = new Conversation();
  if (isReloaded) {
    const asked = { id: "m-1", role: "user", content: "Research it", metadata: { ordinal: 0, runId: "run-1" } };
    talk.merge([asked as StoredMessage]);
    talk.historySeq = EVENTS.length;
  }
  tell(talk);
  return talk;
}

const agentsIn = (talk: Conversation) =>
  talk.items.flatMap((item) => (item.role === "research" ? item.agents.map(({ progress }) => progress) : []));

async function read(talk: Conversation, ...statuses: readonly BackgroundTask["status"][]): Promise<void> {
  const names = ["researcher", "archivist", "researcher"];
  const items = statuses.map((status, at) => ({ taskId: `task-${at}`, name: names[at], status })).reverse();
  await readTasks({ background: async () => ({ items }) } as unknown as Api, "t", talk);
}

for (const isReloaded of [false, true]) {
  const page = isReloaded ? "a page that was loaded later" : "the page that was there";
  test(`agents whose run is over work in the background: ${page}`, () => {
    const talk = begun({ isReloaded });
    assert.deepEqual(agentsIn(talk), ["background", "background"]);
    assert.equal(talk.items.find(({ role }) => role === "research")?.open, false);
  });

  test(`an agent has ended when the last of its tasks has: ${page}`, async () => {
    const talk = begun({ isReloaded });
    await read(talk, "completed", "waiting", "working");
    assert.deepEqual(agentsIn(talk), ["background", "background"]);
    await read(talk, "completed", "cancelled", "completed");
    assert.deepEqual(agentsIn(talk), ["done", "stopped"]);
    const before = talk.items;
    await read(talk, "completed", "cancelled", "completed");
    assert.equal(talk.items, before);
  });
}
