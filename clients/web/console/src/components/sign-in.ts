import { css, html, LitElement, type TemplateResult } from "lit";
import { ALL_PERMISSIONS } from "../permissions.ts";
import type { LocalIdentity } from "../session/local-session.ts";
import { base } from "../styles/base.ts";
import { texts } from "../texts.ts";

/** The proposed permissions. No view needs `skill:create`, but agents that require it are listed only with it. */
const PROPOSED = [...ALL_PERMISSIONS, "skill:create"];

/** Asks who one wants to be in the local cloud; fires `identity`. */
export class SignIn extends LitElement {
  static override properties = { problem: {} };
  static override styles = [
    base,
    css`
      form { display: grid; gap: 12px; max-inline-size: 420px; margin: 12vh auto; padding: 24px; border: 1px solid var(--border); border-radius: 16px; background: var(--raised); }
      h1 { margin: 0; }
    `,
  ];
  declare problem: string;

  constructor() {
    super();
    this.problem = "";
  }

  protected override render(): TemplateResult {
    return html`<form @submit=${this.#submitted}>
      <h1>${texts.console}</h1>
      <label>${texts.tenant}<input name="tenant" required pattern="[a-z0-9][a-z0-9_\\-]{0,62}" value="demo" spellcheck="false" autocomplete="off" /></label>
      <label>${texts.user}<input name="user" required maxlength="256" value="admin" spellcheck="false" autocomplete="off" /></label>
      <label>${texts.shownName}<input name="name" maxlength="100" autocomplete="off" /></label>
      <label>${texts.picture}<input name="picture" type="url" pattern="https://.*" maxlength="1000" spellcheck="false" autocomplete="off" /></label>
      <label>${texts.permissions}<textarea name="permissions" rows="4" spellcheck="false">${PROPOSED.join(" ")}</textarea></label>
      <p class="bad" role="alert">${this.problem}</p>
      <button class="primary" type="submit">${texts.signIn}</button>
    </form>`;
  }

  #submitted = (event: SubmitEvent): void => {
    event.preventDefault();
    const fields = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => String(fields.get(name) ?? "").trim();
    const detail: LocalIdentity = {
      tenant: text("tenant"),
      user: text("user"),
      permissions: text("permissions"),
      name: text("name") || undefined,
      picture: text("picture") || undefined,
    };
    this.dispatchEvent(new CustomEvent("identity", { detail }));
  };
}

customElements.define("sign-in", SignIn);
