import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class DocumentsView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.documents}</h1>`;
  }
}

customElements.define("console-documents", DocumentsView);
