import { html, type TemplateResult } from "lit";
import type { Column } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { isPrivate, listProcedures, type Procedure, STATUSES, type Status } from "./procedures-api.ts";
import { procedureTexts as say } from "./texts.ts";
import "../../components/paged-table.ts";
import "./procedure-match.ts";
import "./procedure-review.ts";
import "./skill-review.ts";

const COLUMNS: readonly Column<Procedure>[] = [
  {
    head: say.name,
    cell: ({ agentId, id, name, version, scope, createdBy }) =>
      html`<a href=${hrefOf(["procedures", agentId, id], { version, user: scope === "user" ? createdBy : null })}>${name}</a>`,
  },
  { head: say.agent, cell: ({ agentId, scope }) => (scope === "tenant" ? say.everyAgent : agentId) },
  { head: say.version, cell: ({ version }) => version, isNumber: true },
  {
    head: say.made,
    cell: ({ createdBy, source, scope }) =>
      scope === "user" ? createdBy : `${createdBy} (${source ? say.captured : say.written})`,
  },
  {
    head: say.decided,
    cell: ({ decidedBy, reason, status }) =>
      status === "offered" ? "" : [decidedBy, reason].filter(Boolean).join(": "),
  },
  { head: say.uses, cell: ({ used, wentWell }) => say.usesOf(used, wentWell) },
];

/** What waits for a decision in the whole tenant, and each procedure for review. */
export class ProceduresView extends View {
  #status: Status = "pending";
  #read = this.#reader("pending");

  protected override willUpdate(): void {
    const status = STATUSES.find((each) => each === this.place.parameters.status) ?? "pending";
    if (status === this.#status) return;
    this.#status = status;
    this.#read = this.#reader(status);
  }

  protected override render(): TemplateResult {
    const [, agentId, id] = this.place.path;
    if (agentId !== undefined && id !== undefined) return this.#procedure(agentId, id);
    return html`
      <h1>${texts.procedures}</h1>
      <form class="row" @submit=${(event: Event) => event.preventDefault()}>
        <label>${say.status}<select @change=${this.#filtered}>
          ${STATUSES.map((each) => html`<option value=${each} ?selected=${each === this.#status}>${say.lists[each] ?? say.statuses[each]}</option>`)}
        </select></label>
      </form>
      <p></p>
      <paged-table .columns=${COLUMNS} .read=${this.#read} .keyOf=${keyOf} label=${texts.procedures}></paged-table>
      <procedure-match .context=${this.context}></procedure-match>
    `;
  }

  #procedure(agentId: string, id: string): TemplateResult {
    if (isPrivate(id)) {
      return html`
        <p><a href=${hrefOf(["procedures"], { status: "offered" })}>${say.all}</a></p>
        <skill-review .context=${this.context} .agentId=${agentId} .skillId=${id} .userId=${this.place.parameters.user ?? null}></skill-review>
      `;
    }
    return html`
      <p><a href=${hrefOf(["procedures"])}>${say.all}</a></p>
      <procedure-review .context=${this.context} .agentId=${agentId} .procedureId=${id} .version=${Number(this.place.parameters.version) || null}></procedure-review>
    `;
  }

  #reader(status: Status) {
    return (cursor: string | null, signal: AbortSignal) => listProcedures(this.api, status, cursor, signal);
  }

  #filtered = (event: Event): void => {
    this.remember({ status: (event.target as HTMLSelectElement).value });
  };
}

const keyOf = ({ agentId, id, version, createdBy }: Procedure): string => `${agentId}/${id}/${version}/${createdBy}`;

customElements.define("console-procedures", ProceduresView);
