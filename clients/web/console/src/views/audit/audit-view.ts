import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class AuditView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.audit}</h1>`;
  }
}

customElements.define("console-audit", AuditView);
