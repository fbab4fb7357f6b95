import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class AgentsView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.agents}</h1>`;
  }
}

customElements.define("console-agents", AgentsView);
