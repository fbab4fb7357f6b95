import assert from "node:assert/strict";
import { test } from "node:test";
import type { Chat, ClientCall, ClientOptions, InterruptItem } from "../src/index.ts";
import "../src/calls.ts"; // what is loaded later is there at once
import { Offer } from "../src/offer.ts";
import { FakeSocket, settled } from "./fakes.ts";
import { connected, page, stamp, THREAD } from "./page.ts";

const CALL = "c-1";
const PARAMETERS = { type: "object", properties: { colour: { type: "string" } } };

function painting(run: (args: Record<string, unknown>, call: ClientCall) => unknown): Partial<ClientOptions> {
  return { tools: [{ name: "paint", description: "Paints the page.", parameters: PARAMETERS, run }] };
}

/** A run that calls `paint` and waits for it, in the answer to `messageId`. */
function callOf(messageId: string) {
  const input = { messages: [{ id: messageId, role: "user", content: "Make it red" }] };
  const interrupt = { id: CALL, reason: "client_tool", toolCallId: CALL, metadata: { toolName: "paint" } };
  return [
    { type: "RUN_STARTED", runId: "r-1", input, metadata: { ...stamp(1), messageId } },
    { type: "TOOL_CALL_START", toolCallId: CALL, toolCallName: "paint", metadata: stamp(2) },
    { type: "TOOL_CALL_ARGS", toolCallId: CALL, delta: '{"colour": "red"}', metadata: stamp(3) },
    { type: "RUN_FINISHED", runId: "r-1", outcome: { type: "interrupt", interrupts: [interrupt] }, metadata: stamp(4) },
  ];
}

/** The run that goes on with the answer. */
const goingOn = () => ({
  type: "RUN_STARTED",
  runId: "r-2",
  parentRunId: "r-1",
  input: { resume: [{ interruptId: CALL, status: "resolved" }] },
  metadata: { ...stamp(5), runId: "r-2" },
});

const answersOf = (socket: FakeSocket) => socket.sent.filter(({ action }) => action === "answer");
const callIn = (chat: Chat) => chat.snapshot.items.find(({ role }) => role === "interrupt") as InterruptItem;

async function asked(options: Partial<ClientOptions>): Promise<Chat> {
  const chat = await connected(options);
  FakeSocket.last.hear(...callOf(chat.send("Make it red")));
  await settled();
  return chat;
}

test("tools and context go with every message, as they are then", async () => {
  let place = "Cart";
  const context = () => [{ description: "Where the user is", value: { place } }];
  const chat = await connected({ ...painting(() => {}), context });
  chat.send("Hello");
  place = "Checkout";
  chat.send("And now?");
  const sent = FakeSocket.last.sent.filter(({ action }) => action === "message");
  const tools = [{ name: "paint", description: "Paints the page.", parameters: PARAMETERS }];
  assert.deepEqual(sent[0]?.tools, tools);
  assert.deepEqual(
    sent.map((frame) => (frame.context as { value: string }[])[0]?.value),
    ['{"place":"Cart"}', '{"place":"Checkout"}'],
  );
});

test("an offer that no frame can hold goes by HTTP with its message", async () => {
  page.answers["/v1/runs"] = null;
  const chat = await connected({
    ...painting(() => {}),
    context: [{ description: "Page", value: "x".repeat(40_000) }],
  });
  chat.send("Hello");
  await settled();
  assert.equal(FakeSocket.last.actions().includes("message"), false);
  assert.ok(page.asked.some((address) => address.endsWith("/v1/runs")));
});

test("a call of the page's tool is carried out, and its result is the answer", async () => {
  const given: object[] = [];
  const chat = await asked(
    painting((args, { threadId, isRepeated }) => {
      given.push({ args, threadId, isRepeated });
      return { painted: true };
    }),
  );
  assert.deepEqual(given, [{ args: { colour: "red" }, threadId: THREAD, isRepeated: false }]);
  assert.deepEqual(answersOf(FakeSocket.last), [
    { action: "answer", threadId: THREAD, interruptId: CALL, status: "resolved", payload: { painted: true } },
  ]);
  FakeSocket.last.hear(goingOn());
  assert.equal(callIn(chat).settled, true);
  await settled();
  assert.deepEqual(page.storage.kept("baton:call:"), []);
  assert.deepEqual(page.storage.kept("baton:outbox:"), []);
});

const CYCLE: Record<string, unknown> = {};
CYCLE.self = CYCLE;
const FAULTS: [string, () => unknown, RegExp][] = [
  ["throws", () => Promise.reject(new Error("no paint left")), /Error: no paint left/],
  ["returns what is no JSON", () => CYCLE, /circular/],
  ["returns too much", () => "x".repeat(30_000), /30002 bytes/],
];
for (const [what, run, reason] of FAULTS) {
  test(`the agent is told why a tool ${what}`, async () => {
    const told: string[] = [];
    const chat = await connected(painting(run));
    chat.on("error", ({ code }) => told.push(code));
    FakeSocket.last.hear(...callOf(chat.send("Make it red")));
    await settled();
    const [answer] = answersOf(FakeSocket.last);
    assert.equal(answer?.status, "cancelled");
    assert.match((answer?.payload as { reason: string }).reason, reason);
    assert.deepEqual(told, ["client_tool_failed"]);
  });
}

