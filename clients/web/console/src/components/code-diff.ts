import { MergeView } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import { css, html, LitElement, type PropertyValues, type TemplateResult } from "lit";
import { type Language, setup } from "./code-setup.ts";

/** Two texts beside each other with what differs. The right one may be edited: `change` has it as its detail. */
export class ConsoleDiff extends LitElement {
  static override properties = {
    before: { attribute: false },
    after: { attribute: false },
    beforeLabel: { attribute: false },
    afterLabel: { attribute: false },
    language: { attribute: false },
    isEditable: { attribute: false },
  };
  static override styles = css`
    :host { display: block; min-inline-size: 0; }
    .names { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; font-size: 13px; color: var(--_muted); margin-block-end: 4px; }
    div.at { border: 1px solid var(--_border); border-radius: 8px; overflow: auto; max-block-size: var(--code-height, 65vh); }
  `;
  declare before: string;
  declare after: string;
  declare beforeLabel: string;
  declare afterLabel: string;
  declare language: Language;
  declare isEditable: boolean;
  #view: MergeView | undefined;
  #known = "";

  constructor() {
    super();
    this.before = "";
    this.after = "";
    this.beforeLabel = "";
    this.afterLabel = "";
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
    return html`<div class="names"><span dir="auto">${this.beforeLabel}</span><span dir="auto">${this.afterLabel}</span></div><div class="at"></div>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (this.#view && changed.size === 1 && changed.has("after") && this.after === this.#known) return;
    const parent = this.renderRoot.querySelector("div.at");
    if (!parent) return;
    this.#view?.destroy();
    this.#known = this.after;
    const told = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      this.#known = this.after = update.state.doc.toString();
      this.dispatchEvent(new CustomEvent("change", { detail: this.after }));
    });
    this.#view = new MergeView({
      a: { doc: this.before, extensions: setup(this.language, this.beforeLabel, true) },
      b: { doc: this.after, extensions: [...setup(this.language, this.afterLabel, !this.isEditable), told] },
      parent,
      root: this.renderRoot as ShadowRoot,
      collapseUnchanged: { margin: 3, minSize: 6 },
      gutter: true,
      ...(this.isEditable && { revertControls: "a-to-b" as const }),
    });
  }
}

customElements.define("console-diff", ConsoleDiff);
