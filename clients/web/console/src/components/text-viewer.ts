import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { base } from "../styles/base.ts";

const SHOWN_AT_FIRST = 4_000;

/** Returns any JSON value as readable text; text that is JSON itself is laid out. */
export function readable(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  if (!/^\s*[[{]/.test(value) || value.length > 200_000) return value;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

/** Shows a value as text, never as HTML. Of a long one the beginning, until all of it is asked for. */
export class TextViewer extends LitElement {
  static override properties = { value: { attribute: false }, label: {}, isWhole: { state: true } };
  static override styles = [
    base,
    css`
      h3 { font-size: 12.5px; font-weight: 550; color: var(--muted); margin: 10px 0 2px; }
      pre { margin: 0; padding: 8px 10px; border: 1px solid var(--border); border-radius: 8px; background: var(--surface); white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 60vh; overflow: auto; unicode-bidi: plaintext; }
    `,
  ];
  declare value: unknown;
  declare label: string;
  protected declare isWhole: boolean;

  constructor() {
    super();
    this.label = "";
    this.isWhole = false;
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("value")) this.isWhole = false;
  }

  protected override render(): TemplateResult | typeof nothing {
    const text = readable(this.value);
    if (!text) return nothing;
    const isCut = !this.isWhole && text.length > SHOWN_AT_FIRST;
    return html`
      ${this.label ? html`<h3>${this.label}</h3>` : nothing}
      <pre tabindex="0" aria-label=${this.label || nothing}>${isCut ? `${text.slice(0, SHOWN_AT_FIRST)}…` : text}</pre>
      ${isCut ? html`<button type="button" class="link" @click=${this.#showAll}>${`Show all ${text.length.toLocaleString("en")} characters`}</button>` : nothing}
    `;
  }

  #showAll = (): void => {
    this.isWhole = true;
  };
}

customElements.define("text-viewer", TextViewer);
