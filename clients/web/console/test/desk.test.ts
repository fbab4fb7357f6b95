import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsoleApi } from "../src/api/console-api.ts";
import { newsOf } from "../src/views/desk/alerts.ts";
import type { DeskItem } from "../src/views/desk/desk-api.ts";
import { DeskFeed, passed, shownItems } from "../src/views/desk/desk-feed.ts";
import { restOf, UnsentTexts } from "../src/views/desk/unsent.ts";

const ANNA = { id: "anna", name: "Anna" };

function item(threadId: string, fields: Partial<DeskItem> = {}): DeskItem {
  return {
    threadId,
    deskId: "support",
    status: "waiting",
    since: "2030-01-01T10:00:00Z",
    userId: "ada",
    userName: null,
    title: null,
    locale: null,
    timeZone: null,
    lastMessage: "",
    unread: 1,
    unansweredSince: "2030-01-01T10:00:00Z",
    person: null,
    lastSeq: 1,
    typing: false,
    ...fields,
  };
}

function storage(): Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  const kept = new Map<string, string>();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
}

const toUser = (text: string) => ({ isNote: false, text, files: [] });

test("who has waited longest is first, and who has an answer comes last", () => {
  const answered = item("t-1", { status: "active", person: ANNA, unread: 0, unansweredSince: null });
  const late = item("t-2", { since: "2030-01-01T10:05:00Z" });
  const asked = item("t-3", { status: "active", person: ANNA, unansweredSince: "2030-01-01T09:59:00Z" });
  const ids = (show: "waiting" | "mine" | "all", deskId = "", person = "anna") =>
    shownItems([answered, late, asked], show, deskId, person).map((each) => each.threadId);
  assert.deepEqual(ids("all"), ["t-3", "t-2", "t-1"]);
  assert.deepEqual(ids("waiting"), ["t-2"]);
  assert.deepEqual(ids("mine"), ["t-3", "t-1"]);
  assert.deepEqual(ids("mine", "", "ben"), []);
  assert.deepEqual(ids("all", "billing"), []);
});

test("a list of the conversations that are there drops those that have left meanwhile", () => {
  const feed = new DeskFeed({} as ConsoleApi, () => false);
  for (const threadId of ["t-1", "t-2", "t-3"]) feed.take({ threadId, item: item(threadId) });
  const changes = feed.keep({ threadIds: ["t-2", "t-4"] });
  assert.deepEqual(
    changes.map(({ before, item }) => [before?.threadId, item]),
    [
      ["t-1", null],
      ["t-3", null],
    ],
  );
  assert.deepEqual(
    feed.items.map((each) => each.threadId),
    ["t-2"],
  );
});

test("somebody who begins to wait is news, and so is a message in one's own conversation", () => {
  const waiting = item("t-1");
  const taken = item("t-1", { status: "active", person: ANNA });
  const change = (before: DeskItem | null, now: DeskItem | null) => newsOf({ items: [], before, item: now }, "anna");
  assert.equal(change(null, waiting), "waits");
  assert.equal(change(waiting, { ...waiting, unread: 2 }), null);
  assert.equal(change(taken, { ...waiting, deskId: "billing" }), "waits");
  assert.equal(change(taken, { ...taken, unread: 2 }), "writes");
  assert.equal(change({ ...taken, unread: 2 }, { ...taken, unread: 0 }), null);
  assert.equal(change(taken, { ...taken, unread: 2, person: { id: "ben", name: "Ben" } }), null);
  assert.equal(change(taken, null), null);
});

test("what is unsent outlasts the page, for the person who has written it", () => {
  const tab = storage();
  new UnsentTexts(tab, "acme", "anna").change("t-1", { reply: "Hello" });
  assert.equal(new UnsentTexts(tab, "acme", "anna").read("t-1").reply, "Hello");
  assert.equal(new UnsentTexts(tab, "acme", "anna").read("t-2").reply, "");
  new UnsentTexts(tab, "acme", "anna").change("t-2", { isNote: true });
  assert.equal(new UnsentTexts(tab, "acme", "anna").change("t-2", { note: "A note" }).isNote, true);
  assert.equal(new UnsentTexts(tab, "acme", "ben").read("t-1").reply, "");
});

test("a message that is sent again has its id, and another message has another", () => {
  const tab = storage();
  const first = new UnsentTexts(tab, "acme", "anna").attempt("t-1", toUser("Hello"));
  const reloaded = new UnsentTexts(tab, "acme", "anna");
  assert.equal(reloaded.attempt("t-1", toUser("Hello")), first);
  assert.notEqual(reloaded.attempt("t-1", toUser("Goodbye")), first);
});

test("a text that has arrived leaves the field, and the same text sent again is another message", () => {
  const texts = new UnsentTexts(storage(), "acme", "anna");
  texts.change("t-1", { reply: "OK" });
  const first = texts.attempt("t-1", toUser("OK"));
  assert.equal(texts.settle("t-1", first).reply, "");
  texts.change("t-1", { reply: "OK" });
  assert.equal(texts.settle("t-1", first).reply, "OK");
  assert.notEqual(texts.attempt("t-1", toUser("OK")), first);
});

test("after a note the field is for the user again, unless a further note is begun", () => {
  const texts = new UnsentTexts(storage(), "acme", "anna");
  const note = { isNote: true, text: "She has a photo.", files: [] };
  texts.change("t-1", { isNote: true, note: "She has a photo.\nAnd a bill" });
  const further = texts.settle("t-1", texts.attempt("t-1", note));
  assert.deepEqual([further.isNote, further.note], [true, "And a bill"]);
  texts.change("t-1", { note: "She has a photo." });
  const sent = texts.settle("t-1", texts.attempt("t-1", note));
  assert.deepEqual([sent.isNote, sent.note], [false, ""]);
});

test("what somebody writes while a message is being sent stays", () => {
  assert.equal(restOf(" Hello\nIs it broken?", "Hello"), "Is it broken?");
  assert.equal(restOf("Hello", "Hello"), "");
  assert.equal(restOf("Something else", "Hello"), "Something else");
});

test("a full storage costs no text of the page", () => {
  const full = {
    ...storage(),
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  };
  assert.equal(new UnsentTexts(full, "acme", "anna").change("t-1", { reply: "Hello" }).reply, "Hello");
});

test("times that have passed are short", () => {
  assert.deepEqual([0, 59_000, 60_000, 3_600_000, 49 * 3_600_000].map(passed), [
    "< 1 min",
    "< 1 min",
    "1 min",
    "1 h 0 min",
    "2 d",
  ]);
});
