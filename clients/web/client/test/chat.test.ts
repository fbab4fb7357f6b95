import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { type Chat, textOf } from "../src/index.ts";
import { FakeChannel, FakeSocket, settled, tokenFor } from "./fakes.ts";
import { begin, connected, page, pass, runOf, said, sleep, stamp, THREAD } from "./page.ts";

test("what was refused is said again under its id, what failed in the middle as a new message", async () => {
  const chat = await connected();
  const messageId = chat.send("Hello");
  const messages = () => FakeSocket.last.sent.filter(({ action }) => action === "message");
  const refusal = { action: "message", messageId, retryable: true, retryAfter: 40 };
  FakeSocket.last.hear({ type: "RUN_ERROR", message: "Too fast.", code: "rate_limited", metadata: refusal });
  const refused = chat.snapshot.items.at(-1);
  assert.ok(refused?.role === "user" && refused.failed?.retryable);
  assert.equal(refused.failed.retryAfter, 40);
  chat.retry(refused);
  assert.deepEqual(
    messages().map((frame) => frame.messageId),
    [messageId, messageId],
  );
  const metadata = { ...stamp(3), retryable: true };
  FakeSocket.last.hear(...runOf(messageId, "Good").slice(0, 2), {
    type: "RUN_ERROR",
    message: "The model failed.",
    code: "model_error",
    metadata,
  });
  const failed = chat.snapshot.items.at(-1);
  assert.ok(failed?.role === "assistant" && failed.failed?.retryable);
  chat.retry(failed);
  const again = messages().at(-1);
  assert.notEqual(again?.messageId, messageId);
  assert.equal(again?.content, "Hello");
  const kept = chat.snapshot.items.find(({ id }) => id === failed.id);
  assert.ok(kept?.role === "assistant" && kept.failed?.retryable === false);
});

test("a user goes on beyond a spending limit: a refused message under its id, an answer that ended as a new message", async () => {
  const chat = await connected();
  const messageId = chat.send("Hello");
  const sent = () => FakeSocket.last.sent.findLast(({ action }) => action === "message");
  const limit = { retryable: false, canContinue: true, resetsAt: "2040-03-02T00:00:00.000Z" };
  const reached = { type: "RUN_ERROR", message: "You have spent it.", code: "spending_limit_reached" };
  FakeSocket.last.hear({ ...reached, metadata: { ...limit, action: "message", messageId } });
  const refused = chat.snapshot.items.at(-1);
  assert.ok(refused?.role === "user" && refused.failed?.canContinue);
  assert.deepEqual([refused.failed.retryable, refused.failed.resetsAt], [false, limit.resetsAt]);
  assert.equal(sent()?.overSpending, undefined);
  chat.retry(refused, { overSpending: true });
  assert.deepEqual([sent()?.messageId, sent()?.overSpending], [messageId, true]);
  FakeSocket.last.hear(...runOf(messageId, "Good").slice(0, 2), { ...reached, metadata: { ...stamp(3), ...limit } });
  const ended = chat.snapshot.items.at(-1);
  assert.ok(ended?.role === "assistant" && ended.failed?.canContinue);
  chat.retry(ended, { overSpending: true });
  assert.notEqual(sent()?.messageId, messageId);
  assert.deepEqual([sent()?.content, sent()?.overSpending], ["Hello", true]);
  const kept = chat.snapshot.items.find(({ id }) => id === ended.id);
  assert.ok(kept?.role === "assistant" && kept.failed?.canContinue === false);
});

test("a message too large for a frame goes on beyond a spending limit by HTTP", async () => {
  const chat = await connected();
  const bodies: { readonly forwardedProps: { readonly overSpending?: boolean } }[] = [];
  const problem = { code: "spending_limit_reached", detail: "You have spent it.", retryable: false };
  const limit = { canContinue: true, resetsAt: "2040-03-02T00:00:00.000Z" };
  mock.method(globalThis, "fetch", async (_: string, { body }: RequestInit) => {
    bodies.push(JSON.parse(String(body)));
    return Response.json({ ...problem, ...limit }, { status: 429 });
  });
  chat.send("x".repeat(40_000));
  await settled();
  const refused = chat.snapshot.items.at(-1);
  assert.ok(refused?.role === "user" && refused.failed?.canContinue);
  assert.equal(refused.failed.resetsAt, limit.resetsAt);
  chat.retry(refused, { overSpending: true });
  await settled();
  assert.deepEqual(
    bodies.map(({ forwardedProps }) => forwardedProps.overSpending),
    [undefined, true],
  );
});

