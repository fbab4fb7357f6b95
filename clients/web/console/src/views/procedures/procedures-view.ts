import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class ProceduresView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.procedures}</h1>`;
  }
}

customElements.define("console-procedures", ProceduresView);
