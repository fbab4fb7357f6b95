import { css, html, LitElement, type TemplateResult } from "lit";
import { problemOf } from "../../api/problem.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";

/** Says something in a conversation of one's own; its answer appears in the timeline. */
export class SandboxComposer extends LitElement {
  static override properties = {
    context: { attribute: false },
    threadId: { attribute: false },
    draft: { attribute: false },
    isSending: { state: true },
  };
  static override styles = [
    base,
    css`
      form { display: grid; grid-template-columns: minmax(0, 1fr) max-content; gap: 8px; margin-block-start: 12px; align-items: end; }
      textarea { inline-size: 100%; min-block-size: 60px; resize: vertical; }
    `,
  ];
  declare context: ViewContext;
  declare threadId: string;
  /** What the field holds at first. */
  declare draft: string;
  protected declare isSending: boolean;
  /** What was sent last, with its id: sent again after a failure, it is the same message, and answered once. */
  #sent = { message: "", messageId: "" };

  constructor() {
    super();
    this.draft = "";
    this.isSending = false;
  }

  protected override render(): TemplateResult {
    return html`<form @submit=${this.#submitted}>
      <label>${texts.sayInSandbox}<textarea name="message" required dir="auto" ?readonly=${this.isSending} .value=${this.draft}></textarea></label>
      <button type="submit" class="primary" ?disabled=${this.isSending}>${this.isSending ? texts.answering : texts.send}</button>
    </form>`;
  }

  #submitted = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const message = String(new FormData(form).get("message") ?? "").trim();
    if (!message) return;
    this.isSending = true;
    try {
      if (this.#sent.message !== message) this.#sent = { message, messageId: crypto.randomUUID() };
      const body = { sessionId: this.threadId, ...this.#sent };
      await this.context.api.request(["messages"], { method: "POST", body });
      this.#sent = { message: "", messageId: "" };
      form.reset();
      this.draft = "";
    } catch (error) {
      this.context.notify(problemOf(error).message);
    }
    this.isSending = false;
    this.dispatchEvent(new Event("answered"));
  };
}

customElements.define("sandbox-composer", SandboxComposer);
