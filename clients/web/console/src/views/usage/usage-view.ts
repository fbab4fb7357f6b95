import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { cost, count } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { added, type UsagePage } from "./usage.ts";
import "../../components/problem-note.ts";

const words = texts.inUsage;

/** What the tenant has used in a month, for a bill. */
export class UsageView extends View {
  static override properties = {
    ...View.properties,
    month: { state: true },
    total: { state: true },
    problem: { state: true },
  };
  static override styles = [
    base,
    css`
      dl { display: grid; grid-template-columns: auto auto; gap: 4px 16px; justify-content: start; }
      dd { margin: 0; text-align: end; }
      td + td, th + th { text-align: end; }
    `,
  ];
  /** As `2026-03`. */
  protected declare month: string;
  protected declare total: UsagePage | null;
  protected declare problem: Problem | null;
  #reading = 0;

  constructor() {
    super();
    this.month = new Date().toISOString().slice(0, 7);
    this.total = null;
    this.problem = null;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("context") && this.context && !this.total && !this.problem) void this.#load();
  }

  protected override render(): TemplateResult {
    const { total } = this;
    return html`
      <h1>${texts.usage}</h1>
      <p class="muted">${words.about}</p>
      <label>${words.month} <input type="month" .value=${this.month} @change=${this.#chosen} /></label>
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#load()}></problem-note>
      ${total ? this.#sums(total) : nothing}
      ${this.problem || (total && !total.nextCursor) ? nothing : html`<p class="muted" role="status">${words.counting}</p>`}
    `;
  }

  #sums(total: UsagePage): TemplateResult {
    return html`
      <dl>
        <dt>${words.turns}</dt><dd>${count(total.turns)}</dd>
        <dt>${words.failures}</dt><dd>${count(total.failures)}</dd>
        <dt>${words.input}</dt><dd>${count(total.inputTokens)}</dd>
        <dt>${words.cached}</dt><dd>${count(total.cachedInputTokens)}</dd>
        <dt>${words.output}</dt><dd>${count(total.outputTokens)}</dd>
        <dt>${words.cost}</dt><dd>${cost(total.cost)}</dd>
        ${total.meteredCost === null ? nothing : html`<dt>${words.metered}</dt><dd>${cost(total.meteredCost)}</dd>`}
        <dt>${words.storage}</dt><dd>${words.bytes(count(total.storage.bytes), count(total.storage.objects))}</dd>
      </dl>
      <table aria-label=${words.byAgent}>
        <thead><tr><th scope="col">${words.agent}</th><th scope="col">${words.turns}</th><th scope="col">${words.input}</th><th scope="col">${words.output}</th><th scope="col">${words.cost}</th></tr></thead>
        <tbody>${total.agents.map((agent) => html`<tr><td>${agent.agentId ?? "–"}</td><td>${count(agent.turns)}</td><td>${count(agent.inputTokens)}</td><td>${count(agent.outputTokens)}</td><td>${cost(agent.cost)}</td></tr>`)}</tbody>
      </table>
      <table aria-label=${words.byModel}>
        <thead><tr><th scope="col">${words.model}</th><th scope="col">${words.input}</th><th scope="col">${words.output}</th><th scope="col">${words.cost}</th></tr></thead>
        <tbody>${total.models.map((model) => html`<tr><td>${model.model || "–"}</td><td>${count(model.inputTokens)}</td><td>${count(model.outputTokens)}</td><td>${cost(model.cost)}</td></tr>`)}</tbody>
      </table>
    `;
  }

  #chosen = (event: Event): void => {
    this.month = (event.target as HTMLInputElement).value;
    if (this.month) void this.#load();
  };

  async #load(): Promise<void> {
    const reading = ++this.#reading;
    this.total = this.problem = null;
    try {
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: UsagePage = await this.api.get(["usage"], cursor ? { cursor } : { month: this.month }, this.left);
        if (reading !== this.#reading) return;
        this.total = added(this.total, page);
        cursor = page.nextCursor;
      }
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }
}

customElements.define("console-usage", UsageView);
