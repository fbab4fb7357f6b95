import assert from "node:assert/strict";
import { mock, type TestContext, test } from "node:test";
import type { ConsoleApi, RequestOptions } from "../src/api/console-api.ts";
import { DeskFeed } from "../src/views/desk/desk-feed.ts";

const HOUR = 3600;
const LISTED = 'id: 7\ndata: {"name": "desk_listed", "value": {"threadIds": []}}\n\n';

/** A page that can be hidden, in virtual time, and the streams that it has opened: their `Last-Event-ID`. */
class Desk {
  readonly asked: (string | undefined)[] = [];
  readonly states: boolean[] = [];
  alerts = false;
  open = 0;
  readonly #page = Object.assign(new EventTarget(), { hidden: false });

  constructor(context: TestContext) {
    const left = new AbortController();
    mock.timers.enable({ apis: ["setTimeout"] });
    Object.assign(globalThis, { document: this.#page });
    context.after(async () => {
      left.abort();
      await this.pass(0);
      mock.timers.reset();
      Reflect.deleteProperty(globalThis, "document");
    });
    const feed = new DeskFeed({ send: this.#send } as unknown as ConsoleApi, () => this.alerts);
    void feed.follow(
      () => {},
      (isLive) => this.states.push(isLive),
      left.signal,
    );
  }

  async look({ hidden }: { hidden: boolean }): Promise<void> {
    this.#page.hidden = hidden;
    this.#page.dispatchEvent(new Event("visibilitychange"));
    await this.pass(0);
  }

  async pass(seconds: number): Promise<void> {
    mock.timers.tick(seconds * 1000);
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  readonly #send = async (_: readonly string[], { headers, signal }: RequestOptions): Promise<Response> => {
    this.asked.push(headers?.["Last-Event-ID"]);
    this.open += 1;
    const body = new ReadableStream({
      start: (stream) => {
        stream.enqueue(new TextEncoder().encode(LISTED));
        signal?.addEventListener("abort", () => {
          this.open -= 1;
          stream.error(signal.reason);
        });
      },
    });
    return new Response(body);
  };
}

test("the stream of a desk ends when the page was hidden for minutes, and goes on where it was when it is shown", async (context) => {
  const desk = new Desk(context);
  await desk.pass(HOUR);
  assert.deepEqual([desk.asked, desk.open], [["-"], 1]);
  await desk.look({ hidden: true });
  await desk.pass(299);
  assert.equal(desk.open, 1);
  await desk.pass(2);
  assert.equal(desk.open, 0);
  await desk.pass(3 * HOUR);
  assert.equal(desk.asked.length, 1);
  await desk.look({ hidden: false });
  assert.deepEqual([desk.asked, desk.open], [["-", "7"], 1]);
  assert.deepEqual(desk.states, [true, true]);
});

test("a look at another page now and then leaves the stream of a desk as it is", async (context) => {
  const desk = new Desk(context);
  for (let glance = 0; glance < 10; glance += 1) {
    await desk.look({ hidden: true });
    await desk.pass(200);
    await desk.look({ hidden: false });
    await desk.pass(200);
  }
  assert.deepEqual([desk.asked, desk.open], [["-"], 1]);
});

test("a hidden page that alerts keeps its stream", async (context) => {
  const desk = new Desk(context);
  desk.alerts = true;
  await desk.look({ hidden: true });
  await desk.pass(3 * HOUR);
  assert.deepEqual([desk.asked, desk.open], [["-"], 1]);
});
