import assert from "node:assert/strict";
import { test } from "node:test";
import { en } from "../src/locales/en.ts";
import { Locale } from "../src/locales/index.ts";

test("an agent's name cannot turn the sentence around it", () => {
  const { say } = new Locale();
  const plain = say("said", { name: "Guide", text: "Hello" });
  assert.equal(say("said", { name: "\u202eGu\u2067ide", text: "Hello\u2069" }), plain);
});

test("every language has every sentence, with the same values", async () => {
  const values = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  await import("../src/locales/later.ts");
  for (const tag of ["de", "es", "zh", "ar"]) {
    const catalogue: Record<string, string> = (await import(`../src/locales/${tag}.ts`))[tag];
    assert.deepEqual(Object.keys(catalogue).sort(), Object.keys(en).sort());
    for (const [name, text] of Object.entries(en)) assert.deepEqual(values(catalogue[name] ?? ""), values(text), name);
  }
});
