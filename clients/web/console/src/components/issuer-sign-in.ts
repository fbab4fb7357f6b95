import { css, html, LitElement, type TemplateResult } from "lit";
import { base } from "../styles/base.ts";
import { texts } from "../texts.ts";

/** Says at which issuer people sign in; its button fires `sign-in`. */
export class IssuerSignIn extends LitElement {
  static override properties = { issuer: {}, problem: {} };
  static override styles = [
    base,
    css`
      section { display: grid; gap: 12px; max-inline-size: 420px; margin: 12vh auto; padding: 24px; border: 1px solid var(--border); border-radius: 16px; background: var(--raised); overflow-wrap: anywhere; }
      h1 { margin: 0; }
    `,
  ];
  declare issuer: string;
  declare problem: string;

  constructor() {
    super();
    this.issuer = "";
    this.problem = "";
  }

  protected override render(): TemplateResult {
    return html`<section aria-label=${texts.signIn}>
      <h1>${texts.console}</h1>
      <p class="muted">${texts.signInWith(new URL(this.issuer).host)}</p>
      <p class="bad" role="alert" dir="auto">${this.problem}</p>
      <button class="primary" type="button" @click=${() => this.dispatchEvent(new Event("sign-in"))}>${texts.signIn}</button>
    </section>`;
  }
}

customElements.define("issuer-sign-in", IssuerSignIn);
