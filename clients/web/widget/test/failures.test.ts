import assert from "node:assert/strict";
import { test } from "node:test";
import { explain } from "../src/failures.ts";
import { Locale, loadLocale } from "../src/locales/index.ts";

test("temporary failures are described in the user's language, and others in the server's words", async () => {
  const locale = await loadLocale("de");
  const message = "Please try again in a moment, with the same messageId.";
  for (const code of ["store_unavailable", "thread_busy", "network_failed"])
    assert.equal(explain(locale, { code, message }), locale.say("temporary"));
  assert.equal(explain(new Locale(), { code: "too_many", message: "Too many." }), "Too many.");
});

test("a spending limit is described in the user's language, with the time of its reset and without what programs do", async () => {
  const failure = { code: "spending_limit_reached", message: "Send it again with overSpending." };
  const german = explain(await loadLocale("de"), { ...failure, resetsAt: "2040-03-02T12:00:00.000Z" });
  assert.match(german, /^100 % von dem, .* Ab 0?2\.03\.2040/);
  for (const resetsAt of [undefined, "", "soon"])
    assert.equal(explain(new Locale(), { ...failure, resetsAt }), failure.message);
  const other = { code: "rate_limited", message: "Too fast.", resetsAt: "2040-03-02T12:00:00.000Z" };
  assert.equal(explain(new Locale(), other), "Too fast.");
});
