import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { FakeSocket, settled, tokenFor } from "./fakes.ts";
import { begin, connected, FakeBrowser, pass, runOf, said, stamp, THREAD } from "./page.ts";
import { FakeServer } from "./server.ts";

const HOUR = 3600;
/** After so long without a reader, and a little, a connection is given up. */
const AWAY = 302;
/** Within which a lost network must be noticed while something is awaited, with the tick that notices it. */
const NOTICED = 16;

const anHour = () => {
  const now = Math.floor(Date.now() / 1000);
  return tokenFor({ tenant: "acme", sub: "ada", iat: now, exp: now + HOUR });
};
/** The run of another message, after those that the server has. */
const followUp = (messageId: string, text: string) =>
  runOf(messageId, text).map((event) => ({
    ...event,
    ...("messageId" in event && { messageId: "a-2" }),
    runId: "r-2",
    metadata: { ...event.metadata, runId: "r-2", seq: event.metadata.seq + 5 },
  }));
const messages = (socket: FakeSocket) => socket.sent.filter(({ action }) => action === "message");
const withDesk = { type: "STATE_SNAPSHOT", snapshot: { desk: { status: "active", person: null } }, metadata: stamp(6) };

for (const { when, token, random } of [
  { when: "if it sends as often as it may", token: tokenFor(), random: 0 },
  { when: "if it sends as seldom as it may", token: tokenFor(), random: 0.999 },
  { when: "with tokens of an hour", token: anHour, random: 0 },
])
  test(`an open panel at rest takes ten frames an hour at most, in both directions, ${when}`, async (context) => {
    mock.method(Math, "random", () => random);
    const server = new FakeServer();
    const chat = begin({ token });
    await server.pass(3 * HOUR);
    const { frames, sent, connections, busiestHour } = server;
    const received = frames.length - sent;
    context.diagnostic(`three hours: ${sent} frames sent, ${received} received, over ${connections} connections`);
    assert.ok(busiestHour <= 10, `${busiestHour} frames in the busiest hour`);
    assert.equal(server.ended, 0);
    assert.equal(chat.snapshot.connection.status, "open");
  });

test("a page that is hidden gives its connection up after minutes, and reads what came meanwhile when it shows", async (context) => {
  const browser = new FakeBrowser(context);
  const server = new FakeServer();
  const chat = begin();
  await server.pass(10);
  browser.hide();
  await server.pass(AWAY);
  assert.equal(chat.snapshot.connection.status, "resting");
  const before = server.frames.length;
  for (const event of ["offline", "online", "pageshow"] as const) browser.dispatch(event);
  await server.pass(3 * HOUR);
  assert.deepEqual([server.frames.length, server.connections], [before, 1]);
  browser.show();
  await settled();
  FakeSocket.last.open();
  await settled();
  assert.deepEqual(FakeSocket.last.sent, [{ action: "resume", threadId: THREAD, after: 5 }]);
});

test("a panel that is closed gives its connection up after minutes, also in a page that shows, until it is opened", async (context) => {
  const browser = new FakeBrowser(context);
  const server = new FakeServer();
  const chat = begin();
  await server.pass(10);
  chat.isShown = false;
  await server.pass(AWAY);
  assert.equal(chat.snapshot.connection.status, "resting");
  browser.show();
  browser.dispatch("online");
  await server.pass(HOUR);
  assert.equal(server.connections, 1);
  chat.isShown = true;
  await server.pass(AWAY);
  assert.equal(chat.snapshot.connection.status, "open");
  assert.equal(server.connections, 2);
});

test("a look at another page now and then costs nothing", async (context) => {
  const browser = new FakeBrowser(context);
  const server = new FakeServer();
  begin();
  await server.pass(10);
  const before = server.frames.length;
  for (let glance = 0; glance < 10; glance += 1) {
    browser.hide();
    await server.pass(2);
    browser.show();
    await server.pass(2);
  }
  assert.deepEqual([server.frames.length, server.connections], [before, 1]);
});

test("a message to a resting chat is sent once, over a new connection", async (context) => {
  const browser = new FakeBrowser(context);
  const server = new FakeServer();
  const chat = begin();
  await server.pass(10);
  browser.hide();
  await server.pass(AWAY);
  const id = chat.send("Are you there?");
  await server.pass(2);
  assert.equal(server.connections, 2);
  assert.deepEqual(
    messages(FakeSocket.last).map(({ messageId }) => messageId),
    [id],
  );
});

