import assert from "node:assert/strict";
import { test } from "node:test";
import { Locale } from "../src/locales/index.ts";

test("an agent's name cannot turn the sentence around it", () => {
  const { say } = new Locale();
  const plain = say("said", { name: "Guide", text: "Hello" });
  assert.equal(say("said", { name: "\u202eGu\u2067ide", text: "Hello\u2069" }), plain);
});
