import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Item, TokenError } from "../src/index.ts";
import { FakeSocket, settled } from "./fakes.ts";
import { begin, connected, FakeBrowser, page, pass, runOf, stamp, THREAD } from "./page.ts";

const ASSISTANT = { id: "assistant", name: "Assistant", isMain: true };
const TEAM = { id: "support", name: "Support team", isMain: false };
const ANNA = { kind: "person", id: "anna", name: "Anna" };
const OFFERED = { id: "support", name: "Support team", isOpen: false, opensAt: "2026-11-30T08:00:00.000Z" };

/** What the server lists of agents: the one that conversations begin with, and its desk. */
const agents = () => ({
  items: [{ ...ASSISTANT, main: true, isDefault: true, desks: [OFFERED] }],
  nextCursor: null,
});
const stateOf = (status: "waiting" | "active" | null) => ({
  activeAgent: status ? TEAM : ASSISTANT,
  workflow: null,
  resumable: [],
  status: "active",
  desk: status && {
    agentId: "support",
    status,
    since: "2026-11-29T08:00:00.000Z",
    person: status === "active" ? ANNA : null,
    ahead: null,
  },
});
const snapshot = (seq: number, status: "waiting" | "active" | null) => ({
  type: "STATE_SNAPSHOT",
  snapshot: stateOf(status),
  metadata: stamp(seq),
});
const started = (messageId: string, metadata: object) => ({
  type: "RUN_STARTED",
  runId: "r-1",
  input: { messages: [{ id: messageId, role: "user", content: "Is anybody there?" }] },
  metadata: { ...metadata, messageId },
});

test("a message to people is delivered, and nobody waits for an answer to it", async () => {
  const chat = await connected();
  const id = chat.send("Is anybody there?");
  FakeSocket.last.hear(started(id, stamp(1)), snapshot(2, "active"));
  await settled();
  assert.equal(chat.snapshot.isWaiting, false);
  FakeSocket.last.hear({ type: "RUN_FINISHED", runId: "r-1", outcome: { type: "delivered" }, metadata: stamp(3) });
  await settled();
  const [message] = chat.snapshot.items;
  assert.ok(message?.role === "user" && message.delivered && !message.delivery);
  assert.equal(chat.snapshot.desk?.person?.name, "Anna");
});

test("a person's message has its author and its files", async () => {
  const chat = await connected();
  const file = { type: "document", source: { type: "data", value: "eA==", mimeType: "text/plain" } };
  FakeSocket.last.hear(
    { type: "RUN_STARTED", runId: "r-1", metadata: { ...stamp(1), openedBy: "person" } },
    snapshot(2, "active"),
    { type: "TEXT_MESSAGE_START", messageId: "p-1", name: "Anna", metadata: { ...stamp(3), author: ANNA } },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "p-1", delta: "Hello", metadata: stamp(4) },
    { type: "TEXT_MESSAGE_END", messageId: "p-1", metadata: { ...stamp(5), attachments: [file] } },
    { type: "RUN_FINISHED", runId: "r-1", outcome: { type: "success" }, metadata: stamp(6) },
  );
  await settled();
  const message = chat.snapshot.items.at(-1) as Item;
  assert.ok(message.role === "assistant");
  assert.deepEqual([message.author, message.attachments], [ANNA, [file]]);
});

test("the person is writing until they have written, or for a while", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf("m-0", "Hello"), snapshot(6, "active"));
  const typing = { type: "CUSTOM", name: "typing", value: { who: "person" }, metadata: { threadId: THREAD } };
  FakeSocket.last.hear(typing);
  await settled();
  assert.equal(chat.snapshot.typing?.name, "Anna");
  await pass(7);
  assert.equal(chat.snapshot.typing, null);
  FakeSocket.last.hear(typing, {
    type: "TEXT_MESSAGE_START",
    messageId: "p-1",
    name: "Anna",
    metadata: { ...stamp(7), author: ANNA },
  });
  await settled();
  assert.equal(chat.snapshot.typing, null);
});

test("people are notified now and then that the user is writing, and agents never", async () => {
  const chat = await connected();
  const notices = () => FakeSocket.last.actions().filter((action) => action === "typing").length;
  chat.typed();
  assert.equal(notices(), 0);
  FakeSocket.last.hear(...runOf("m-0", "Hello"), snapshot(6, "active"));
  for (const seconds of [0, 1, 1, 2]) {
    await pass(seconds);
    chat.typed();
  }
  assert.equal(notices(), 2);
  chat.send("I have written it");
  chat.typed();
  assert.equal(notices(), 3);
});