test("nobody rests who waits for an answer, or in mid-run", async (context) => {
  const browser = new FakeBrowser(context);
  const server = new FakeServer();
  const chat = begin();
  await server.pass(10);
  browser.hide();
  const id = chat.send("And now?");
  await server.pass(2 * AWAY);
  assert.equal(chat.snapshot.connection.status, "open");
  const run = followUp(id, "Good evening.");
  FakeSocket.last.hear(...run.slice(0, 3));
  server.lastSeq = 8;
  await server.pass(2 * AWAY);
  assert.equal(chat.snapshot.connection.status, "open");
  FakeSocket.last.hear(...run.slice(3));
  server.lastSeq = 10;
  await server.pass(AWAY);
  assert.equal(chat.snapshot.connection.status, "resting");
  assert.equal(said(chat).at(-1), "assistant: Good evening.");
});

test("people at a desk are awaited for an hour after the last word, also by a page that is hidden", async (context) => {
  const browser = new FakeBrowser(context);
  const server = new FakeServer();
  const chat = begin();
  await server.pass(10);
  FakeSocket.last.hear(withDesk);
  browser.hide();
  await server.pass(HOUR - 10);
  assert.equal(chat.snapshot.connection.status, "open");
  assert.ok(server.sent > 50 && server.sent < 70, `${server.sent}`);
  server.isDead = true;
  FakeSocket.last.hear({ ...withDesk, metadata: stamp(7) });
  await server.pass(75);
  assert.notEqual(chat.snapshot.connection.status, "open");
  server.isDead = false;
  await server.pass(HOUR + AWAY);
  assert.equal(chat.snapshot.connection.status, "resting");
});

test("a message on a connection that died at rest goes again over another one, under its id", async () => {
  const server = new FakeServer();
  const chat = begin();
  await server.pass(HOUR / 2);
  const first = FakeSocket.last;
  server.isDead = true;
  const id = chat.send("Are you there?");
  await server.pass(NOTICED);
  server.isDead = false;
  await server.pass(2);
  assert.notEqual(FakeSocket.last, first);
  assert.deepEqual(
    [first, FakeSocket.last].map((socket) => messages(socket).map(({ messageId }) => messageId)),
    [[id], [id]],
  );
  for (const events of [followUp(id, "Yes."), followUp(id, "Yes.")]) FakeSocket.last.hear(...events);
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Good day.", "user: Hello", "assistant: Yes."]);
});

test("a network that is lost after a message was accepted is noticed before its run begins", async () => {
  const chat = await connected();
  const messageId = chat.send("Hello");
  const first = FakeSocket.last;
  first.hear({ type: "CUSTOM", name: "message_accepted", value: { messageId, threadId: THREAD } });
  await pass(NOTICED);
  assert.notEqual(FakeSocket.last, first);
});

test("after a sleep without an event of the browser, the client checks its connection", async () => {
  await connected();
  const socket = FakeSocket.last;
  await pass(5);
  assert.deepEqual(socket.actions(), []);
  const slept = Date.now() + HOUR * 1000; // the clock that counts the page's seconds stood still
  mock.method(Date, "now", () => slept);
  await pass(12);
  assert.deepEqual(socket.actions(), ["ping"]);
  assert.notEqual(FakeSocket.last, socket);
});

test("when a user begins to write after a while, the client first checks its connection", async () => {
  const server = new FakeServer();
  const chat = begin();
  await server.pass(90);
  const before = server.sent;
  for (let key = 0; key < 20; key += 1) {
    chat.typed();
    await server.pass(1);
  }
  assert.equal(server.sent, before + 1);
  server.isDead = true;
  await server.pass(90);
  const dead = FakeSocket.last;
  chat.typed();
  await server.pass(12);
  assert.notEqual(FakeSocket.last, dead);
});

test("networks that are lost now and then do not make a panel send more", async () => {
  const server = new FakeServer();
  begin();
  for (const seconds of [300, 40, 100, 60, 200]) {
    await server.pass(seconds);
    FakeSocket.last.lose();
  }
  const before = server.frames.length;
  await server.pass(HOUR);
  assert.ok(server.frames.length - before <= 10);
});

test("behind a proxy that ends silent connections, frames are sent more often from the second time on", async () => {
  const server = new FakeServer();
  server.idleMs = 60_000;
  const chat = begin();
  await server.pass(HOUR);
  assert.equal(server.ended, 2);
  assert.equal(chat.snapshot.connection.status, "open");
});

test("connections that are ended again and again, before anything is said, are replaced without longer and longer waits", async () => {
  const server = new FakeServer();
  server.idleMs = 20_000;
  begin({ fresh: true });
  await server.pass(HOUR);
  assert.ok(server.ended > HOUR / 30, `${server.ended} were there`);
});

for (const { random, most } of [
  { random: 0, most: 11 },
  { random: 0.999, most: 6 },
])
  test(`a server that finds each new connection old gets another after a minute or two, not at once (${random})`, async () => {
    mock.method(Math, "random", () => random);
    const server = new FakeServer();
    server.oldMs = 0;
    const chat = begin();
    await server.pass(600);
    assert.ok(server.connections > 1 && server.connections <= most, `${server.connections} in ten minutes`);
    assert.equal(chat.snapshot.connection.status, "open");
  });
