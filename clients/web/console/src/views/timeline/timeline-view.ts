import { css, html, nothing, type TemplateResult } from "lit";
import type { Page } from "../../api/console-api.ts";
import { eventsOf } from "../../api/events.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { visible } from "../../api/readers.ts";
import type { Handoff, Message, Task, Thread, ToolCall, Turn } from "../../api/shapes.ts";
import { cost, count, when } from "../../components/numbers.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { draftFor } from "./drafts.ts";
import { History } from "./history.ts";
import { callItem, handoffItem, type Item, messageItem, taskItem, turnItem } from "./items.ts";
import { LiveItems } from "./live-items.ts";
import "../../components/problem-note.ts";
import "./background-tasks.ts";
import "./item-details.ts";
import "./sandbox-composer.ts";
import "./swimlanes.ts";

const PAGE = 100;
/** Between two looks at a conversation in which nothing goes on. */
const IDLE_MS = 5_000;
const AFTER_FAILURE_MS = 10_000;
/** Items that are read before the reader asks for more. */
const FIRST_ITEMS = 200;
/** Where an id tells its version: forks of handoffs have ids of version 5. */
const VERSION_AT = 14;
/** The conversation is gone, or the permission to read it. */
const ENDS = new Set([401, 403, 404]);

/** One conversation: who did what and when, as swimlanes, live. */
export class TimelineView extends View {
  static override properties = {
    ...View.properties,
    thread: { state: true },
    items: { state: true },
    problem: { state: true },
    isReading: { state: true },
    isLive: { state: true },
  };
  static override styles = [
    base,
    css`
      header { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: baseline; margin-block-end: 12px; }
      h1 { margin: 0; overflow-wrap: anywhere; }
      dl { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 12px; inline-size: 100%; }
      dl div { display: flex; gap: 6px; }
      dt { color: var(--muted); }
      dd { margin: 0; overflow-wrap: anywhere; }
      .parts { display: grid; grid-template-columns: minmax(0, 1fr) minmax(300px, 34%); gap: 16px; align-items: start; }
      .parts.wide { grid-template-columns: minmax(0, 1fr); }
      aside { position: sticky; inset-block-start: 16px; max-block-size: calc(100vh - 32px); overflow: auto; border: 1px solid var(--border); border-radius: var(--radius); padding: 12px 14px; background: var(--raised); }
      @media (max-width: 1000px) { .parts { grid-template-columns: minmax(0, 1fr); } aside { position: static; } }
    `,
  ];
  protected declare thread: Thread | null;
  protected declare items: readonly Item[];
  protected declare problem: Problem | null;
  protected declare isReading: boolean;
  protected declare isLive: boolean;
  #history: History | null = null;
  #live = new LiveItems(() => Date.now());
  #shownId = "";
  #reading = new AbortController();
  #frame = 0;

