import { html, type TemplateResult } from "lit";
import type { Column } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { type Agent, listAgents } from "./agents-api.ts";
import { agentTexts as say } from "./texts.ts";
import "../../components/paged-table.ts";
import "./agent-editor.ts";

const ID = "[a-z][a-z0-9_\\-]{0,40}";
const COLUMNS: readonly Column<Agent>[] = [
  { head: say.id, cell: ({ id }) => html`<a href=${hrefOf(["agents", id])}>${id}</a>` },
  { head: say.name, cell: ({ name }) => name },
  { head: say.about, cell: ({ description }) => description },
  { head: say.kind, cell: ({ version }) => (version === null ? say.ships : say.own(version)) },
  { head: say.begins, cell: ({ main }) => (main ? say.yes : "") },
];

/** The agents of the deployment and of the tenant, and each one's definition. */
export class AgentsView extends View {
  #read = (_cursor: string | null, signal: AbortSignal) => listAgents(this.api, signal);

  protected override render(): TemplateResult {
    const id = this.place.path[1];
    return id === undefined ? this.#list() : this.#agent(id);
  }

  #list(): TemplateResult {
    return html`
      <h1>${texts.agents}</h1>
      <form class="row" @submit=${this.#begin}>
        <label>${say.newId}<input name="id" required pattern=${ID} title=${say.idRule} autocomplete="off" spellcheck="false" /></label>
        <button type="submit">${say.create}</button>
      </form>
      <p></p>
      <paged-table .columns=${COLUMNS} .read=${this.#read} label=${texts.agents}></paged-table>
    `;
  }

  #agent(id: string): TemplateResult {
    return html`
      <p><a href=${hrefOf(["agents"])}>${say.all}</a></p>
      <h1 dir="auto">${id}</h1>
      <agent-editor .context=${this.context} .agentId=${id} .from=${this.place.parameters.from ?? null}></agent-editor>
    `;
  }

  #begin = (event: Event): void => {
    event.preventDefault();
    const id = new FormData(event.target as HTMLFormElement).get("id");
    if (typeof id === "string" && id) location.hash = hrefOf(["agents", id]);
  };
}

customElements.define("console-agents", AgentsView);
