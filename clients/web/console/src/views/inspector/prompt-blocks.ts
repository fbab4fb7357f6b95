import { css, html, LitElement, nothing, svg, type TemplateResult } from "lit";
import { count, duration, when } from "../../components/numbers.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { AgentPrompt, Block, Item } from "./context-record.ts";
import { inspectorTexts as say } from "./texts.ts";
import "../../components/text-viewer.ts";

const SHOWN_AT_FIRST = 50;

/** The prompt of one agent as stacked blocks, with each item. `choose` tells which items are to be left out. */
export class PromptBlocks extends LitElement {
  static override properties = {
    prompt: { attribute: false },
    budget: { attribute: false },
    chosen: { attribute: false },
    canChoose: { attribute: false },
    opened: { state: true },
    shown: { state: true },
  };
  static override styles = [
    base,
    css`
      svg { inline-size: 100%; block-size: 22px; border-radius: 6px; background: var(--surface); margin-block: 4px 10px; display: block; }
      .system { fill: #7c78e8; --mark: #7c78e8; } .procedure { fill: #2f9e8f; --mark: #2f9e8f; }
      .knowledge { fill: #3f8edb; --mark: #3f8edb; } .episodes { fill: #c27ba0; --mark: #c27ba0; }
      .history { fill: #d39b3a; --mark: #d39b3a; } .current { fill: #6aa84f; --mark: #6aa84f; }
      details.block { border: 1px solid var(--border); border-inline-start: 5px solid var(--mark); border-radius: var(--radius); margin-block: 6px; }
      summary { display: flex; flex-wrap: wrap; gap: 4px 14px; padding: 7px 12px; cursor: pointer; }
      ul { list-style: none; margin: 0; padding: 0 12px 10px; }
      li { border-block-start: 1px solid var(--border); padding-block: 8px; }
      li.out { border-inline-start: 3px dashed var(--border); padding-inline-start: 10px; }
      .facts { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; }
      .facts > * { overflow-wrap: anywhere; }
      .facts label { flex-direction: row; align-items: center; gap: 6px; }
      meter { inline-size: 70px; vertical-align: middle; }
      .empty { padding: 0 12px 8px; margin: 0; }
    `,
  ];
  declare prompt: AgentPrompt | null;
  declare budget: number | null;
  declare chosen: ReadonlySet<string>;
  declare canChoose: boolean;
  /** Blocks that are open: only their items are drawn. */
  protected declare opened: ReadonlySet<Block>;
  /** Blocks of which all items are shown. */
  protected declare shown: ReadonlySet<Block>;

  constructor() {
    super();
    this.prompt = null;
    this.budget = null;
    this.chosen = new Set();
    this.canChoose = false;
    this.opened = new Set();
    this.shown = new Set();
  }

  protected override render(): TemplateResult | typeof nothing {
    return this.prompt
      ? html`${this.#stack(this.prompt.blocks)}${this.prompt.blocks.map((each) => this.#block(each))}`
      : nothing;
  }