test("a chat that was disconnected leaves nothing behind, even if it is started again", async () => {
  const before = FakeChannel.all.size;
  const chat = await connected();
  chat.disconnect();
  chat.start();
  await pass(60);
  assert.equal(FakeChannel.all.size, before);
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(chat.snapshot.connection.status, "closed");
});

test("a message is answered", async () => {
  const chat = await connected();
  const complete: string[] = [];
  chat.on("message", ({ content }) => complete.push(textOf(content)));
  const id = chat.send("Hello");
  assert.deepEqual(FakeSocket.last.sent.at(-1), {
    action: "message",
    threadId: THREAD,
    messageId: id,
    content: "Hello",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  });
  FakeSocket.last.hear(...runOf(id, "Good day."));
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Good day."]);
  assert.deepEqual(complete, ["Good day."]);
  assert.equal(chat.snapshot.run, null);
});

test("a conversation that begins is shown, however long it takes to learn that nothing was said before", async () => {
  let refuse = (): void => {};
  const late = new Promise<Response>((resolve) => {
    refuse = () => resolve(Response.json({ title: "Not found", code: "thread_unavailable" }, { status: 404 }));
  });
  mock.method(globalThis, "fetch", () => late.then((response) => response.clone()));
  const chat = await connected();
  const id = chat.send("Hello");
  const run = runOf(id, "Good day.");
  FakeSocket.last.hear(...run.slice(0, 3));
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Good day."]);
  refuse();
  await settled();
  FakeSocket.last.hear(...run.slice(3));
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Good day."]);
  assert.equal(chat.snapshot.run, null);
});

test("what was said without a connection is sent by the next one, under its id", async () => {
  const chat = begin();
  const id = chat.send("Hello");
  await settled();
  FakeSocket.last.open();
  await settled();
  assert.deepEqual(FakeSocket.last.sent.map(({ messageId }) => messageId).filter(Boolean), [id]);
});

test("a message is sent again until its run has begun, also by the next page", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.hear({ type: "CUSTOM", name: "message_accepted", value: { messageId: id, threadId: THREAD } });
  chat.disconnect();
  const next = await connected();
  assert.equal(FakeSocket.last.sent.find(({ action }) => action === "message")?.messageId, id);
  assert.deepEqual(said(next), ["user: Hello"]);
  FakeSocket.last.hear(...runOf(id, "Good day."));
  assert.deepEqual(page.storage.kept("baton:outbox:"), []);
});

test("a message that waits is shown as such, moves to where it enters the run, and is not sent again", async () => {
  const chat = await connected();
  const first = chat.send("Hello");
  const [started, ...answer] = runOf(first, "Three.");
  FakeSocket.last.hear(started as object);
  const id = chat.send("To Graz.", { whileBusy: "steer" });
  assert.equal(FakeSocket.last.sent.findLast(({ action }) => action === "message")?.whileBusy, "steer");
  const value = { messageId: id, threadId: THREAD, busy: "steered" };
  FakeSocket.last.hear({ type: "CUSTOM", name: "message_accepted", value });
  const waiting = chat.snapshot.items.find((item) => item.id === id);
  assert.deepEqual(
    [waiting?.role === "user" && waiting.waits, waiting?.role === "user" && waiting.delivery],
    ["steered", "accepted"],
  );
  const about = (started as { metadata: object }).metadata as { seq: number; runId: string };
  const entered = { messageId: id, runId: about.runId, message: { id, role: "user", content: "To Graz." } };
  FakeSocket.last.hear({
    type: "CUSTOM",
    name: "message_steered",
    value: entered,
    metadata: { ...about, seq: about.seq + 1 },
  });
  for (const event of answer) {
    const metadata = (event as { metadata: { seq: number } }).metadata;
    FakeSocket.last.hear({ ...event, metadata: { ...metadata, seq: metadata.seq + 1 } });
  }
  assert.deepEqual(said(chat), ["user: Hello", "user: To Graz.", "assistant: Three."]);
  const shown = chat.snapshot.items.find((item) => item.id === id);
  assert.equal(shown?.role === "user" && shown.steered, true);
  assert.deepEqual(page.storage.kept("baton:outbox:"), []);
});

