import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { type Problem, problemOf } from "../../api/problem.ts";
import type { Schedule } from "../../api/shapes.ts";
import { chosen, type Filter } from "../../components/filter-bar.ts";
import { when } from "../../components/numbers.ts";
import type { Column, PagedTable, ReadPage } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { describe } from "./rules.ts";
import "../../components/confirm-button.ts";
import "../../components/filter-bar.ts";
import "../../components/paged-table.ts";
import "../../components/problem-note.ts";

const PAGE = 50;
const { schedule: words } = texts;
const FILTERS: readonly Filter[] = [
  { name: "status", label: texts.status, kind: "choice", choices: Object.entries(words.statuses) },
];

/** The schedules of the tenant's users, which can be paused and cancelled. */
export class SchedulesView extends View {
  static override properties = {
    ...View.properties,
    read: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      p { max-inline-size: 640px; }
    `,
  ];
  protected declare read: ReadPage<Schedule> | null;
  protected declare problem: Problem | null;
  /** Whether a request is on its way. */
  protected declare isBusy: boolean;
  readonly #columns: readonly Column<Schedule>[];
  #asked = "";

  constructor() {
    super();
    this.read = null;
    this.problem = null;
    this.isBusy = false;
    this.#columns = [
      { head: words.next, cell: nextOf },
      { head: words.text, cell: textOf },
      { head: texts.user, cell: (each) => each.userId },
      {
        head: texts.conversation,
        cell: (each) => html`<a href=${hrefOf(["threads", each.threadId])}><code>${each.agentId}</code></a>`,
      },
      { head: words.runs, cell: (each) => each.runs },
      { head: texts.action, cell: (each) => this.#actions(each) },
    ];
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const parameters = { scope: "tenant", ...chosen(FILTERS, this.place.parameters) };
    const asked = JSON.stringify(parameters);
    if (!changed.has("place") || asked === this.#asked) return;
    this.#asked = asked;
    this.read = (cursor, signal) =>
      this.api.page<Schedule>(["schedules"], { limit: PAGE, cursor, ...parameters }, signal);
  }

  protected override updated(changed: PropertyValues): void {
    // The rows are drawn by the table, which has to know that a button has changed.
    if (changed.has("isBusy")) this.#table?.requestUpdate();
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.schedules}</h1>
      <p class="muted">${words.explanation}</p>
      <problem-note .problem=${this.problem}></problem-note>
      <filter-bar .filters=${FILTERS} .values=${this.place.parameters} @change=${this.#filtered}></filter-bar>
      <paged-table label=${texts.schedules} .columns=${this.#columns} .read=${this.read}></paged-table>
    `;
  }

  get #table(): PagedTable<Schedule> | null {
    return this.renderRoot.querySelector<PagedTable<Schedule>>("paged-table");
  }

  #filtered = (event: CustomEvent<Record<string, string | null>>): void => {
    this.remember(event.detail);
  };

  #actions(each: Schedule): TemplateResult {
    const { paused, status } = each;
    return html`${status === "finished" ? nothing : html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.#change(each, "PATCH", { paused: !paused })}>${paused ? words.resume : words.pause}</button>`}
      <confirm-button label=${words.cancel} question=${words.cancelSure} .isDisabled=${this.isBusy} @confirmed=${() => this.#change(each, "DELETE")}></confirm-button>`;
  }

  async #change({ id, userId }: Schedule, method: "PATCH" | "DELETE", body?: object): Promise<void> {
    this.isBusy = true;
    this.problem = null;
    try {
      await this.api.request(["schedules", id], { method, body, parameters: { userId }, signal: this.left });
    } catch (error) {
      if (!this.left.aborted) this.problem = problemOf(error);
    } finally {
      this.isBusy = false;
      if (!this.left.aborted) this.#table?.reload();
    }
  }
}

function textOf({ text, rule, timeZone }: Schedule): TemplateResult {
  const zone = timeZone === "user" ? words.zoneOfUser : timeZone;
  return html`<div dir="auto">${text}</div><div class="muted">${rule ? html`<span title=${rule}>${describe(rule)}</span>, ` : nothing}${zone}</div>`;
}

function nextOf({ nextAt, status }: Schedule): TemplateResult {
  return nextAt ? html`<time datetime=${nextAt}>${when(nextAt)}</time>` : html`${words.statuses[status]}`;
}

customElements.define("console-schedules", SchedulesView);
