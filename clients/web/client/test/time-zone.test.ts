import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { FakeSocket, settled } from "./fakes.ts";
import { connected, runOf, said, THREAD } from "./page.ts";

/** Lets the browser be in a zone; null: it cannot tell. */
function inZone(timeZone: string | null | undefined): void {
  mock.method(Intl.DateTimeFormat.prototype, "resolvedOptions", () => {
    if (timeZone === null) throw new RangeError("no zone");
    return { timeZone } as Intl.ResolvedDateTimeFormatOptions;
  });
}

const messages = () => FakeSocket.last.sent.filter(({ action }) => action === "message");
const zones = () => messages().map(({ timeZone }) => timeZone);
const refusal = (messageId: string, message: string) => ({
  type: "RUN_ERROR",
  message,
  code: "invalid_request",
  metadata: { action: "message", messageId, retryable: false },
});
const UNKNOWN = "timeZone must be the name of a time zone as IANA has it, such as Europe/Vienna.";

test("every message tells where the user is then", async () => {
  inZone("Europe/Vienna");
  const chat = await connected();
  FakeSocket.last.hear(...runOf(chat.send("Hello"), "Good day."));
  inZone("Asia/Tokyo");
  FakeSocket.last.hear(...runOf(chat.send("I have moved."), "Good evening."));
  chat.regenerate(chat.snapshot.items[2]?.id ?? "");
  assert.deepEqual(zones(), ["Europe/Vienna", "Asia/Tokyo", "Asia/Tokyo"]);
});

for (const zone of ["Etc/Unknown", "", undefined, null])
  test(`a browser that knows no zone (${zone}) tells none`, async () => {
    inZone(zone);
    const chat = await connected();
    FakeSocket.last.hear(...runOf(chat.send("Hello"), "Good day."));
    assert.deepEqual(said(chat), ["user: Hello", "assistant: Good day."]);
    assert.equal("timeZone" in (messages()[0] ?? {}), false);
  });

test("a message whose zone the server does not know goes again without, and so do all that follow", async () => {
  inZone("Mars/Olympus");
  const chat = await connected();
  const id = chat.send("Hello");
  FakeSocket.last.hear(refusal(id, UNKNOWN));
  assert.deepEqual(zones(), ["Mars/Olympus", undefined]);
  assert.deepEqual(new Set(messages().map(({ messageId }) => messageId)), new Set([id]));
  FakeSocket.last.hear(...runOf(id, "Good day."));
  assert.deepEqual(said(chat), ["user: Hello", "assistant: Good day."]);
  chat.send("And now?");
  assert.deepEqual(zones(), ["Mars/Olympus", undefined, undefined]);
});

test("any other refusal is shown, and one for the zone again too", async () => {
  inZone("Mars/Olympus");
  const chat = await connected();
  const failure = () => {
    const item = chat.snapshot.items.at(-1);
    return item?.role === "user" ? item.failed?.text : undefined;
  };
  FakeSocket.last.hear(refusal(chat.send("Hello"), "content must be a string."));
  assert.equal(failure(), "content must be a string.");
  const id = chat.send("Hello again");
  FakeSocket.last.hear(refusal(id, UNKNOWN), refusal(id, UNKNOWN));
  assert.equal(failure(), UNKNOWN);
});

test("a message that is too long for a frame tells the zone by HTTP, and goes again without it", async () => {
  inZone("Mars/Olympus");
  const chat = await connected();
  const bodies: { forwardedProps: { timeZone?: string } }[] = [];
  mock.method(globalThis, "fetch", async (address: string, { body }: { body: string }) => {
    if (!address.endsWith("/v1/runs")) return Response.json({ code: "thread_unavailable" }, { status: 404 });
    bodies.push(JSON.parse(body));
    const detail = `forwardedProps.${UNKNOWN}`;
    if (bodies.length === 1) return Response.json({ code: "invalid_request", detail }, { status: 422 });
    return new Response("", { headers: { "Content-Type": "text/event-stream" } });
  });
  const id = chat.send("word ".repeat(10_000));
  await settled();
  await settled();
  assert.deepEqual(
    bodies.map(({ forwardedProps }) => forwardedProps.timeZone),
    ["Mars/Olympus", undefined],
  );
  const item = chat.snapshot.items.at(-1);
  assert.ok(item?.id === id && item.role === "user" && item.failed === undefined);
  assert.equal(THREAD, chat.threadId);
});