  constructor() {
    super();
    this.thread = null;
    this.items = [];
    this.problem = null;
    this.isReading = false;
    this.isLive = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
    cancelAnimationFrame(this.#frame);
    this.#shownId = "";
  }

  protected override willUpdate(): void {
    if (this.#threadId !== this.#shownId) {
      this.#shownId = this.#threadId;
      void this.#open();
    }
  }

  protected override render(): TemplateResult {
    const selected = this.items.find((each) => each.key === this.place.parameters.at) ?? null;
    return html`
      ${this.thread ? this.#header(this.thread) : html`<h1>${texts.conversation}</h1>`}
      ${this.thread ? html`<background-tasks .context=${this.context} .thread=${this.thread}></background-tasks>` : nothing}
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#open()}></problem-note>
      ${this.items.length ? this.#parts(selected) : html`<p class="muted" role="status">${this.isReading ? texts.loading : this.problem ? "" : texts.none}</p>`}
      ${this.#isOwn ? html`<sandbox-composer .context=${this.context} .threadId=${this.#threadId} .draft=${draftFor(this.#threadId)} @answered=${this.#answered}></sandbox-composer>` : nothing}
    `;
  }

  #header(thread: Thread): TemplateResult {
    const state = thread.run ? texts.runStatus[thread.run.status] : texts.threadStatus[thread.status];
    const facts: [string, unknown][] = [
      [texts.user, thread.userId],
      [texts.state, state],
      [texts.agent, thread.state.activeAgent.name],
      [texts.tokens, count(thread.usage.totalTokens)],
      [texts.cost, cost(thread.cost)],
      [
        texts.copyOf,
        thread.parentThreadId
          ? html`<a href=${hrefOf(["threads", thread.parentThreadId])}>${thread.parentThreadId.slice(0, 8)}</a>`
          : null,
      ],
      [texts.began, when(thread.createdAt)],
      [texts.lastActivity, when(thread.lastActivityAt)],
    ];
    return html`<header>
      <h1 dir="auto">${thread.title ?? texts.untitled}</h1>
      <span class="muted mono">${thread.id}</span>
      <span role="status" class=${this.isLive ? "good" : "muted"}>${this.isLive ? texts.live : ""}</span>
      <dl>${facts.filter(([, value]) => value !== null).map(([name, value]) => html`<div><dt>${name}</dt><dd dir="auto">${value}</dd></div>`)}</dl>
    </header>`;
  }

  #parts(selected: Item | null): TemplateResult {
    return html`<div class="parts ${selected ? "" : "wide"}">
      <div>
        ${this.#history?.isWhole ? nothing : html`<p><button type="button" ?disabled=${this.isReading} @click=${this.#readOlder}>${texts.older}</button></p>`}
        <swim-lanes .items=${this.items} .selected=${selected?.key ?? null} @select=${this.#selected} @top=${this.#readOlder}></swim-lanes>
      </div>
      ${selected ? html`<aside aria-label=${texts.details}><item-details .item=${selected} .items=${this.items} .threadId=${this.#threadId} .context=${this.context} @select=${this.#selected}></item-details></aside>` : nothing}
    </div>`;
  }

  /** Whether the reader may say something: in a copy or a fork of their own, but not in one that its parent writes. */
  get #isOwn(): boolean {
    const { thread } = this;
    const isLed = thread?.id[VERSION_AT] === "5";
    return thread?.parentThreadId != null && thread.userId === this.context.person.userId && !isLed;
  }

  #answered = async (): Promise<void> => {
    const { signal } = this.#reading;
    await this.#refresh(signal).catch(() => {}); // the next look reads it again
    this.#show();
  };

  get #threadId(): string {
    return this.place.path[1] ?? "";
  }

  async #open(): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.thread = null;
    this.items = [];
    this.problem = null;
    this.isReading = true;
    this.#live.clear();
    this.#history = this.#historyOf(this.#threadId);
    try {
      const history = this.#history;
      [this.thread] = await Promise.all([this.#readThread(signal), history.older(signal)]);
      while (!history.isWhole && history.items.length < FIRST_ITEMS && !signal.aborted) await history.older(signal);
      const { at } = this.place.parameters;
      if (at && !(await history.find(at, signal))) this.context.notify(texts.itemGone);
      if (signal.aborted) return;
      this.#show();
      void this.#follow(signal);
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
    if (!signal.aborted) this.isReading = false;
  }

  #historyOf(id: string): History {
    const reader =
      <T>(name: string, item: (record: T) => Item, parameters: Record<string, string> = {}) =>
      async (cursor: string | null, signal: AbortSignal): Promise<Page<Item>> => {
        const page = await this.api.page<T>(["threads", id, name], { limit: PAGE, cursor, ...parameters }, signal);
        return { items: page.items.map(item), nextCursor: page.nextCursor };
      };
    return new History([
      reader<Turn>("turns", (turn) => turnItem(turn, Date.now())),
      reader<Message>("messages", messageItem),
      reader<ToolCall>("tool-calls", callItem),
      reader<Task>("tasks", taskItem),
      reader<Handoff>("handoffs", handoffItem),
    ]);
  }

  #readThread(signal: AbortSignal): Promise<Thread> {
    return this.api.get<Thread>(["threads", this.#threadId], {}, signal);
  }

  /** Shows what goes on: events while a run is in progress, and what is on record when it has ended. */
  async #follow(signal: AbortSignal): Promise<void> {
    let seen = this.thread?.lastSeq ?? 0;
    while (!signal.aborted) {
      try {
        await visible(signal); // a stream holds a worker, which is billed
        const answer = await this.api.send(["threads", this.#threadId, "events"], {
          parameters: { after: seen, protocolVersion: "1.0" },
          signal,
        });
        this.isLive = true;
        for await (const { id, data } of eventsOf(answer)) {
          seen = id === null ? seen : Number(id);
          if (this.#live.take(data)) await this.#refresh(signal);
          this.#showSoon();
        }
        await pause(IDLE_MS, signal);
      } catch (error) {
        if (signal.aborted || isAborted(error)) return;
        this.isLive = false;
        const problem = problemOf(error);
        if (ENDS.has(problem.status)) {
          this.problem = problem;
          return;
        }
        await pause(AFTER_FAILURE_MS, signal);
      }
    }
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const [thread] = await Promise.all([this.#readThread(signal), this.#history?.refresh(signal)]);
    this.thread = thread;
    this.#live.clear();
  }

  #readOlder = async (): Promise<void> => {
    if (this.isReading || !this.#history || this.#history.isWhole) return;
    const { signal } = this.#reading;
    this.isReading = true;
    try {
      await this.#history.older(signal);
      this.#show();
    } catch (error) {
      if (!signal.aborted) this.problem = problemOf(error);
    }
    if (!signal.aborted) this.isReading = false;
  };

  #selected = (event: CustomEvent<string | null>): void => {
    this.remember({ at: event.detail });
  };

  #showSoon(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    const known = this.#history?.items ?? [];
    const keys = new Set(known.map((each) => each.key));
    this.items = [...known, ...this.#live.items.filter((each) => !keys.has(each.key))];
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

customElements.define("console-timeline", TimelineView);