  #stack(blocks: readonly Block[]): TemplateResult {
    const used = blocks.reduce((sum, { tokens }) => sum + tokens, 0);
    const whole = Math.max(1, used, this.budget ?? 0);
    const said = blocks.map(({ kind, tokens }) => `${say.kinds[kind]}: ${count(tokens)}`).join(", ");
    let at = 0;
    return html`<p>${this.budget === null ? say.share(count(used)) : say.of(count(used), count(this.budget))}</p>
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=${`${say.stack}. ${said}`}>
        ${blocks.map(({ kind, tokens }) => {
          const x = at;
          at += (tokens / whole) * 1000;
          return svg`<rect class=${kind} x=${x} width=${at - x} height="10"></rect>`;
        })}
      </svg>`;
  }

  #block(block: Block): TemplateResult {
    const { kind, items, tokens, budget, durationMs, error } = block;
    const out = items.filter(({ included }) => !included).length;
    const most = this.shown.has(block) ? items.length : SHOWN_AT_FIRST;
    return html`<details class="block ${kind}" .open=${this.opened.has(block)} @toggle=${(event: Event) => this.#toggled(block, event)}>
      <summary>
        <strong>${say.kinds[kind]}</strong>
        <span>${say.share(count(tokens))}${budget ? ` (${say.upTo(count(budget))})` : ""}</span>
        ${durationMs === null ? nothing : html`<span class="muted">${duration(durationMs)}</span>`}
        ${out ? html`<span class="muted">${say.left(out)}</span>` : nothing}
        ${error ? html`<span class="bad" dir="auto">${error}</span>` : nothing}
      </summary>
      ${
        this.opened.has(block)
          ? html`<ul>${items.slice(0, most).map((each) => this.#item(kind, block.agentId, each))}</ul>
            ${items.length ? nothing : html`<p class="empty muted">${say.empty}</p>`}
            ${items.length > most ? html`<p class="empty"><button type="button" class="link" @click=${() => this.#showAll(block)}>${say.more(items.length - most)}</button></p>` : nothing}`
          : nothing
      }
    </details>`;
  }

  #item(kind: Block["kind"], agentId: string, item: Item): TemplateResult {
    const isSummary = kind === "system" && item.kind === "summary";
    return html`<li class=${item.included ? "" : "out"}>
      <div class="facts">
        ${item.number ? html`<span class="mono">[${item.number}]</span>` : nothing}
        <strong dir="auto">${isSummary ? say.summary : item.title}</strong>
        <span class="muted">${item.kind}</span>
        ${item.date ? html`<span class="muted">${when(item.date)}</span>` : nothing}
        ${item.tokens ? html`<span>${say.share(count(item.tokens))}</span>` : nothing}
        ${item.score === null ? nothing : html`<span>${say.score} <meter min="0" max="1" .value=${item.score} aria-label=${say.score}></meter> ${item.score.toFixed(3)}</span>`}
        ${Object.entries(item.signals).map(([name, value]) => html`<span class="muted mono">${name} ${value}</span>`)}
        ${item.included ? nothing : html`<span class="bad">${say.leftOut}: ${item.reason}</span>`}
        ${item.masked ? html`<span class="muted">${say.masked}</span>` : nothing}
        ${item.ambiguous ? html`<span class="muted">${say.ambiguous}</span>` : nothing}
        ${links(kind, agentId, item)}
        ${this.canChoose && item.id ? html`<label><input type="checkbox" .checked=${this.chosen.has(item.id)} @change=${() => this.#choose(item.id)} />${kind === "history" ? say.withoutTurn : say.without}</label>` : nothing}
      </div>
      <text-viewer .value=${item.text}></text-viewer>
    </li>`;
  }

  #toggled(block: Block, event: Event): void {
    const opened = new Set(this.opened);
    if ((event.target as HTMLDetailsElement).open) opened.add(block);
    else opened.delete(block);
    this.opened = opened;
  }

  #showAll(block: Block): void {
    this.shown = new Set(this.shown).add(block);
  }

  #choose(id: string): void {
    this.dispatchEvent(new CustomEvent("choose", { detail: id }));
  }
}

/** Links to where an item comes from. An address of a document is only followed if it is one of the web. */
function links(kind: Block["kind"], agentId: string, item: Item): TemplateResult {
  const { threadId, documentId, section, pages, url, messageIds = [], agentId: owner } = item.source ?? {};
  const place = [section, pages].filter(Boolean).join(", ");
  return html`
    ${documentId ? html`<a href=${hrefOf(["documents", owner ?? agentId])}>${say.document}</a>` : nothing}
    ${place ? html`<span class="muted" dir="auto">${place}</span>` : nothing}
    ${url && /^https?:\/\//i.test(url) ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${url}</a>` : nothing}
    ${kind === "procedure" && item.id ? html`<a href=${hrefOf(["procedures", owner ?? agentId, item.id])}>${say.procedure}</a>` : nothing}
    ${threadId ? html`<a href=${hrefOf(["threads", threadId], { at: messageIds[0] ? `message:${messageIds[0]}` : null })}>${texts.conversation}</a>` : nothing}
  `;
}

customElements.define("prompt-blocks", PromptBlocks);
