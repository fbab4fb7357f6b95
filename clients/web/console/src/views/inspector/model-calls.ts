import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { count, duration } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { type Call, cachedShare } from "./context-record.ts";
import { inspectorTexts as say } from "./texts.ts";
import "../../components/text-viewer.ts";

const SHOWN_AT_FIRST = 50;

/** The calls of models of a turn: both counts of their tokens, the cached share, and the exact messages on demand. */
export class ModelCalls extends LitElement {
  static override properties = { calls: { attribute: false }, opened: { state: true }, isWhole: { state: true } };
  static override styles = [
    base,
    css`
      .scroll { overflow: auto; }
      table { border-collapse: collapse; inline-size: 100%; }
      th, td { text-align: start; padding: 6px 10px; border-block-end: 1px solid var(--border); white-space: nowrap; }
      td.number, th.number { text-align: end; font-variant-numeric: tabular-nums; }
      .messages { padding: 4px 10px 12px; white-space: normal; }
    `,
  ];
  declare calls: readonly Call[];
  protected declare opened: number | null;
  protected declare isWhole: boolean;

  constructor() {
    super();
    this.calls = [];
    this.opened = null;
    this.isWhole = false;
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("calls")) this.opened = null;
  }

  protected override render(): TemplateResult {
    const numbers = [say.estimate, say.counted, say.cached, texts.outputTokens, texts.took];
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${say.calls}><table>
      <thead><tr><th>${say.call}</th><th>${texts.agent}</th><th>${texts.model}</th>${numbers.map((each) => html`<th class="number">${each}</th>`)}<th>${texts.error}</th></tr></thead>
      <tbody>${this.calls.map((call, index) => this.#row(call, index))}</tbody>
    </table></div>`;
  }

  #row(call: Call, index: number): TemplateResult {
    const share = cachedShare(call);
    const cells = [
      count(call.estimatedTokens),
      `${count(call.inputTokens)}${off(call)}`,
      share === null ? "–" : `${count(call.cachedInputTokens)} (${Math.round(share * 100)} %)`,
      count(call.outputTokens),
      duration(call.durationMs),
    ];
    const isOpen = this.opened === index;
    return html`<tr>
        <td><button type="button" class="link" aria-expanded=${isOpen} @click=${() => this.#open(index)}>${index + 1}: ${say.messages}</button></td>
        <td dir="auto">${call.agentId}</td><td>${call.model ?? "–"}</td>
        ${cells.map((each) => html`<td class="number">${each}</td>`)}
        <td class="bad">${call.error ?? ""}</td>
      </tr>
      ${isOpen ? html`<tr><td class="messages" colspan="9">${this.#messages(call)}</td></tr>` : nothing}`;
  }

  #messages(call: Call): TemplateResult {
    const most = this.isWhole ? call.messages.length : SHOWN_AT_FIRST;
    return html`
      ${call.tools.length ? html`<p class="muted" dir="auto">${say.tools}: ${call.tools.join(", ")}</p>` : nothing}
      ${call.messages.slice(0, most).map(
        ({ role, content, ...more }) => html`<text-viewer .label=${role} .value=${content}></text-viewer>
          ${Object.keys(more).length ? html`<text-viewer .value=${more}></text-viewer>` : nothing}`,
      )}
      ${call.messages.length > most ? html`<button type="button" @click=${this.#showAll}>${say.more(call.messages.length - most)}</button>` : nothing}
    `;
  }

  #open(index: number): void {
    this.opened = this.opened === index ? null : index;
    this.isWhole = false;
  }

  #showAll = (): void => {
    this.isWhole = true;
  };
}

/** Says how far the estimate was off. */
function off({ estimatedTokens, inputTokens }: Call): string {
  if (!inputTokens) return "";
  const percent = Math.round((100 * (estimatedTokens - inputTokens)) / inputTokens);
  return percent ? ` (${percent > 0 ? "+" : ""}${percent} %)` : "";
}

customElements.define("model-calls", ModelCalls);
