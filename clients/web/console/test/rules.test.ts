import assert from "node:assert/strict";
import { test } from "node:test";
import { describe } from "../src/views/schedules/rules.ts";

test("a simple rule of a schedule is said in words, and any other one as it is", () => {
  assert.equal(describe("FREQ=DAILY;BYHOUR=9;BYMINUTE=5;BYSECOND=0"), "daily at 09:05");
  assert.equal(describe("FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=17"), "weekly on Monday, Friday at 17:00");
  assert.equal(describe("FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=9;BYMINUTE=0"), "monthly on day 1 at 09:00");
  for (const rule of [
    "FREQ=DAILY;INTERVAL=2;BYHOUR=9",
    "FREQ=DAILY;BYHOUR=9,17",
    "FREQ=WEEKLY;BYDAY=1MO;BYHOUR=9",
    "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9",
    "FREQ=YEARLY;BYHOUR=9",
    "FREQ=DAILY;BYDAY=MO;BYHOUR=9",
    "FREQ=DAILY",
  ])
    assert.equal(describe(rule), rule);
});