test("a user who writes for long to a silent person keeps the connection", async () => {
  const chat = await connected();
  FakeSocket.last.hear(...runOf("m-0", "Hello"), snapshot(6, "active"));
  const socket = FakeSocket.last;
  for (let second = 0; second < 59; second += 1) {
    chat.typed();
    await pass(1);
  }
  assert.equal(FakeSocket.last, socket);
  assert.ok(!socket.actions().includes("ping"));
});

test("the desks of the main agent can be asked for, until one of them has the conversation", async () => {
  page.answers["/v1/agents"] = agents();
  page.answers[`/v1/threads/${THREAD}/desk`] = {};
  const chat = await connected();
  assert.equal(chat.snapshot.main?.name, "Assistant");
  assert.deepEqual(chat.snapshot.desks, [OFFERED]);
  await chat.askForPerson("support");
  FakeSocket.last.hear({ type: "RUN_STARTED", runId: "r-1", metadata: stamp(1) }, snapshot(2, "waiting"));
  await settled();
  assert.deepEqual(chat.snapshot.desks, []);
  assert.equal(chat.snapshot.deskOpensAt, OFFERED.opensAt);
});

test("the page's language is sent with messages and with requests for a person", async () => {
  page.answers["/v1/agents"] = agents();
  page.answers[`/v1/threads/${THREAD}/desk`] = {};
  const chat = await connected({ locale: "de-AT-u-ca-gregory" });
  const { mock: fetched } = mock.method(globalThis, "fetch", async () => Response.json({}));
  chat.send("Hallo");
  assert.equal(FakeSocket.last.sent.find(({ action }) => action === "message")?.locale, "de-AT");
  await chat.askForPerson("support");
  const bodies = fetched.calls.map(({ arguments: [, init] }) => (init as RequestInit | undefined)?.body);
  assert.ok(bodies.includes(JSON.stringify({ deskId: "support", locale: "de-AT" })));
});

for (const locale of ["", "English (US)", "x-klingon", undefined])
  test(`a page whose language is no tag (${locale}) sends none`, async () => {
    const chat = await connected(locale === undefined ? {} : { locale });
    chat.send("Hello");
    assert.equal("locale" in (FakeSocket.last.sent.find(({ action }) => action === "message") ?? {}), false);
  });

test("a token that the server refuses is reported, and not tried again at once", async () => {
  const refused: TokenError[] = [];
  const refuse = async () => Response.json({ detail: "It is no token." }, { status: 401 });
  const { mock: fetched } = mock.method(globalThis, "fetch", refuse);
  const chat = begin();
  chat.on("tokenerror", (error) => refused.push(error));
  await settled();
  FakeSocket.last.lose();
  await settled();
  await settled();
  const { connection } = chat.snapshot;
  assert.ok(connection.status === "waiting" && connection.reason === "refused");
  assert.deepEqual(
    refused.map(({ code, status, message }) => [code, status, message]),
    [["token_refused", 401, "It is no token."]],
  );
  const before = FakeSocket.all.length;
  const asked = fetched.callCount();
  await pass(50);
  assert.equal(FakeSocket.all.length, before);
  await assert.rejects(chat.askForPerson("support"), { status: 401 });
  assert.equal(fetched.callCount(), asked);
  await pass(15);
  assert.equal(FakeSocket.all.length, before + 1);
});

test("a browser that goes offline is believed after a second without an answer", async (context) => {
  const browser = new FakeBrowser(context);
  const chat = await connected();
  browser.dispatch("offline");
  FakeSocket.last.hear({ type: "PONG" });
  await pass(3);
  assert.equal(chat.snapshot.connection.status, "open");
  browser.dispatch("offline");
  await pass(3);
  assert.notEqual(chat.snapshot.connection.status, "open");
});

test("a question stands before the call that it is about", async () => {
  const chat = await connected();
  const interrupts = [{ id: "i-1", reason: "tool_approval", toolCallId: "c-1", message: "Book it?" }];
  FakeSocket.last.hear(
    started("m-1", stamp(1)),
    { type: "TOOL_CALL_START", toolCallId: "c-1", toolCallName: "book", metadata: stamp(2) },
    { type: "RUN_FINISHED", runId: "r-1", outcome: { type: "interrupt", interrupts }, metadata: stamp(3) },
  );
  await settled();
  assert.deepEqual(
    chat.snapshot.items.map(({ role }) => role),
    ["user", "interrupt", "tool"],
  );
});
