import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { problemOf } from "../../api/problem.ts";
import type { AuditRecord } from "../../api/shapes.ts";
import { chosen, type Filter } from "../../components/filter-bar.ts";
import { when } from "../../components/numbers.ts";
import type { Column, ReadPage } from "../../components/paged-table.ts";
import { save } from "../../components/save.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import "../../components/paged-table.ts";

const PAGE = 50;
const FILTERS: readonly Filter[] = [
  { name: "action", label: texts.action, kind: "text", maxLength: 64 },
  { name: "outcome", label: texts.outcome, kind: "text", maxLength: 64 },
  { name: "userId", label: texts.user, kind: "text", maxLength: 256 },
  { name: "agentId", label: texts.agent, kind: "text", maxLength: 64 },
  { name: "threadId", label: texts.conversation, kind: "text", maxLength: 256 },
  { name: "from", label: texts.from, kind: "time" },
  { name: "to", label: texts.until, kind: "time" },
];
const DETAIL_LENGTH = 600;

/** Who did what, and what was refused: the tenant's audit records. */
export class AuditView extends View {
  static override properties = { ...View.properties, read: { state: true }, isExporting: { state: true } };
  static override styles = [
    base,
    css`
      .export { margin-block-end: 12px; }
    `,
  ];
  protected declare read: ReadPage<AuditRecord> | null;
  protected declare isExporting: boolean;
  #asked = "";

  constructor() {
    super();
    this.read = null;
    this.isExporting = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const wanted = this.#wanted;
    const asked = JSON.stringify(wanted);
    if (!changed.has("place") || asked === this.#asked) return;
    this.#asked = asked;
    this.read = (cursor, signal) => this.api.page<AuditRecord>(["audit"], { limit: PAGE, cursor, ...wanted }, signal);
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.audit}</h1>
      <filter-bar .filters=${FILTERS} .values=${this.place.parameters} @change=${this.#filtered}></filter-bar>
      <div class="export">
        <button type="button" ?disabled=${this.isExporting} @click=${this.#export}>${texts.export}</button>
      </div>
      <paged-table label=${texts.audit} .columns=${this.#columns} .read=${this.read}></paged-table>
    `;
  }

  get #columns(): readonly Column<AuditRecord>[] {
    return [
      { head: texts.time, cell: (each) => html`<time datetime=${each.timestamp}>${when(each.timestamp)}</time>` },
      { head: texts.user, cell: (each) => each.userId },
      { head: texts.action, cell: (each) => html`<code>${each.action}</code>` },
      {
        head: texts.outcome,
        cell: (each) => html`<span class=${BAD.has(each.outcome) ? "bad" : ""}>${each.outcome}</span>`,
      },
      { head: texts.conversation, cell: (each) => this.#thread(each) },
      { head: texts.details, cell: (each) => html`<code>${detailOf(each)}</code>` },
    ];
  }

  #thread(record: AuditRecord): unknown {
    if (!record.threadId) return nothing;
    const short = record.threadId.slice(0, 8);
    return this.may("thread:read_all")
      ? html`<a href=${hrefOf(["threads", record.threadId])} title=${record.threadId}>${short}</a>`
      : html`<code title=${record.threadId}>${short}</code>`;
  }

  get #wanted(): Readonly<Record<string, string>> {
    return chosen(FILTERS, this.place.parameters);
  }

  #filtered = (event: CustomEvent<Record<string, string | null>>): void => {
    this.remember(event.detail);
  };

  #export = async (): Promise<void> => {
    this.isExporting = true;
    try {
      const answer = await this.api.send(["audit", "export"], { parameters: this.#wanted, signal: this.left });
      save("audit-records.jsonl", await answer.blob());
    } catch (error) {
      if (!this.left.aborted) this.context.notify(problemOf(error).message);
    }
    this.isExporting = false;
  };
}

const BAD = new Set(["denied", "not_found", "refused", "failed"]);

function detailOf(record: AuditRecord): string {
  const text = Object.entries(record.detail)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("; ");
  return text.length > DETAIL_LENGTH ? `${text.slice(0, DETAIL_LENGTH)}…` : text;
}

customElements.define("console-audit", AuditView);