test("a call in the answer to an edited message is carried out here", async () => {
  const colours: unknown[] = [];
  const chat = await connected(painting(({ colour }) => void colours.push(colour)));
  chat.edit(chat.send("Make it blue"), "Make it red");
  const edited = FakeSocket.last.sent.findLast(({ action }) => action === "message");
  FakeSocket.last.hear(...callOf(String(edited?.messageId)));
  await settled();
  assert.deepEqual(colours, ["red"]);
});

test("of two tabs one carries the call out, and the other waits", async () => {
  let calls = 0;
  const options = painting(() => {
    calls += 1;
    return new Promise(() => {});
  });
  const chat = await connected(options);
  const first = FakeSocket.last;
  const other = await connected(options);
  const events = callOf(chat.send("Make it red"));
  first.hear(...events);
  FakeSocket.last.hear(...events);
  await settled();
  assert.equal(calls, 1);
  assert.deepEqual([callIn(chat).call, callIn(other).call], ["running", "elsewhere"]);
});

test("a tab that closes in the middle leaves the call to another one, which is told so", async () => {
  const begun: boolean[] = [];
  const options = painting((_, { isRepeated }) => {
    begun.push(isRepeated);
    return new Promise(() => {});
  });
  const interrupt = { id: CALL, reason: "client_tool" };
  page.answers[`/v1/threads/${THREAD}`] = { id: THREAD, interrupts: [interrupt], lastSeq: 4, state: null, run: null };
  const chat = await connected(options);
  const first = FakeSocket.last;
  await connected(options);
  const events = callOf(chat.send("Make it red"));
  first.hear(...events);
  FakeSocket.last.hear(...events);
  await settled();
  chat.disconnect();
  await settled();
  await settled();
  assert.deepEqual(begun, [false, true]);
});

test("an answer that the server may not have is sent again by the next page, without another call", async () => {
  let calls = 0;
  const options = painting(() => {
    calls += 1;
    return "done";
  });
  const chat = await asked(options);
  chat.disconnect();
  FakeSocket.threads.add(THREAD);
  const thread = { id: THREAD, state: null, run: null, lastSeq: 4 };
  page.answers[`/v1/threads/${THREAD}`] = thread;
  page.answers[`/v1/threads/${THREAD}/messages`] = { items: [], nextCursor: null, lastSeq: 4 };
  await connected(options);
  assert.equal(answersOf(FakeSocket.last).length, 1);
  const interrupt = { id: CALL, reason: "client_tool", toolCallId: CALL, metadata: { toolName: "paint" } };
  const resume = { after: 4, lastSeq: 4, runId: null, interrupts: [interrupt] };
  FakeSocket.last.hear({ type: "STATE_SNAPSHOT", snapshot: {}, metadata: { threadId: THREAD, resume } });
  await settled();
  assert.equal(calls, 1);
});

test("a page without the tool shows that it waits, and takes the call once it has the tool", async () => {
  const chat = await asked({});
  assert.equal(callIn(chat).call, "elsewhere");
});

test("a call that was asked for in another browser is offered, and begun by the user", async () => {
  let calls = 0;
  const chat = await connected(
    painting(() => {
      calls += 1;
    }),
  );
  FakeSocket.last.hear(...callOf("of-another-device"));
  await settled();
  assert.equal(callIn(chat).call, "offered");
  assert.equal(calls, 0);
  chat.callHere(CALL);
  await settled();
  assert.equal(calls, 1);
  assert.equal(answersOf(FakeSocket.last)[0]?.payload, null);
});

test("a call that is given up is aborted, and its late result is not told", async () => {
  let signal: AbortSignal | undefined;
  let finish = (_: string): void => {};
  await asked(
    painting((_, call) => {
      signal = call.signal;
      return new Promise((resolve) => {
        finish = resolve;
      });
    }),
  );
  const input = { messages: [{ id: "m-2", role: "user", content: "Never mind" }] };
  FakeSocket.last.hear({ type: "RUN_STARTED", runId: "r-2", input, metadata: { ...stamp(5), runId: "r-2" } });
  assert.equal(signal?.aborted, true);
  finish("too late");
  await settled();
  assert.deepEqual(answersOf(FakeSocket.last), []);
});

test("a result that the server refuses is told to the agent as a failure", async () => {
  await asked(painting(() => "deep"));
  const refusal = { type: "RUN_ERROR", message: "Too deep.", code: "invalid_request", metadata: { action: "answer" } };
  FakeSocket.last.hear(refusal);
  const answers = answersOf(FakeSocket.last);
  assert.deepEqual(answers.at(-1)?.payload, { reason: "Too deep." });
  FakeSocket.last.hear(refusal);
  assert.equal(answersOf(FakeSocket.last).length, answers.length);
});

test("what the server would refuse cannot be offered", () => {
  const offer = new Offer();
  const tool = { name: "paint", description: "Paints.", run: () => {} };
  for (const wrong of [{ name: "has space" }, { name: "" }, { description: "x".repeat(4001) }, { run: undefined }]) {
    assert.throws(() => {
      offer.tools = [{ ...tool, ...wrong } as typeof tool];
    }, TypeError);
  }
  assert.throws(() => {
    offer.tools = [tool, tool];
  }, TypeError);
  assert.deepEqual(offer.tools, []);
});
