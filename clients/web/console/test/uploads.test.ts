import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsoleApi } from "../src/api/console-api.ts";
import { Problem } from "../src/api/problem.ts";
import { typeOf, Uploads } from "../src/views/documents/uploads.ts";

const TARGET = { url: "https://bucket.example", method: "PUT", headers: {} };

/** Uploads to an API that announces what `answer` says. */
function uploading(answer: (body: Record<string, unknown>) => unknown, hold: () => Promise<void> = async () => {}) {
  const asked: Record<string, unknown>[] = [];
  const arrived: unknown[] = [];
  let atOnce = 0;
  let most = 0;
  const api = {
    request: async (_path: unknown, { body }: { body: Record<string, unknown> }) => {
      asked.push(body);
      return { value: answer(body) };
    },
  } as unknown as ConsoleApi;
  const left = new AbortController();
  const uploads = new Uploads(api, "assistant", left.signal, {
    changed: () => {},
    arrived: (document) => arrived.push(document),
    send: async (_target, _file, tell) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      tell(50);
      await hold();
      atOnce -= 1;
    },
  });
  const settled = async () => {
    while (uploads.all.some(({ state }) => !["sent", "known", "failed"].includes(state))) {
      await new Promise((resume) => setTimeout(resume, 1));
    }
  };
  return { uploads, asked, arrived, settled, most: () => most, left };
}

const file = (name: string, content = "text"): File => new File([content], name);

test("files are announced with their type and checksum, and a few are sent at once", async () => {
  const { uploads, asked, arrived, settled, most } = uploading(({ name }) => ({ document: name, upload: TARGET }));
  uploads.add(
    Array.from({ length: 8 }, (_, number) => file(`${number}.MD`)),
    { requiredPermission: "hr:read" },
  );
  await settled();
  assert.equal(asked.length, 8);
  // Their checksums end in any order.
  const first = asked.find(({ name }) => name === "0.MD");
  assert.deepEqual(first, {
    name: "0.MD",
    contentType: "text/markdown",
    size: 4,
    sha256: "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
    requiredPermission: "hr:read",
  });
  assert.deepEqual(arrived.length, 8);
  assert.ok(most() <= 3);
  assert.ok(uploads.all.every(({ state, sent }) => state === "sent" && sent === 100));
});

test("what is there already is not sent again, and what the server refuses says why", async () => {
  const { uploads, settled, most } = uploading(({ name }) => {
    if (name === "bad.pdf") throw new Problem(403, { detail: "This needs the permission document:write." }, "");
    return { document: name, upload: null };
  });
  uploads.add([file("known.pdf"), file("bad.pdf")]);
  await settled();
  assert.deepEqual(
    uploads.all.map(({ state, message }) => [state, message]),
    [
      ["known", ""],
      ["failed", "This needs the permission document:write."],
    ],
  );
  assert.equal(most(), 0);
});

test("what is no document is refused before anything is asked", async () => {
  const { uploads, asked, settled } = uploading(() => ({ document: null, upload: TARGET }));
  uploads.add([file("run.exe"), file("none"), file("empty.txt", "")]);
  await settled();
  assert.deepEqual(asked, []);
  assert.ok(uploads.all.every(({ state }) => state === "failed"));
  assert.equal(typeOf("<img>.pdf"), "application/pdf");
});

test("nothing begins after the page was left", async () => {
  const { uploads, asked, left } = uploading(() => ({ document: null, upload: TARGET }));
  left.abort();
  uploads.add([file("a.txt")]);
  await new Promise((resume) => setTimeout(resume, 5));
  assert.deepEqual(asked, []);
});
