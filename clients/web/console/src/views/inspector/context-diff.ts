import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { base } from "../../styles/base.ts";
import { type AgentPrompt, itemChanges, promptText, systemText } from "./context-record.ts";
import { inspectorTexts as say } from "./texts.ts";
import "../../components/text-viewer.ts";

/** Characters of each prompt that are compared, so that a page with a prompt of 1 MB stays usable. */
const MAX_COMPARED = 200_000;

/** What differs between two prompts: items that came and went, and on demand their texts. */
export class ContextDiff extends LitElement {
  static override properties = {
    left: { attribute: false },
    right: { attribute: false },
    leftLabel: { attribute: false },
    rightLabel: { attribute: false },
    showsText: { state: true },
  };
  static override styles = [
    base,
    css`
      ul { list-style: none; padding: 0; margin: 0 0 10px; }
      li { border-block-end: 1px solid var(--border); padding-block: 6px; }
      .came::before { content: "+ "; } .went::before { content: "− "; }
    `,
  ];
  declare left: AgentPrompt | null;
  declare right: AgentPrompt | null;
  declare leftLabel: string;
  declare rightLabel: string;
  protected declare showsText: boolean;

  constructor() {
    super();
    this.left = null;
    this.right = null;
    this.leftLabel = "";
    this.rightLabel = "";
    this.showsText = false;
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("left") || changed.has("right")) this.showsText = false;
  }

  protected override render(): TemplateResult | typeof nothing {
    const { left, right } = this;
    if (!left || !right) return nothing;
    const changes = itemChanges(left, right);
    return html`
      ${changes.length ? nothing : html`<p>${say.itemsSame}</p>`}
      <ul>${changes.map(
        ({ change, kind, item }) => html`<li>
          <span class="${change} ${change === "came" ? "good" : "bad"}">${say[change]}</span>
          <strong>${say.kinds[kind]}</strong> <span class="muted" dir="auto">${item.title}</span>
          <text-viewer .value=${item.text}></text-viewer>
        </li>`,
      )}</ul>
      ${systemText(left) === systemText(right) ? html`<p class="muted">${say.systemSame}</p>` : nothing}
      ${this.showsText ? this.#texts(left, right) : html`<button type="button" @click=${this.#showTexts}>${say.showText}</button>`}
    `;
  }

  #texts(left: AgentPrompt, right: AgentPrompt): TemplateResult {
    const [before, after] = [promptText(left, MAX_COMPARED), promptText(right, MAX_COMPARED)];
    const isCut = Math.max(before.length, after.length) >= MAX_COMPARED;
    return html`${isCut ? html`<p class="muted">${say.cutText}</p>` : nothing}
      <console-diff .language=${"text"} .left=${before} .right=${after} .leftLabel=${this.leftLabel} .rightLabel=${this.rightLabel}></console-diff>`;
  }

  #showTexts = async (): Promise<void> => {
    await import("../../components/code-diff.ts");
    this.showsText = true;
  };
}

customElements.define("context-diff", ContextDiff);