test("a withdrawn message leaves the conversation, here and where its refusal is heard", async () => {
  const chat = await connected();
  const id = chat.send("Never mind.");
  const about = { messageId: id, action: "message", threadId: THREAD, retryable: false };
  FakeSocket.last.hear({ type: "RUN_ERROR", code: "message_withdrawn", message: "Withdrawn.", metadata: about });
  assert.deepEqual(said(chat), []);
  assert.deepEqual(page.storage.kept("baton:outbox:"), []);
});

test("another user's messages are not sent", async () => {
  const chat = await connected();
  chat.send("Hello");
  chat.disconnect();
  const other = await connected({ token: tokenFor({ tenant: "acme", sub: "bob" }) });
  assert.deepEqual(said(other), []);
  assert.equal(FakeSocket.last.actions().includes("message"), false);
});

test("a full storage loses nothing while the page lives", async () => {
  page.storage.isFull = true;
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.lose();
  await pass(30);
  FakeSocket.last.open();
  await settled();
  assert.equal(FakeSocket.last.sent.find(({ action }) => action === "message")?.messageId, id);
});

test("silence in a run is asked about, and a connection that does not answer is replaced", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf(chat.send("Hello"), "It was").slice(0, 3));
  const first = FakeSocket.last;
  await pass(10);
  assert.deepEqual(first.actions(), ["message", "ping"]);
  await pass(5);
  assert.notEqual(FakeSocket.last, first);
});

test("a page that has slept asks once more before it gives a connection up", async () => {
  await connected();
  const socket = FakeSocket.last;
  await pass(19);
  await sleep(3600);
  assert.equal(FakeSocket.last, socket);
  assert.equal(socket.actions().at(-1), "ping");
  socket.hear({ type: "PONG" });
  await pass(10);
  assert.equal(FakeSocket.last, socket);
});

test("a throttled page finds a dead connection, too", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf(chat.send("Hello"), "It was").slice(0, 3));
  const socket = FakeSocket.last;
  for (let minute = 0; minute < 4; minute += 1) await sleep(60);
  assert.notEqual(FakeSocket.last, socket);
});

test("a gap is asked about, from the last event on", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  const [started, , content] = runOf(id, "Good day.");
  FakeSocket.last.hear(started as object, content as object);
  assert.deepEqual(FakeSocket.last.sent.at(-1), { action: "resume", threadId: THREAD, after: 1 });
});

test("events of an unknown kind count, and change nothing", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  const [started] = runOf(id, "");
  FakeSocket.last.hear(started as object, { type: "HOLOGRAM_STARTED", metadata: stamp(2) }, { nonsense: true });
  FakeSocket.last.hear({ type: "TEXT_MESSAGE_START", messageId: "a-1", name: "Guide", metadata: stamp(3) });
  assert.deepEqual(said(chat), ["user: Hello", "assistant: "]);
});

test("a token callback that fails is called again, and told of", async () => {
  let calls = 0;
  const token = () => {
    calls += 1;
    if (calls < 3) throw new Error("signed out");
    return tokenFor();
  };
  const chat = begin({ token });
  const told: string[] = [];
  chat.on("tokenerror", ({ code }) => told.push(code));
  await pass(10);
  assert.ok(told.length >= 1);
  assert.equal(told[0], "token_failed");
  assert.equal(FakeSocket.all.length, 1);
});

test("a token callback that hangs is given up", async () => {
  const chat = begin({ token: () => new Promise<string>(() => {}) });
  const told: string[] = [];
  chat.on("tokenerror", ({ message, code }) => told.push(`${code}: ${message}`));
  await pass(12);
  assert.match(told[0] ?? "", /^network_failed: .* over 10 seconds/);
});

const reasonOf = ({ snapshot: { connection } }: Chat) => (connection.status === "waiting" ? connection.reason : null);

