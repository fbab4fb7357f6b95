import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class OverviewView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.overview}</h1>`;
  }
}

customElements.define("console-overview", OverviewView);
