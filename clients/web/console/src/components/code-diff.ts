import { MergeView } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import { css, html, LitElement, type PropertyValues, type TemplateResult } from "lit";
import { type Language, setup } from "./code-setup.ts";

/** Two texts beside each other with what differs. The right one may be edited: `change` has it as its detail. */
export class ConsoleDiff extends LitElement {
  static override properties = {
    left: { attribute: false },
    right: { attribute: false },
    leftLabel: { attribute: false },
    rightLabel: { attribute: false },
    language: { attribute: false },
    isEditable: { attribute: false },
  };
  static override styles = css`
    :host { display: block; min-inline-size: 0; }
    .names { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; font-size: 13px; color: var(--muted); margin-block-end: 4px; }
    div.at { border: 1px solid var(--border); border-radius: 8px; overflow: auto; max-block-size: var(--code-height, 65vh); }
  `;
  declare left: string;
  declare right: string;
  declare leftLabel: string;
  declare rightLabel: string;
  declare language: Language;
  declare isEditable: boolean;
  #view: MergeView | undefined;
  #known = "";

  constructor() {
    super();
    this.left = "";
    this.right = "";
    this.leftLabel = "";
    this.rightLabel = "";
    this.language = "yaml";
    this.isEditable = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.requestUpdate("language");
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#view?.destroy();
    this.#view = undefined;
  }

  protected override render(): TemplateResult {
    return html`<div class="names"><span dir="auto">${this.leftLabel}</span><span dir="auto">${this.rightLabel}</span></div><div class="at"></div>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (this.#view && changed.size === 1 && changed.has("right") && this.right === this.#known) return;
    const parent = this.renderRoot.querySelector("div.at");
    if (!parent) return;
    this.#view?.destroy();
    this.#known = this.right;
    const told = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      this.#known = this.right = update.state.doc.toString();
      this.dispatchEvent(new CustomEvent("change", { detail: this.right }));
    });
    this.#view = new MergeView({
      a: { doc: this.left, extensions: setup(this.language, this.leftLabel, true) },
      b: { doc: this.right, extensions: [...setup(this.language, this.rightLabel, !this.isEditable), told] },
      parent,
      root: this.renderRoot as ShadowRoot,
      collapseUnchanged: { margin: 3, minSize: 6 },
      gutter: true,
      ...(this.isEditable && { revertControls: "a-to-b" as const }),
    });
  }
}

customElements.define("console-diff", ConsoleDiff);