test("a token callback without a network is a lost connection, another failure is one of the token", async () => {
  const lost = begin({ token: () => Promise.reject(new TypeError("Failed to fetch")) });
  const broken = begin({ token: () => Promise.reject(new TypeError("x is undefined")) });
  await pass(5);
  mock.timers.tick(1);
  const told: string[] = [];
  for (const chat of [lost, broken]) chat.on("tokenerror", ({ code }) => told.push(code));
  await pass(20);
  assert.deepEqual(new Set(told), new Set(["network_failed", "token_failed"]));
  assert.deepEqual([reasonOf(lost), reasonOf(broken)], ["network", "token"]);
});

for (const status of [401, 403])
  test(`a visitor who is not signed in (${status}) is asked once, until they may have signed in`, async () => {
    let isOut = true;
    let calls = 0;
    page.storage.setItem("baton:known", JSON.stringify([THREAD])); // of earlier: its messages are to be loaded
    const token = () => {
      calls += 1;
      if (isOut) throw new Response(null, { status });
      return tokenFor();
    };
    const chat = begin({ token });
    await pass(120);
    assert.equal(chat.snapshot.connection.status, "signed-out");
    assert.ok(calls <= 2, `${calls} calls`);
    assert.equal(chat.snapshot.isLoaded, false);
    isOut = false;
    chat.retryNow();
    await settled();
    FakeSocket.last.open();
    await settled();
    await pass(1);
    assert.equal(chat.snapshot.connection.status, "open");
    assert.equal(chat.snapshot.isLoaded, true);
  });

test("a connection is replaced before its token ends, without a gap", async () => {
  const seconds = Math.floor(Date.now() / 1000);
  const token = () => tokenFor({ tenant: "acme", sub: "ada", iat: seconds, exp: seconds + 600 });
  await connected({ token });
  const first = FakeSocket.last;
  for (let second = 0; second < 600 && FakeSocket.last === first; second += 5) {
    await pass(5);
    first.hear({ type: "PONG" });
  }
  const second = FakeSocket.last;
  assert.notEqual(second, first);
  assert.equal(first.readyState, 1);
  second.open();
  assert.equal(first.readyState, 3);
});

test("a clock that is wrong does not make every token look old", async () => {
  let calls = 0;
  const token = () => {
    calls += 1;
    return tokenFor({ tenant: "acme", sub: "ada", iat: 1000, exp: 1600 });
  };
  await connected({ token });
  const before = calls;
  await pass(10);
  assert.equal(calls, before);
});

test("a token of somebody else ends the chat", async () => {
  let user = "ada";
  const chat = await connected({ token: () => tokenFor({ tenant: "acme", sub: user }) });
  let isTold = false;
  chat.on("userchange", () => {
    isTold = true;
  });
  user = "bob";
  FakeSocket.last.lose();
  await pass(3);
  FakeSocket.last.open();
  await settled();
  assert.equal(isTold, true);
  assert.equal(chat.snapshot.connection.status, "closed");
});

test("stopping is asked for again by the next connection", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.hear(...runOf(id, "It was").slice(0, 3));
  chat.stop();
  assert.equal(chat.snapshot.isStopping, true);
  FakeSocket.last.lose();
  await pass(3);
  FakeSocket.last.open();
  await settled();
  assert.deepEqual(FakeSocket.last.sent.find(({ action }) => action === "cancel")?.runId, "r-1");
  assert.deepEqual(FakeSocket.last.actions().slice(0, 2), ["cancel", "ping"]); // the answer to the ping shows that it has arrived
});

test("a second attempt drops what the first has said", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.hear(...runOf(id, "It was").slice(0, 3));
  const again = runOf(id, "Once upon a time").map((event, index) => ({
    ...event,
    ...("messageId" in event && { messageId: "a-2" }),
    metadata: { ...event.metadata, seq: 11 + index, attempt: 2, ...(index === 0 && { previousSeq: 1 }) },
  }));
  FakeSocket.last.hear(...again);
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Once upon a time"]);
});

