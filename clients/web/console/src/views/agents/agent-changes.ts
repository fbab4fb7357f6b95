import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { base } from "../../styles/base.ts";
import type { AgentChange } from "./agents-api.ts";
import { agentTexts as say } from "./texts.ts";

const LONGEST = 4_000;

/** What saving a definition would change, field by field. */
export class AgentChanges extends LitElement {
  static override properties = { change: { attribute: false } };
  static override styles = [
    base,
    css`
      .frame { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
      table { border-collapse: collapse; inline-size: 100%; table-layout: fixed; }
      th, td { text-align: start; padding: 6px 10px; vertical-align: top; border-block-end: 1px solid var(--border); }
      th { color: var(--muted); font-weight: 550; font-size: 12.5px; }
      tr:last-child > * { border-block-end: 0; }
      pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 14rem; overflow: auto; }
    `,
  ];
  declare change: AgentChange;

  protected override render(): TemplateResult {
    const { changes, warnings } = this.change;
    return html`
      ${warnings.length ? html`<h2>${say.warnings}</h2><ul>${warnings.map((each) => html`<li dir="auto">${each}</li>`)}</ul>` : nothing}
      ${
        changes.length
          ? html`<h2>${say.changes}</h2><div class="frame" tabindex="0" role="region" aria-label=${say.changes}><table>
        <thead><tr><th scope="col">${say.field}</th><th scope="col">${say.before}</th><th scope="col">${say.after}</th></tr></thead>
        <tbody>${changes.map(({ field, before, after }) => html`<tr><th scope="row"><code>${field}</code></th><td><pre>${shown(before)}</pre></td><td><pre>${shown(after)}</pre></td></tr>`)}</tbody>
      </table></div>`
          : nothing
      }
    `;
  }
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "—";
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}

customElements.define("agent-changes", AgentChanges);
