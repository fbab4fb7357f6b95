import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { AgentSchema } from "../src/views/agents/schema.ts";
import { placeAt } from "../src/views/agents/yaml-place.ts";

const schema = new AgentSchema(
  JSON.parse(await readFile(new URL("../src/views/agents/agent-schema.json", import.meta.url), "utf8")),
);

/** The place of `^` in a text. */
function place(text: string) {
  const row = text.slice(0, text.indexOf("^")).split("\n").length - 1;
  const column = text.split("\n")[row]?.indexOf("^") ?? 0;
  return placeAt(text.replace("^", "").split("\n"), row, column);
}

test("fields at the top, inside a mapping and inside an entry of a list are told apart", () => {
  assert.deepEqual(place("name: T\nmem^")?.path, []);
  assert.equal(place("name: T\nmem^")?.key, "mem");
  assert.deepEqual(place("memory:\n  semantic^")?.path, ["memory"]);
  assert.deepEqual(place("tools:\n- type: http\n  na^")?.path, ["tools", "[]"]);
  assert.deepEqual(place("tools:\n  - type: http\n    headers:\n      X: y\n    na^")?.path, ["tools", "[]"]);
  assert.deepEqual(place("tools:\n  - na^")?.path, ["tools", "[]"]);
  assert.deepEqual(
    place("workflow:\n  states:\n    - name: a\n      transitions:\n        - to: b\n          wh^")?.path,
    ["workflow", "states", "[]", "transitions", "[]"],
  );
  assert.deepEqual(place("tools:\n- type: http\n\n# a comment\nmain: tr^")?.path, []);
});

test("a value is known by the colon before it, and texts of several lines have no fields", () => {
  const at = place("memory:\n  retrieved: bef^");
  assert.deepEqual([at?.path, at?.key, at?.value], [["memory"], "retrieved", "bef"]);
  assert.equal(place("main:^")?.value, "");
  assert.equal(place("system_prompt: |\n  You are na^"), null);
  assert.deepEqual(
    place("tools:\n- type: http\n  name: x\n  desc^\n  url: y\n- type: mcp")?.beside.get("type"),
    "http",
  );
});

test("fields come from the schema with what they mean and what they may hold", () => {
  const budget = schema.field(["memory"], "max_working_memory_tokens");
  assert.match(budget?.description ?? "", /^Budget of the whole prompt/);
  assert.equal(budget?.about, "integer, 500 to 1000000, default 16000");
  assert.deepEqual(schema.field([], "main")?.values, ["true", "false"]);
  assert.deepEqual(schema.field(["memory"], "retrieved")?.values, ["before_history", "before_message"]);
  assert.equal(schema.field([], "tools")?.holds, "list");
  assert.equal(schema.field([], "memory")?.holds, "fields");
  assert.equal(schema.field([], "nonsense"), null);
});

test("the kind of a tool decides on its fields", () => {
  const names = (type: string) =>
    schema.fieldsAt(["tools", "[]"], new Map(type ? [["type", type]] : [])).map(({ name }) => name);
  assert.ok(names("http").includes("method"));
  assert.ok(!names("python").includes("method"));
  assert.ok(names("").includes("method") && names("").includes("entry_point"));
  assert.deepEqual(schema.fieldsAt(["sentences", "de"]), []);
});

test("hostile texts are bounded", () => {
  const deep = Array.from({ length: 30_000 }, (_, depth) => `${" ".repeat(depth % 200)}a:`);
  assert.ok((placeAt(deep, deep.length - 1, 3)?.path.length ?? 0) <= 200);
  assert.equal(placeAt([], 5, 5)?.key, "");
});
