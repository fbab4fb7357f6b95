import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "#client";
import { repeatableFrom } from "../src/people.ts";

const user = { id: "u", role: "user", content: "Text", open: false } as Item;
const by = (agentId: string, author?: object) =>
  ({ id: "a", role: "assistant", content: "Text", agentId, author, open: false }) as Item;
const call = (fields: object) => ({ id: "t", role: "tool", callId: "c", args: "", open: false, ...fields }) as Item;

test("answers of the main agent can be given again", () => {
  assert.equal(repeatableFrom([user, by("main"), call({}), user, by("main")], "main"), 0);
});

test("nothing can be said again that a specialist or a person has answered", () => {
  const items = [user, by("main"), user, by("booking"), by("main"), user, by("main")];
  assert.equal(repeatableFrom(items, "main"), 4);
  assert.equal(repeatableFrom([user, by("main", { kind: "person" }), user], "main"), 2);
});

test("nothing before a sentence about a desk can be said again", () => {
  assert.equal(repeatableFrom([user, by("main"), user, { ...by("main"), isOfDesk: true } as Item, user], "main"), 4);
});

test("what somebody has approved is not done twice by another answer", () => {
  const items = (fields: object) => [user, call({ waits: true, ...fields }), by("main"), user];
  assert.equal(repeatableFrom(items({ outcome: "succeeded" }), "main"), 2);
  assert.equal(repeatableFrom(items({ outcome: "failed" }), "main"), 2);
  assert.equal(repeatableFrom(items({ outcome: "refused" }), "main"), 0);
});

test("reminders and work in the background are not begun twice by another answer", () => {
  for (const name of ["schedule", "cancel_schedule"])
    assert.equal(repeatableFrom([user, call({ name, outcome: "succeeded" }), by("main"), user], "main"), 2);
  assert.equal(repeatableFrom([user, call({ name: "list_schedules", outcome: "succeeded" }), by("main")], "main"), 0);
  const research = (progress: string, wasInBackground = false) =>
    ({ id: "r", role: "research", agents: [{ progress, wasInBackground }], open: false }) as unknown as Item;
  assert.equal(repeatableFrom([user, research("background"), by("main"), user], "main"), 2);
  assert.equal(repeatableFrom([user, research("done", true), by("main"), user], "main"), 2);
  assert.equal(repeatableFrom([user, research("done"), by("main"), user], "main"), 0);
});
