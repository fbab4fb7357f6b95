import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "#client";
import { Conversation } from "../../client/src/conversation.ts";
import { type Page, pagesOf } from "../src/pages.ts";

const message = (number: number, text = "Text"): Item => ({
  id: `m-${number}`,
  role: number % 2 ? "assistant" : "user",
  content: text,
  open: false,
});
const conversation = (count: number, from = 0): Item[] => Array.from({ length: count }, (_, at) => message(from + at));
const idsOf = (pages: readonly Page[]) => pages.flatMap(({ items }) => items.map(({ id }) => id));

test("an answer that grows changes the page that it stands on, and no other", () => {
  const items = conversation(230);
  const before = pagesOf(items, []);
  const after = pagesOf(items.with(229, message(229, "Text that is longer")), before);
  assert.deepEqual(
    after.map((page, at) => page === before[at]),
    [true, true, true, true, false],
  );
});

test("pages begin where they did when something comes before them, after them or between", () => {
  const items = conversation(120, 1000);
  let pages = pagesOf(items, []);
  const keys = pages.map(({ key }) => key);
  const changed = [...conversation(50, 900), ...items.slice(0, 30), message(5000), ...items.slice(30), message(2000)];
  pages = pagesOf(changed, pages);
  assert.deepEqual(
    idsOf(pages),
    changed.map(({ id }) => id),
  );
  for (const key of keys) assert.ok(pages.some((page) => page.key === key));
  assert.ok(pages.every(({ items }) => items.length <= 51));
});

test("pages together are the conversation, also where a page's first item is taken away or replaced by another", () => {
  const items = conversation(130);
  const pages = pagesOf(items, []);
  for (const changed of [items.toSpliced(50, 1), items.with(50, message(9000)), items.slice(0, 20), []]) {
    assert.deepEqual(
      idsOf(pagesOf(changed, pages)),
      changed.map(({ id }) => id),
    );
    assert.equal(new Set(pagesOf(changed, pages).map(({ key }) => key)).size, pagesOf(changed, pages).length);
  }
});

test("how many items are looked at for each delta does not grow with the conversation", () => {
  const looks = [100, 1000].map(looksPerDelta);
  assert.equal(looks[0], looks[1]);
});

/** How many different items are looked into when an answer grows, by what the client and the widget keep of them. */
function looksPerDelta(count: number): number {
  const seen = new Set<string>();
  const watched = (item: Item): Item =>
    new Proxy(item, {
      get(target, name) {
        seen.add(target.id);
        return Reflect.get(target, name);
      },
    });
  const talk = new Conversation();
  const told = { threadId: "t", runId: "r-1", attempt: 1 };
  talk.items = conversation(count).map(watched);
  talk.apply({ type: "RUN_STARTED", runId: "r-1", metadata: { ...told, seq: 1 } });
  talk.apply({ type: "TEXT_MESSAGE_START", messageId: "a-1", role: "assistant", metadata: { ...told, seq: 2 } });
  let pages = pagesOf(talk.items, []);
  assert.equal(talk.interrupts.length, 0);
  seen.clear();
  for (let seq = 3; seq < 20; seq++) {
    talk.apply({ type: "TEXT_MESSAGE_CONTENT", messageId: "a-1", delta: "word ", metadata: { ...told, seq } });
    assert.equal(talk.isWaiting, false);
    assert.equal(talk.interrupts.length, 0);
    pages = pagesOf(talk.items, pages);
  }
  return seen.size;
}
