import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { BatonClient } from "../src/index.ts";
import { FakeChannel, FakeSocket, settled, tokenFor } from "./fakes.ts";
import { connected, page, pass, runOf, said, THREAD } from "./page.ts";

const messagesOf = (socket: FakeSocket) => socket.sent.filter(({ action }) => action === "message");

test("what is said without a connection shows in the other tab, and is sent by one of them", async () => {
  const chat = await connected();
  const first = FakeSocket.last;
  const other = await connected();
  const second = FakeSocket.last;
  first.lose();
  second.lose();
  const id = chat.send("Hello");
  await settled();
  assert.deepEqual(said(other), ["user: Hello"]);
  await pass(4);
  const [third, fourth] = FakeSocket.all.slice(2) as [FakeSocket, FakeSocket];
  third.open();
  fourth.open();
  await settled();
  assert.equal([...messagesOf(third), ...messagesOf(fourth)].length, 1);
  third.hear(...runOf(id, "Good day."));
  fourth.hear(...runOf(id, "Good day."));
  assert.deepEqual(said(chat), said(other));
});

test("a tab that closes leaves what it has not sent to another one", async () => {
  const chat = await connected();
  const first = FakeSocket.last;
  await connected();
  first.lose();
  const id = chat.send("Hello");
  await settled();
  assert.deepEqual(messagesOf(FakeSocket.last), []);
  chat.disconnect();
  await settled();
  assert.deepEqual(
    messagesOf(FakeSocket.last).map(({ messageId }) => messageId),
    [id],
  );
});

test("a message that is refused says so in every tab", async () => {
  const chat = await connected();
  const first = FakeSocket.last;
  const other = await connected();
  const messageId = chat.send("Hello");
  await settled();
  const metadata = { action: "message", messageId, retryable: true };
  first.hear({ type: "RUN_ERROR", message: "Too fast.", code: "rate_limited", metadata });
  await settled();
  const [item] = other.snapshot.items;
  assert.ok(item?.role === "user" && item.failed?.text === "Too fast.");
  assert.equal(item.delivery, undefined);
});

test("a conversation that begins in one tab is followed by the other", async () => {
  const chat = await connected();
  const first = FakeSocket.last;
  await connected();
  const second = FakeSocket.last;
  first.hear(...runOf(chat.send("Hello"), "Good day."));
  await settled();
  assert.deepEqual(second.sent.at(-1), { action: "resume", threadId: THREAD, after: 0 });
});

test("who signs out signs out in every tab, and nothing is kept", async () => {
  const chat = await connected();
  let isTold = false;
  chat.on("logout", () => {
    isTold = true;
  });
  chat.send("Secret");
  await settled();
  new BatonClient({ endpoint: "http://baton.test", token: tokenFor(), storage: page.storage }).forgetEverything();
  await settled();
  assert.equal(isTold, true);
  assert.equal(chat.snapshot.connection.status, "closed");
  chat.send("Too late");
  await settled();
  assert.deepEqual(page.storage.kept("baton:"), []);
});

test("what is being loaded when the user signs out is not kept", async () => {
  page.answers[`/v1/threads/${THREAD}`] = { id: THREAD, state: null, run: null, lastSeq: 5 };
  page.answers[`/v1/threads/${THREAD}/messages`] = { items: [], nextCursor: null, lastSeq: 5 };
  page.storage.setItem("baton:known", JSON.stringify([THREAD]));
  const answer = globalThis.fetch;
  let arrive = () => {};
  const arriving = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  mock.method(globalThis, "fetch", async (address: string) => {
    await arriving;
    return await answer(address);
  });
  const chat = await connected();
  new BatonClient({ endpoint: "http://baton.test", token: tokenFor(), storage: page.storage }).forgetEverything();
  await settled();
  arrive();
  await settled();
  assert.equal(chat.snapshot.isLoaded, false);
  assert.deepEqual(page.storage.kept("baton:"), []);
});

test("what other scripts write to the channel changes nothing", async () => {
  const chat = await connected();
  const scope = `acme:ada:${THREAD}`;
  const hostile = new FakeChannel();
  for (const news of [
    null,
    "logout",
    { kind: "said" },
    { kind: "said", scope },
    { kind: "said", scope, frame: { action: "message", messageId: 7 } },
    { kind: "said", scope, frame: { action: "message", messageId: "m", content: { a: 1 } } },
    { kind: "said", scope, frame: { action: "message", messageId: "m", content: [null] } },
    { kind: "said", scope, frame: { action: "message", messageId: "m", content: [{ type: "text", text: {} }] } },
    { kind: "refused", scope, messageId: "m" },
    { kind: "said", scope: "acme:bob:1", frame: { action: "message", messageId: "m", content: "Hi" } },
  ])
    hostile.postMessage(news);
  await settled();
  assert.deepEqual(said(chat), []);
  assert.notEqual(chat.snapshot.connection.status, "closed");
});

test("only what the user said can have been refused", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf(chat.send("Hello"), "Good day."));
  const failed = { text: "Call this number.", retryable: true, sameId: true, askedBy: "a-1" };
  new FakeChannel().postMessage({ kind: "refused", scope: `acme:ada:${THREAD}`, messageId: "a-1", failed });
  await settled();
  const answer = chat.snapshot.items.at(-1);
  assert.ok(answer?.role === "assistant" && !answer.failed);
});

