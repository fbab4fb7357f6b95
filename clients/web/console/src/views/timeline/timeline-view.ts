import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class TimelineView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.threads}</h1>`;
  }
}

customElements.define("console-timeline", TimelineView);
