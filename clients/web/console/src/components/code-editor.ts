import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { css, html, LitElement, type PropertyValues, type TemplateResult } from "lit";
import { type Help, helping, type Language, setup } from "./code-setup.ts";

/** What is wrong, and in which line (from 1; null: somewhere). */
export interface LineProblem {
  readonly line: number | null;
  readonly message: string;
}

/** What an editor is made anew for. */
const SETUP = ["language", "label", "isReadOnly", "help"] as const;

/** A text in an editor. Tells `change` with the text as its detail, once for each change that a person makes. */
export class ConsoleCode extends LitElement {
  static override properties = {
    value: { attribute: false },
    language: { attribute: false },
    label: { attribute: false },
    isReadOnly: { attribute: false },
    problems: { attribute: false },
    help: { attribute: false },
  };
  static override styles = css`
    :host { display: block; min-inline-size: 0; }
    div.at { display: grid; border: 1px solid var(--border); border-radius: 8px; overflow: hidden; }
    .cm-editor { max-block-size: var(--code-height, 65vh); min-block-size: 8rem; }
  `;
  declare value: string;
  declare language: Language;
  declare label: string;
  declare isReadOnly: boolean;
  declare problems: readonly LineProblem[];
  declare help: Help;
  #view: EditorView | undefined;
  /** The text that was told or given last, so that neither comes back. */
  #known = "";

  constructor() {
    super();
    this.value = "";
    this.language = "yaml";
    this.label = "";
    this.isReadOnly = false;
    this.problems = [];
    this.help = {};
  }

  override focus(): void {
    this.#view?.focus();
  }

  /** Puts the cursor at the beginning of a line, and shows it. */
  showLine(line: number): void {
    const view = this.#view;
    if (!view) return;
    const { from } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#view?.destroy();
    this.#view = undefined;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.requestUpdate("label");
  }

  protected override render(): TemplateResult {
    return html`<div class="at"></div>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    const isAnother = SETUP.some((name) => changed.has(name));
    if (!this.#view || isAnother) this.#open();
    else if (changed.has("value") && this.value !== this.#known) this.#replace(this.value);
    if (changed.has("problems") || isAnother) this.#mark();
  }

  #open(): void {
    const parent = this.renderRoot.querySelector("div.at");
    if (!parent) return;
    this.#view?.destroy();
    this.#known = this.value;
    const told = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      const text = update.state.doc.toString();
      if (text === this.#known) return;
      this.#known = this.value = text;
      this.dispatchEvent(new CustomEvent("change", { detail: text }));
    });
    const extensions = [...setup(this.language, this.label, this.isReadOnly), ...helping(this.help), told];
    this.#view = new EditorView({
      state: EditorState.create({ doc: this.value, extensions }),
      parent,
      root: this.renderRoot as ShadowRoot,
    });
  }

  #replace(text: string): void {
    this.#known = text;
    this.#view?.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  #mark(): void {
    const view = this.#view;
    if (!view) return;
    const { doc } = view.state;
    const marks: Diagnostic[] = this.problems.map(({ line, message }) => {
      const at = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
      return { from: at.from, to: at.to, severity: "error", message };
    });
    view.dispatch(setDiagnostics(view.state, marks));
  }
}

customElements.define("console-code", ConsoleCode);
