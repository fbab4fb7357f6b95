import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class CompareView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.compare}</h1>`;
  }
}

customElements.define("console-compare", CompareView);
