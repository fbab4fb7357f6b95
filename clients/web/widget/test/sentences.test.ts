import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { later } from "../src/locales/later.ts";

/** The modules that are loaded with the widget, as paths below `src`. */
function loadedAtOnce(name: string, loaded = new Map<string, string>()): Map<string, string> {
  if (loaded.has(name)) return loaded;
  const source = readFileSync(new URL(`../src/${name}`, import.meta.url), "utf8");
  loaded.set(name, source);
  for (const [, path = ""] of source.matchAll(/^(?:import|export) (?!type)[^;]*?"(\.[^"]+)";/gm))
    loadedAtOnce(new URL(path, `file:///${name}`).pathname.slice(1), loaded);
  return loaded;
}

test("what is loaded at once needs no sentence of those that are loaded later", () => {
  const loaded = loadedAtOnce("index.ts");
  assert.ok(loaded.size > 20);
  assert.ok(!loaded.has("locales/later.ts"));
  for (const [name, source] of loaded)
    for (const sentence of Object.keys(later)) assert.ok(!source.includes(`say("${sentence}"`), `${name}: ${sentence}`);
});
