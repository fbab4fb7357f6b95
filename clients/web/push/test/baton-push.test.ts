import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

const SCRIPT = readFileSync(new URL("../baton-push.js", import.meta.url), "utf8");
const ORIGIN = "https://shop.example.com";

/** A page of the site. */
const page = (path: string, focused = false) => ({
  url: ORIGIN + path,
  focused,
  timesFocused: 0,
  messages: [] as string[],
  postMessage(message: object) {
    this.messages.push(JSON.stringify(message));
  },
  async focus() {
    this.timesFocused += 1;
  },
});

/** The service worker of a site whose pages are open, with the script. */
function workerWith(...pages: ReturnType<typeof page>[]) {
  const listeners = new Map<string, (event: object) => void>();
  const notifications: { title: string; body: string; tag: string; data: object }[] = [];
  const opened: string[] = [];
  const self = {
    location: { origin: ORIGIN },
    clients: { matchAll: async () => pages, openWindow: async (url: string) => void opened.push(url) },
    registration: {
      showNotification: async (title: string, options: { body: string; tag: string; data: object }) =>
        void notifications.push({ title, ...options }),
    },
    addEventListener: (type: string, listener: (event: object) => void) => listeners.set(type, listener),
  };
  runInContext(SCRIPT, createContext({ self, URL }));
  const dispatch = async (type: string, fields: object) => {
    const waits: Promise<void>[] = [];
    listeners.get(type)?.({ ...fields, waitUntil: (wait: Promise<void>) => waits.push(wait) });
    await Promise.all(waits);
    return waits.length > 0;
  };
  const push = (data: string | null) => dispatch("push", { data: data && { json: () => JSON.parse(data) } });
  const click = (data: object) => dispatch("notificationclick", { notification: { data, close: () => {} } });
  return { notifications, opened, push, click };
}

const message = (fields: object = {}) =>
  JSON.stringify({ baton: { threadId: "t1", title: "Shop", body: "It is on its way.", url: "/chat", ...fields } });

test("a message shows one notification for its conversation", async () => {
  const { notifications, push } = workerWith(page("/chat"), page("/cart", true));
  await push(message());
  const [{ title, body, tag, data } = assert.fail()] = notifications;
  assert.deepEqual([title, body, tag], ["Shop", "It is on its way.", "baton:t1"]);
  assert.equal(JSON.stringify(data), JSON.stringify({ baton: { url: `${ORIGIN}/chat`, threadId: "t1" } }));
});

test("who looks at the chat gets none", async () => {
  const { notifications, push } = workerWith(page("/chat?order=1", true));
  await push(message());
  assert.deepEqual(notifications, []);
});

test("long words are cut", async () => {
  const { notifications, push } = workerWith();
  await push(message({ body: "a".repeat(5000) }));
  assert.equal(notifications[0]?.body.length, 200);
});

for (const data of [null, "{", "{}", '"text"', message({ threadId: 1 }), message({ url: "https://evil.example" })])
  test(`other messages are left to other listeners: ${data}`, async () => {
    const { notifications, push } = workerWith();
    assert.equal(await push(data), false);
    assert.deepEqual(notifications, []);
  });

test("a click brings the page with the chat to the front", async () => {
  const [cart, chat] = [page("/cart"), page("/chat")];
  const { opened, click } = workerWith(cart, chat);
  await click({ baton: { url: `${ORIGIN}/chat`, threadId: "t1" } });
  assert.deepEqual([cart.timesFocused, chat.timesFocused, opened], [0, 1, []]);
  assert.deepEqual(chat.messages, ['{"baton":{"threadId":"t1"}}']);
});

test("a click opens the page if there is none", async () => {
  const { opened, click } = workerWith(page("/cart"));
  await click({ baton: { url: `${ORIGIN}/chat` } });
  assert.deepEqual(opened, [`${ORIGIN}/chat`]);
});

test("a click on another notification is left to other listeners", async () => {
  const { opened, click } = workerWith();
  assert.equal(await click({ order: 1 }), false);
  assert.deepEqual(opened, []);
});
