import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { CompletedWorkflow } from "../../api/shapes.ts";
import { chosen, type Filter } from "../../components/filter-bar.ts";
import { when } from "../../components/numbers.ts";
import type { Column, ReadPage } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import "../../components/paged-table.ts";

const PAGE = 50;
const FILTERS: readonly Filter[] = [
  { name: "userId", label: texts.user, kind: "text", maxLength: 256 },
  { name: "agentId", label: texts.agent, kind: "text", maxLength: 64 },
  { name: "state", label: texts.state, kind: "text", maxLength: 64 },
  { name: "from", label: texts.from, kind: "time" },
  { name: "to", label: texts.until, kind: "time" },
];
const VALUE_LENGTH = 300;

/** What users have completed: the tenant's guided workflows with their data. */
export class WorkflowsView extends View {
  static override properties = { ...View.properties, read: { state: true } };
  static override styles = [base];
  protected declare read: ReadPage<CompletedWorkflow> | null;
  #asked = "";

  constructor() {
    super();
    this.read = null;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const parameters = { scope: "tenant", ...chosen(FILTERS, this.place.parameters) };
    const asked = JSON.stringify(parameters);
    if (!changed.has("place") || asked === this.#asked) return;
    this.#asked = asked;
    this.read = (cursor, signal) =>
      this.api.page<CompletedWorkflow>(["workflows", "completed"], { limit: PAGE, cursor, ...parameters }, signal);
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.workflows}</h1>
      <filter-bar .filters=${FILTERS} .values=${this.place.parameters} @change=${this.#filtered}></filter-bar>
      <paged-table label=${texts.workflows} .columns=${COLUMNS} .read=${this.read}></paged-table>
    `;
  }

  #filtered = (event: CustomEvent<Record<string, string | null>>): void => {
    this.remember(event.detail);
  };
}

const COLUMNS: readonly Column<CompletedWorkflow>[] = [
  { head: texts.completed, cell: (each) => html`<time datetime=${each.completedAt}>${when(each.completedAt)}</time>` },
  {
    head: texts.workflow,
    cell: (each) => html`<a href=${hrefOf(["threads", each.threadId])} dir="auto">${each.name}</a>`,
  },
  { head: texts.user, cell: (each) => each.userId },
  { head: texts.agent, cell: (each) => html`<code>${each.agentId}</code>` },
  { head: texts.state, cell: (each) => html`<code>${each.state}</code>` },
  { head: texts.data, cell: dataOf },
  {
    head: texts.result,
    cell: (each) => (each.result === null ? nothing : html`<span dir="auto">${short(each.result)}</span>`),
  },
];

function dataOf({ data }: CompletedWorkflow): TemplateResult[] {
  return Object.values(data).flatMap((fields) =>
    Object.entries(fields).map(
      ([name, value]) =>
        html`<div dir="auto"><code>${name}</code>: ${short(typeof value === "string" ? value : JSON.stringify(value))}</div>`,
    ),
  );
}

function short(text: string): string {
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}

customElements.define("console-workflows", WorkflowsView);
