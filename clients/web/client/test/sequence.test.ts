import assert from "node:assert/strict";
import { test } from "node:test";
import type { BatonEvent } from "../src/index.ts";
import { Sequence } from "../src/sequence.ts";

const event = (seq: number, type = "TEXT_MESSAGE_CONTENT", more: object = {}): BatonEvent => ({
  type,
  metadata: { seq, ...more },
});
const numbers = (events: readonly BatonEvent[]) => events.map(({ metadata }) => metadata?.seq);

test("events go by in order, each once", () => {
  const sequence = new Sequence();
  assert.deepEqual(numbers(sequence.take(event(1)).events), [1]);
  assert.deepEqual(numbers(sequence.take(event(1)).events), []);
  assert.deepEqual(numbers(sequence.take(event(2)).events), [2]);
});

test("what comes early waits for what is before it", () => {
  const sequence = new Sequence();
  assert.deepEqual(sequence.take(event(3)), { events: [], isGap: true });
  assert.deepEqual(sequence.take(event(2)), { events: [], isGap: true });
  assert.deepEqual(numbers(sequence.take(event(1)).events), [1, 2, 3]);
  assert.equal(sequence.lastSeq, 3);
});

test("a run that is taken over goes on behind the hole, and lower numbers that arrive late are dropped", () => {
  const sequence = new Sequence();
  sequence.take(event(1));
  const taken = sequence.take(event(9, "RUN_STARTED", { previousSeq: 1, attempt: 2 }));
  assert.deepEqual(numbers(taken.events), [9]);
  assert.deepEqual(sequence.take(event(5)).events, []);
});

test("a jump from a number that is not known here is a gap", () => {
  const sequence = new Sequence();
  sequence.take(event(1));
  assert.equal(sequence.take(event(9, "RUN_STARTED", { previousSeq: 4 })).isGap, true);
});

test("slices are joined, whatever their order", () => {
  const sequence = new Sequence();
  const text = JSON.stringify(event(1));
  const slice = (part: number, data: string) => ({ type: "PART" as const, data, metadata: { seq: 1, part, of: 2 } });
  assert.deepEqual(sequence.take(slice(2, text.slice(9))).events, []);
  assert.deepEqual(numbers(sequence.take(slice(1, text.slice(0, 9))).events), [1]);
});

test("slices of one event that is sent twice at once, cut differently, are not mixed", () => {
  const sequence = new Sequence();
  const live = JSON.stringify({ ...event(1), text: "x".repeat(20) });
  const replayed = JSON.stringify({ text: "x".repeat(20), ...event(1) });
  const slice = (text: string, digest: string, part: number, from: number, to?: number) => ({
    type: "PART" as const,
    data: text.slice(from, to),
    metadata: { seq: 1, part, of: 2, digest },
  });
  assert.deepEqual(sequence.take(slice(live, "a", 1, 0, 30)), { events: [], isGap: false });
  assert.deepEqual(sequence.take(slice(replayed, "b", 2, 30)), { events: [], isGap: false });
  assert.deepEqual(sequence.take(slice(live, "a", 2, 30)).events, [JSON.parse(live)]);
  assert.deepEqual(sequence.take(slice(replayed, "b", 1, 0, 30)).events, []);
});

test("slices of two snapshots that arrive at once make two snapshots", () => {
  const sequence = new Sequence();
  const snapshots = ["one", "two"].map((text) => JSON.stringify({ type: "MESSAGES_SNAPSHOT", text }));
  const slices = [0, 1].flatMap((part) =>
    snapshots.map((text, index) => ({
      type: "PART" as const,
      data: part === 0 ? text.slice(0, 9) : text.slice(9),
      metadata: { part: part + 1, of: 2, digest: `${index}` },
    })),
  );
  assert.deepEqual(
    slices.flatMap((slice) => sequence.take(slice).events),
    snapshots.map((text) => JSON.parse(text)),
  );
});

test("slices of a lost connection are not joined with those of the next", () => {
  const sequence = new Sequence();
  sequence.take({ type: "PART", data: "{broken", metadata: { seq: 1, part: 1, of: 2 } });
  sequence.reconnected();
  const text = JSON.stringify(event(1));
  sequence.take({ type: "PART", data: text.slice(0, 5), metadata: { seq: 1, part: 1, of: 2 } });
  const taken = sequence.take({ type: "PART", data: text.slice(5), metadata: { seq: 1, part: 2, of: 2 } });
  assert.deepEqual(numbers(taken.events), [1]);
});

test("after a snapshot of messages the next run, or the next number, goes on", () => {
  const sequence = new Sequence();
  sequence.promise(40);
  sequence.take({ type: "MESSAGES_SNAPSHOT" });
  assert.equal(sequence.take(event(45)).isGap, true);
  assert.deepEqual(numbers(sequence.take(event(41)).events), [41]);
});
