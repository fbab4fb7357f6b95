import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class LimitsView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.limits}</h1>`;
  }
}

customElements.define("console-limits", LimitsView);