test("stored messages are shown, and older ones above them", async () => {
  const message = (ordinal: number) => ({
    id: `m-${ordinal}`,
    role: ordinal % 2 ? "assistant" : "user",
    content: `${ordinal}`,
    metadata: { ordinal },
  });
  FakeSocket.threads.add(THREAD);
  page.answers[`/v1/threads/${THREAD}`] = { id: THREAD, state: null, run: null, lastSeq: 90 };
  page.answers[`/v1/threads/${THREAD}/messages`] = { items: [message(2), message(3)], nextCursor: "c", lastSeq: 90 };
  const chat = await connected();
  assert.equal(chat.snapshot.hasOlder, true);
  page.answers[`/v1/threads/${THREAD}/messages`] = { items: [message(0), message(1)], nextCursor: null, lastSeq: 90 };
  await chat.loadOlder();
  assert.deepEqual(said(chat), ["user: 0", "assistant: 1", "user: 2", "assistant: 3"]);
  assert.equal(chat.snapshot.hasOlder, false);
});

test("an approval is asked for, answered once, and settled by the run that goes on", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  const interrupt = { id: "i-1", reason: "tool_approval", message: "May I?", toolCallId: "c-1" };
  const [started] = runOf(id, "");
  FakeSocket.last.hear(
    started as object,
    { type: "TOOL_CALL_START", toolCallId: "c-1", toolCallName: "delete_page", metadata: stamp(2) },
    { type: "RUN_FINISHED", runId: "r-1", outcome: { type: "interrupt", interrupts: [interrupt] }, metadata: stamp(3) },
  );
  chat.answer("i-1", "resolved", { approved: true });
  assert.deepEqual(FakeSocket.last.sent.find(({ action }) => action === "answer")?.payload, { approved: true });
  const resume = [{ interruptId: "i-1", status: "resolved" }];
  const next = {
    type: "RUN_STARTED",
    runId: "r-2",
    parentRunId: "r-1",
    input: { resume },
    metadata: { ...stamp(4), runId: "r-2" },
  };
  FakeSocket.last.hear(next);
  const item = chat.snapshot.items.find(({ role }) => role === "interrupt");
  assert.ok(item?.role === "interrupt" && item.settled && item.answer === "resolved");
});

test("an approval that another page has refused by its payload shows as refused", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  const about = { toolName: "refund", arguments: '{"euros":12.5}' };
  const interrupt = { id: "i-1", reason: "tool_approval", message: "May I?", metadata: about };
  const [started] = runOf(id, "");
  FakeSocket.last.hear(started as object, {
    type: "RUN_FINISHED",
    runId: "r-1",
    outcome: { type: "interrupt", interrupts: [interrupt] },
    metadata: stamp(2),
  });
  const resume = [{ interruptId: "i-1", status: "resolved", payload: { approved: false } }];
  const metadata = { ...stamp(3), runId: "r-2" };
  FakeSocket.last.hear({ type: "RUN_STARTED", runId: "r-2", parentRunId: "r-1", input: { resume }, metadata });
  const item = chat.snapshot.items.find(({ role }) => role === "interrupt");
  assert.ok(item?.role === "interrupt" && item.settled && item.answer === "cancelled");
  assert.equal(item.args, about.arguments);
});

test("another answer takes the place of the one before, under an id of its own", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.hear(...runOf(id, "Good day."));
  chat.regenerate(id);
  const wish = FakeSocket.last.sent.at(-1);
  assert.deepEqual(wish?.branch, { from: id, regenerate: true });
  assert.notEqual(wish?.messageId, id);
  const branch = { branchId: "b2", from: id, regenerate: true, after: null };
  const again = runOf(id, "Hi there.").map((event, index) => ({
    ...event,
    runId: "r-2",
    ...("messageId" in event && { messageId: "a-2" }),
    metadata: {
      ...event.metadata,
      runId: "r-2",
      seq: 6 + index,
      ...(index === 0 && { branch, messageId: wish?.messageId as string }),
    },
  }));
  FakeSocket.last.hear(...again);
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Hi there."]);
});

test("a branch that is selected elsewhere is read from the store", async () => {
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.hear(...runOf(id, "Good day."));
  page.answers[`/v1/threads/${THREAD}/messages`] = {
    items: [
      { id, role: "user", content: "Hello", metadata: { ordinal: 0 } },
      { id: "a-9", role: "assistant", content: "Hi there.", metadata: { ordinal: 3 } },
    ],
    nextCursor: null,
    lastSeq: 6,
  };
  const metadata = { threadId: THREAD, runId: null, seq: 6 };
  FakeSocket.last.hear({ type: "CUSTOM", name: "branch_selected", value: { branchId: "b1", after: id }, metadata });
  await settled();
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Hi there."]);
});
