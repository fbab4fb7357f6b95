import assert from "node:assert/strict";
import { test } from "node:test";
import { History, type ReadItems } from "../src/views/timeline/history.ts";
import type { Item } from "../src/views/timeline/items.ts";

const signal = new AbortController().signal;

function item(key: string, at: number): Item {
  return {
    key,
    kind: "call",
    lane: "a",
    title: key,
    status: "ok",
    runId: null,
    at,
    durationMs: 1,
    tokens: null,
    record: {},
  };
}

/** A list of items, newest first, of so many a page. */
function list(times: readonly number[], name: string, size: number): ReadItems {
  const items = [...times].sort((a, b) => b - a).map((at, index) => item(`${name}${times.length - index}`, at));
  return async (cursor) => {
    const from = Number(cursor ?? 0);
    return {
      items: items.slice(from, from + size),
      nextCursor: from + size < items.length ? String(from + size) : null,
    };
  };
}

function numbers(count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % 10_000;
  });
}

test("lists that are read page by page become one without holes", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const lists = [numbers(seed * 3, seed), numbers(seed % 7, seed + 1), numbers(50, seed + 2)];
    const history = new History(lists.map((times, index) => list(times, "xyz".charAt(index), 1 + (seed % 5))));
    const all = lists.flat().sort((a, b) => a - b);
    while (!history.isWhole) {
      await history.older(signal);
      const shown = history.items.map((each) => each.at);
      assert.deepEqual(shown, all.slice(all.length - shown.length));
    }
    assert.equal(history.items.length, all.length);
  }
});

test("an item on an older page is found, and one that is nowhere is not", async () => {
  const history = new History([list(numbers(100, 3), "x", 10), list(numbers(5, 4), "y", 2)]);
  await history.older(signal);
  assert.equal((await history.find("x1", signal))?.key, "x1");
  assert.equal(await history.find("z1", signal), null);
});

test("what has changed is replaced and not doubled", async () => {
  const history = new History([list([1, 2, 3], "x", 10)]);
  await history.older(signal);
  history.put([{ ...item("x2", 2), status: "failed" }]);
  await history.refresh(signal);
  assert.equal(history.items.length, 3);
});

test("an empty conversation is whole at once", async () => {
  const history = new History([list([], "x", 10), list([], "y", 10)]);
  await history.older(signal);
  assert.ok(history.isWhole);
  assert.deepEqual(history.items, []);
});
