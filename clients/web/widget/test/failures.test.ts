import assert from "node:assert/strict";
import { test } from "node:test";
import { explain } from "../src/failures.ts";
import { Locale, loadLocale } from "../src/locales/index.ts";

test("temporary failures are described in the user's language, and others in the server's words", async () => {
  const { say } = await loadLocale("de");
  const message = "Please try again in a moment, with the same messageId.";
  for (const code of ["store_unavailable", "thread_busy", "network_failed"])
    assert.equal(explain(say, { code, message }), say("temporary"));
  assert.equal(explain(new Locale().say, { code: "too_many", message: "Too many." }), "Too many.");
});
