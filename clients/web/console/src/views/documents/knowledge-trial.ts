import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import { base } from "../../styles/base.ts";
import type { ViewContext } from "../view.ts";
import { type FoundItem, search } from "./documents-api.ts";
import { documentTexts as say } from "./texts.ts";
import "../../components/problem-note.ts";

/** Tries what an agent finds in its documents for a question. */
export class KnowledgeTrial extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    items: { state: true },
    note: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      input { inline-size: 26rem; }
      ol { list-style: none; padding: 0; display: grid; gap: 8px; }
      li { border: 1px solid var(--border); border-radius: var(--radius); padding: 8px 12px; }
      blockquote { margin: 4px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 14rem; overflow: auto; }
    `,
  ];
  declare context: ViewContext;
  declare agentId: string;
  protected declare items: readonly FoundItem[] | null;
  protected declare note: string | null;
  protected declare problem: Problem | null;
  protected declare isBusy: boolean;

  constructor() {
    super();
    this.items = null;
    this.note = null;
    this.problem = null;
    this.isBusy = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("agentId")) this.items = null;
  }

  protected override render(): TemplateResult {
    return html`
      <h2>${say.tryRetrieval}</h2>
      <p class="muted">${say.tryAbout}</p>
      <form class="row" @submit=${this.#try}>
        <label>${say.question}<input name="query" required maxlength="20000" dir="auto" autocomplete="off" /></label>
        <button type="submit" ?disabled=${this.isBusy}>${say.find}</button>
      </form>
      <div role="status">${this.items ? this.#found(this.items) : nothing}</div>
      <problem-note .problem=${this.problem}></problem-note>
    `;
  }

  #found(items: readonly FoundItem[]): TemplateResult {
    return html`
      ${items.length ? html`<ol aria-label=${say.tryRetrieval}>${items.map((each) => this.#item(each))}</ol>` : html`<p class="muted">${say.nothing}</p>`}
      ${this.note ? html`<p class="muted" dir="auto">${this.note}</p>` : nothing}
    `;
  }

  #item({ text, score, signals, included, reason, source }: FoundItem): TemplateResult {
    const { title, library, section, page, lastPage } = source;
    const pages = page === null ? "" : say.page(page) + (lastPage !== null && lastPage !== page ? `–${lastPage}` : "");
    const where = [library, section && `${say.section} ${section}`, pages].filter(Boolean).join(" · ");
    const raw = Object.entries(signals).map(([name, value]) => `${name} ${value.toFixed(2)}`);
    return html`<li>
      <strong dir="auto">${title}</strong> <span class="muted" dir="auto">${where}</span><br />
      <small>${say.score(score.toFixed(2))} <span class="muted">(${raw.join(", ")})</span> · <span class=${included ? "good" : "muted"}>${included ? say.used : say.unused(reason ?? "")}</span></small>
      <blockquote dir="auto">${text}</blockquote>
    </li>`;
  }

  #try = async (event: Event): Promise<void> => {
    event.preventDefault();
    const query = String(new FormData(event.target as HTMLFormElement).get("query") ?? "");
    if (!query.trim() || this.isBusy) return;
    this.isBusy = true;
    this.problem = null;
    try {
      const { items, note } = await search(this.context.api, this.agentId, query, this.left);
      this.items = items;
      this.note = note;
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
    this.isBusy = false;
  };
}

customElements.define("knowledge-trial", KnowledgeTrial);
