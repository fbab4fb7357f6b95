import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Page } from "../../api/console-api.ts";
import { isAborted } from "../../api/problem.ts";
import type { Thread } from "../../api/shapes.ts";
import { cost, count, when } from "../../components/numbers.ts";
import type { Column, PagedTable, ReadPage } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import "../../components/paged-table.ts";
import { chosen, type Filter } from "../../components/filter-bar.ts";

const PAGE = 50;
/** Between two looks for newer conversations. */
const LOOK_MS = 15_000;
const MAX_TITLE = 140;

const FILTERS: readonly Filter[] = [
  { name: "q", label: texts.search, kind: "search", maxLength: 100 },
  { name: "userId", label: texts.user, kind: "text", maxLength: 256 },
  { name: "agentId", label: texts.agent, kind: "text", maxLength: 64 },
  {
    name: "state",
    label: texts.state,
    kind: "choice",
    choices: ["active", "closed", "running", "interrupted", "waiting"].map((each) => [
      each,
      texts.states[each as "active"],
    ]),
  },
  { name: "hasError", label: texts.failures, kind: "choice", choices: [["true", texts.onlyFailed]] },
  { name: "minTokens", label: texts.minTokens, kind: "number" },
  { name: "minCost", label: texts.minCost, kind: "number" },
  { name: "from", label: texts.activeFrom, kind: "time" },
  { name: "to", label: texts.activeTo, kind: "time" },
];

const COLUMNS: readonly Column<Thread>[] = [
  { head: texts.conversation, cell: (each) => html`<a href=${hrefOf(["threads", each.id])}>${titleOf(each)}</a>` },
  { head: texts.user, cell: (each) => each.userId },
  { head: texts.agent, cell: (each) => each.state.activeAgent.name },
  { head: texts.state, cell: stateOf },
  { head: texts.tokens, cell: (each) => count(each.usage.totalTokens), isNumber: true },
  { head: texts.cost, cell: (each) => cost(each.cost), isNumber: true },
  { head: texts.unread, cell: (each) => (each.unread ? count(each.unread) : ""), isNumber: true },
  { head: texts.lastActivity, cell: (each) => when(each.lastActivityAt) },
];

/** The tenant's conversations, the latest first, found by what the address says. */
export class ThreadsView extends View {
  static override properties = { ...View.properties, read: { state: true }, hasNews: { state: true } };
  static override styles = [
    base,
    css`
      .news { margin-block: 8px; }
    `,
  ];
  protected declare read: ReadPage<Thread> | null;
  /** Whether the list has changed since it was read. It is not changed under the reader's eyes. */
  protected declare hasNews: boolean;
  #asked = "";
  #first = "";
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.read = null;
    this.hasNews = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const asked = JSON.stringify(this.#wanted);
    if (!changed.has("place") || asked === this.#asked) return;
    this.#asked = asked;
    this.hasNews = false;
    this.read = this.#reader();
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.threads}</h1>
      <filter-bar .filters=${FILTERS} .values=${this.place.parameters} @change=${this.#filtered}></filter-bar>
      <div class="news" role="status">${this.hasNews ? html`<button type="button" @click=${this.#showNews}>${texts.showNews}</button>` : nothing}</div>
      <paged-table label=${texts.threads} .columns=${COLUMNS} .read=${this.read}></paged-table>
    `;
  }

  get #wanted(): Readonly<Record<string, string>> {
    return chosen(FILTERS, this.place.parameters);
  }

  #reader(): ReadPage<Thread> {
    const wanted = this.#wanted;
    return async (cursor, signal) => {
      const page = await this.#page(wanted, cursor, signal);
      if (cursor === null) this.#first = newsOf(page);
      return page;
    };
  }

  #page(wanted: Readonly<Record<string, string>>, cursor: string | null, signal: AbortSignal): Promise<Page<Thread>> {
    return this.api.page<Thread>(["threads"], { scope: "tenant", limit: PAGE, cursor, ...wanted }, signal);
  }

  /** Looks whether there is news, while somebody can see the page. */
  async #look(): Promise<void> {
    if (document.hidden || this.hasNews || !this.#first) return;
    const asked = this.#asked;
    try {
      const page = await this.#page(this.#wanted, null, this.left);
      if (asked === this.#asked && newsOf(page) !== this.#first) this.hasNews = true;
    } catch (error) {
      if (!isAborted(error)) this.#first = ""; // the list itself says what is wrong when it is read again
    }
  }

  #showNews = (): void => {
    this.hasNews = false;
    this.renderRoot.querySelector<PagedTable<Thread>>("paged-table")?.reload();
  };

  #filtered = (event: CustomEvent<Record<string, string | null>>): void => {
    this.remember(event.detail);
  };
}

function titleOf(thread: Thread): string {
  const title = thread.title ?? texts.untitled;
  return title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE)}…` : title;
}

function stateOf(thread: Thread): TemplateResult {
  const state = thread.run?.status ?? (thread.interrupts.length ? "waiting" : thread.status);
  const question = thread.interrupts[0]?.message;
  return html`${texts.states[state]}${question ? html` <span class="muted" dir="auto">${String(question)}</span>` : nothing}${thread.lastError ? html` · <span class="bad">${thread.lastError}</span>` : nothing}`;
}

/** Returns what tells one first page from another. */
function newsOf(page: Page<Thread>): string {
  return page.items.map((each) => `${each.id} ${each.lastActivityAt} ${each.run?.status ?? ""}`).join("\n");
}

customElements.define("console-threads", ThreadsView);
