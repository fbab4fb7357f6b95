import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import type { Problem } from "../api/problem.ts";
import { base } from "../styles/base.ts";
import { texts } from "../texts.ts";

/** Says what went wrong, in the server's words; `retry` is fired by its button. */
export class ProblemNote extends LitElement {
  static override properties = { problem: { attribute: false }, canRetry: { type: Boolean } };
  static override styles = [
    base,
    css`
      div { border: 1px solid var(--danger); border-radius: var(--radius); padding: 10px 14px; margin-block: 8px; overflow-wrap: anywhere; }
      p { margin: 0; }
    `,
  ];
  declare problem: Problem | null;
  declare canRetry: boolean;

  protected override render(): TemplateResult | typeof nothing {
    if (!this.problem) return nothing;
    const { message, code, requestId } = this.problem;
    return html`<div role="alert">
      <p dir="auto">${message}</p>
      <p class="muted"><code>${code}</code>${requestId ? html` · <code>${texts.requestId(requestId)}</code>` : nothing}</p>
      ${this.canRetry ? html`<button type="button" @click=${() => this.dispatchEvent(new Event("retry"))}>${texts.retry}</button>` : nothing}
    </div>`;
  }
}

customElements.define("problem-note", ProblemNote);
