import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { base } from "../../styles/base.ts";
import type { Procedure } from "./procedures-api.ts";
import { procedureTexts as say } from "./texts.ts";

/** What a version of a procedure says. */
export class ProcedureContent extends LitElement {
  static override properties = { procedure: { attribute: false } };
  static override styles = [
    base,
    css`
      h3 { font-size: 13px; color: var(--muted); margin: 12px 0 4px; font-weight: 550; }
      ul, ol { margin: 0; padding-inline-start: 22px; }
      li { margin-block: 4px; overflow-wrap: anywhere; }
      small { display: block; color: var(--muted); }
    `,
  ];
  declare procedure: Procedure;

  protected override render(): TemplateResult {
    const { description, triggers, steps, allowedTools } = this.procedure;
    return html`
      <h2>${say.draft}</h2>
      <p dir="auto">${description}</p>
      <h3>${say.triggers}</h3>
      <ul>${triggers.map((each) => html`<li dir="auto"><code>${each}</code></li>`)}</ul>
      <h3>${say.steps}</h3>
      <ol>${steps.map(({ text, condition }) => html`<li dir="auto">${text}${condition ? html`<small>(${condition})</small>` : nothing}</li>`)}</ol>
      <h3>${say.tools}</h3>
      <p>${allowedTools.length ? allowedTools.map((each) => html`<code>${each}</code> `) : say.allTools}</p>
    `;
  }
}

customElements.define("procedure-content", ProcedureContent);
