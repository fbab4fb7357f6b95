import { css, html, type TemplateResult } from "lit";
import type { Column } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { type Agent, listAgents } from "../agents/agents-api.ts";
import { View } from "../view.ts";
import { documentTexts as say } from "./texts.ts";
import "../../components/paged-table.ts";
import "./document-list.ts";
import "./document-sources.ts";
import "./knowledge-trial.ts";
import "./library-list.ts";

const COLUMNS: readonly Column<Agent>[] = [
  { head: texts.agents, cell: ({ id, name }) => html`<a href=${hrefOf(["documents", id])}>${name}</a>` },
  { head: say.about, cell: ({ description }) => description },
];

/** The documents of one agent, the sources that keep some, and what is found in them. */
export class DocumentsView extends View {
  static override styles = [base, css`section { margin-block-end: 28px; }`];
  #read = (_cursor: string | null, signal: AbortSignal) => listAgents(this.api, signal);

  protected override render(): TemplateResult {
    const agentId = this.place.path[1];
    if (agentId === undefined) {
      return html`<h1>${texts.documents}</h1><p>${say.choose}</p>
        <paged-table .columns=${COLUMNS} .read=${this.#read} label=${texts.agents}></paged-table>`;
    }
    return html`
      <p><a href=${hrefOf(["documents"])}>${say.all}</a></p>
      <h1 dir="auto">${say.of(agentId)}</h1>
      <section><document-list .context=${this.context} .agentId=${agentId}></document-list></section>
      <section><library-list .context=${this.context} .agentId=${agentId}></library-list></section>
      <section><knowledge-trial .context=${this.context} .agentId=${agentId}></knowledge-trial></section>
      <section><document-sources .context=${this.context} .agentId=${agentId}></document-sources></section>
    `;
  }
}

customElements.define("console-documents", DocumentsView);
