import { css, html, nothing, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { listAgents } from "../agents/agents-api.ts";
import type { ViewContext } from "../view.ts";
import { type Match, tryMessage } from "./procedures-api.ts";
import { procedureTexts as say } from "./texts.ts";
import "../../components/problem-note.ts";

/** Tries which procedure an agent would follow for a message. */
export class ProcedureMatch extends PageElement {
  static override properties = {
    context: { attribute: false },
    agents: { state: true },
    found: { state: true },
    note: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      input { inline-size: 26rem; }
      ol { padding-inline-start: 24px; }
      li { margin-block: 6px; overflow-wrap: anywhere; }
    `,
  ];
  declare context: ViewContext;
  protected declare agents: readonly string[];
  protected declare found: { readonly agentId: string; readonly items: readonly Match[] } | null;
  protected declare note: string | null;
  protected declare problem: Problem | null;
  protected declare isBusy: boolean;

  constructor() {
    super();
    this.agents = [];
    this.found = null;
    this.note = null;
    this.problem = null;
    this.isBusy = false;
  }

  protected override firstUpdated(): void {
    void this.#loadAgents();
  }

  protected override render(): TemplateResult {
    return html`
      <h2>${say.match}</h2>
      <form class="row" @submit=${this.#try}>
        <label>${say.agent}<select name="agent">${this.agents.map((id) => html`<option>${id}</option>`)}</select></label>
        <label>${say.message}<input name="query" required maxlength="20000" dir="auto" autocomplete="off" /></label>
        <button type="submit" ?disabled=${this.isBusy}>${say.tryIt}</button>
      </form>
      <div role="status">${this.found ? this.#matches(this.found) : nothing}</div>
      <problem-note .problem=${this.problem}></problem-note>
    `;
  }

  #matches({ agentId, items }: { agentId: string; items: readonly Match[] }): TemplateResult {
    if (!items.length) return html`<p class="muted">${say.noMatch}</p>`;
    return html`${items.some((each) => each.ambiguous) ? html`<p>${say.ambiguous}</p>` : nothing}
      <ol>${items.map((each) => this.#match(agentId, each))}</ol>
      ${this.note ? html`<p class="muted" dir="auto">${this.note}</p>` : nothing}`;
  }

  #match(agentId: string, { id, title, signals, included, reason }: Match): TemplateResult {
    const why = [
      signals.trigger !== undefined && say.byTrigger,
      signals.meaning !== undefined && say.byMeaning(signals.meaning.toFixed(2)),
    ].filter(Boolean);
    return html`<li>
      <a href=${hrefOf(["procedures", agentId, id.split("@")[0] ?? id])} dir="auto">${title}</a>
      <span class="muted">${why.join(", ")}</span> · <span class=${included ? "good" : "muted"}>${included ? say.followed : say.notFollowed(reason ?? "")}</span>
    </li>`;
  }

  async #loadAgents(): Promise<void> {
    try {
      this.agents = (await listAgents(this.context.api, this.left)).items.map(({ id }) => id);
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  #try = async (event: Event): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const agentId = String(form.get("agent") ?? "");
    const query = String(form.get("query") ?? "");
    if (!agentId || !query.trim() || this.isBusy) return;
    this.isBusy = true;
    this.problem = null;
    try {
      const { items, error } = await tryMessage(this.context.api, agentId, query, this.left);
      this.found = { agentId, items };
      this.note = error;
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
    this.isBusy = false;
  };
}

customElements.define("procedure-match", ProcedureMatch);
