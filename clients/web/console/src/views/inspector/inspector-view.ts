import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class InspectorView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.inspector}</h1>`;
  }
}

customElements.define("console-inspector", InspectorView);