test("what is kept in another shape is neither shown nor sent", async () => {
  const kept = (messageId: string, content: unknown) => {
    const frame = { action: "message", threadId: THREAD, messageId, content };
    page.storage.setItem(`baton:outbox:acme:ada:${THREAD}:${messageId}`, JSON.stringify({ frame, at: Date.now() }));
  };
  kept("m-1", [null]);
  kept("m-2", { html: "<b>" });
  kept("m-3", "Hello");
  const chat = await connected();
  assert.deepEqual(said(chat), ["user: Hello"]);
  assert.deepEqual(
    messagesOf(FakeSocket.last).map(({ messageId }) => messageId),
    ["m-3"],
  );
});

test("what was not sent yet goes with the conversation that is deleted", async () => {
  const chat = await connected();
  const client = new BatonClient({ endpoint: "http://baton.test", token: tokenFor(), storage: page.storage });
  FakeSocket.last.lose();
  chat.send("Too late");
  await settled();
  assert.equal(page.storage.kept("baton:outbox:").length, 1);
  page.answers[`/v1/threads/${THREAD}`] = {};
  await client.delete(THREAD);
  await settled();
  assert.equal(chat.snapshot.connection.status, "closed");
  assert.deepEqual(page.storage.kept("baton:outbox:"), []);
});

test("nothing is asked of a conversation that was made here", async () => {
  const client = new BatonClient({ endpoint: "http://baton.test", token: tokenFor(), storage: page.storage });
  const chat = client.chat({ threadId: await client.session() });
  page.chats.push(chat);
  page.answers["/v1/workflows"] = { items: [], nextCursor: null };
  chat.start();
  await settled();
  FakeSocket.last.open();
  await settled();
  assert.equal(chat.snapshot.isLoaded, true);
  assert.deepEqual(page.asked.toSorted(), ["http://baton.test/v1/agents", "http://baton.test/v1/workflows"]);
});

test("whether a host's conversation has begun is asked without a request that fails", async () => {
  page.answers["/v1/workflows"] = { items: [], nextCursor: null };
  const chat = await connected();
  assert.equal(chat.snapshot.isLoaded, true);
  assert.deepEqual(page.asked.toSorted(), ["http://baton.test/v1/agents", "http://baton.test/v1/workflows"]);
});

test("without a connection a conversation is loaded by HTTP", async () => {
  const client = new BatonClient({ endpoint: "http://baton.test", token: tokenFor(), storage: page.storage });
  const chat = client.chat({ threadId: THREAD });
  page.chats.push(chat);
  const items = [{ id: "m-0", role: "user", content: "Hello", metadata: { ordinal: 0 } }];
  page.answers[`/v1/threads/${THREAD}`] = { id: THREAD, title: "Lisbon", state: null, run: null, lastSeq: 5 };
  page.answers[`/v1/threads/${THREAD}/messages`] = { items, nextCursor: null, lastSeq: 5 };
  chat.start();
  await pass(4);
  assert.deepEqual(said(chat), ["user: Hello"]);
  assert.equal(chat.snapshot.title, "Lisbon");
});

test("a title is told when it is made, changed by renaming, and belongs to nobody's turn", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf(chat.send("Hello"), "Good day."));
  const metadata = { threadId: THREAD, runId: null };
  FakeSocket.last.hear({ type: "CUSTOM", name: "thread_title", value: { title: "Greetings" }, metadata });
  assert.equal(chat.snapshot.title, "Greetings");
  page.answers[`/v1/threads/${THREAD}`] = { id: THREAD, title: "Hellos" };
  await chat.rename("Hellos");
  assert.equal(chat.snapshot.title, "Hellos");
});

test("a warning of what answers cost is one line of its run", async () => {
  const chat = await connected();
  const [started, ...rest] = runOf(chat.send("Hello"), "Good day.");
  const { threadId, runId } = started?.metadata ?? {};
  const value = { account: "user", period: "day", percent: 85, resetsAt: "2040-03-02T00:00:00.000Z" };
  const warning = { type: "CUSTOM", name: "spending_warning", value, metadata: { threadId, runId } };
  FakeSocket.last.hear(started as object, warning, warning, ...rest);
  const notes = chat.snapshot.items.filter((item) => item.role === "note");
  assert.deepEqual(
    notes.map(({ kind, percent, resetsAt }) => [kind, percent, resetsAt]),
    [["spending", 85, value.resetsAt]],
  );
});

test("what the user thinks of an answer is kept with it", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf(chat.send("Hello"), "Good day."));
  const feedback = { rating: "down", comment: "Too short.", updatedAt: "2026-03-14T10:00:00Z" };
  page.answers[`/v1/threads/${THREAD}/messages/a-1/feedback`] = { feedback };
  await chat.feedback("a-1", "down", "Too short.");
  const answer = chat.snapshot.items.at(-1);
  assert.ok(answer?.role === "assistant");
  assert.deepEqual(answer.feedback, feedback);
});
