import { html, type TemplateResult } from "lit";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";

export class UsersView extends View {
  protected override render(): TemplateResult {
    return html`<h1>${texts.users}</h1>`;
  }
}

customElements.define("console-users", UsersView);
