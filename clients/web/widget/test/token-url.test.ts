import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { fetchToken } from "../src/token-url.ts";

const asked = async (answer: Response) => {
  mock.method(globalThis, "fetch", async () => answer);
  return await fetchToken("/baton-token")(new AbortController().signal);
};

test("a route answers with a token, or with JSON that has it", async () => {
  assert.equal(await asked(new Response(" a.b.c\n")), "a.b.c");
  assert.equal(await asked(Response.json({ token: "a.b.c" })), "a.b.c");
});

test("a refusal has its status, and a page to sign in with is one", async () => {
  await assert.rejects(asked(new Response("No.", { status: 403 })), { status: 403 });
  await assert.rejects(asked(new Response("", { status: 503 })), { status: 503 });
  await assert.rejects(asked(new Response("<!doctype html><form>")), { status: 401 });
});
