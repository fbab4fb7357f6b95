import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const WEB = join(import.meta.dirname, "../..");

/** The sources of the widget and the console in which `pattern` occurs. */
function sourcesWith(pattern: RegExp): string[] {
  return ["widget/src", "console/src"].flatMap((folder) =>
    readdirSync(join(WEB, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && pattern.test(readFileSync(join(WEB, folder, path), "utf8")))
      .map((path) => `${folder}/${path}`),
  );
}

test("keys of an input method are told apart in one place, which knows Safari's order of events", () => {
  assert.deepEqual(sourcesWith(/\.isComposing\b/), ["widget/src/keys.ts"]);
});

test("no component submits a form by the browser, which sandboxed frames forbid", () => {
  assert.deepEqual(sourcesWith(/\.requestSubmit\(/), []);
});
