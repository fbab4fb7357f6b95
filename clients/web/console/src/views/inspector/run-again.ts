import { css, html, nothing, type TemplateResult } from "lit";
import type { Page } from "../../api/console-api.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import type { Message } from "../../api/shapes.ts";
import { count, duration } from "../../components/numbers.ts";
import { PageElement } from "../../components/page-element.ts";
import { base } from "../../styles/base.ts";
import type { ViewContext } from "../view.ts";
import { type AgentPrompt, type ContextRecord, promptsOf, type Rerun } from "./context-record.ts";
import { inspectorTexts as say } from "./texts.ts";
import "../../components/problem-note.ts";
import "../../components/text-viewer.ts";
import "./context-diff.ts";
import "./model-calls.ts";
import "./prompt-blocks.ts";

/** A dry run may take as long as the server lets it. */
const RERUN_MS = 250_000;
const MESSAGES = 100;

/** Runs a turn again as a dry run, and shows both answers beside each other and what differs in the prompts. */
export class RunAgain extends PageElement {
  static override properties = {
    context: { attribute: false },
    threadId: { attribute: false },
    runId: { attribute: false },
    messageId: { attribute: false },
    record: { attribute: false },
    without: { attribute: false },
    rerun: { state: true },
    answered: { state: true },
    problem: { state: true },
    isRunning: { state: true },
  };
  static override styles = [
    base,
    css`
      .answers { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px; margin-block: 12px; }
      @media (max-width: 800px) { .answers { grid-template-columns: minmax(0, 1fr); } }
      h3 { font-size: 14px; margin: 14px 0 4px; }
      ul { padding-inline-start: 18px; }
    `,
  ];
  declare context: ViewContext;
  declare threadId: string;
  declare runId: string;
  declare messageId: string | null;
  declare record: ContextRecord | null;
  declare without: ReadonlySet<string>;
  protected declare rerun: Rerun | null;
  protected declare answered: string | null;
  protected declare problem: Problem | null;
  protected declare isRunning: boolean;

  constructor() {
    super();
    this.threadId = "";
    this.runId = "";
    this.messageId = null;
    this.record = null;
    this.without = new Set();
    this.rerun = null;
    this.answered = null;
    this.problem = null;
    this.isRunning = false;
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (!changed.has("runId") && !changed.has("threadId")) return;
    this.askAnew();
    this.rerun = null;
    this.answered = null;
    this.problem = null;
    this.isRunning = false;
  }

  protected override render(): TemplateResult {
    const models = [...new Set(this.record?.calls.map(({ model }) => model).filter((each) => each !== null) ?? [])];
    return html`
      <p class="muted">${say.againAbout}</p>
      <form class="row" @submit=${this.#submitted}>
        <label>${say.model}<input name="model" list="models" maxlength="256" autocomplete="off" spellcheck="false" placeholder=${say.ownModel} /></label>
        <datalist id="models">${models.map((each) => html`<option value=${each}></option>`)}</datalist>
        <label>${say.version}<input name="version" type="number" min="1" step="1" placeholder=${say.today} /></label>
        <button class="primary" type="submit" ?disabled=${this.isRunning}>${say.run}</button>
        <span class="muted">${say.items(this.without.size)}</span>
      </form>
      <p role="status" class="muted">${this.isRunning ? say.running : ""}</p>
      <problem-note .problem=${this.problem}></problem-note>
      ${this.rerun ? this.#result(this.rerun) : nothing}
    `;
  }

  #result(rerun: Rerun): TemplateResult {
    const now = own(rerun.context);
    const then = this.record ? own(this.record) : null;
    return html`
      <div class="answers">
        <section><h3>${say.earlier}</h3><text-viewer .value=${this.answered || say.noAnswer}></text-viewer></section>
        <section><h3>${say.now} <span class="muted">(${[rerun.model, say.took(duration(rerun.durationMs), count(rerun.usage.totalTokens))].filter(Boolean).join(", ")})</span></h3>
          <text-viewer .value=${rerun.answer || say.noAnswer}></text-viewer></section>
      </div>
      ${
        rerun.toolCalls.length
          ? html`<h3>${say.toolCalls}</h3><ul>${rerun.toolCalls.map(
              (
                call,
              ) => html`<li><code>${call.toolName}</code> <span class=${call.isRecorded ? "good" : "muted"}>${say.outcomes[call.outcome] ?? call.outcome}</span>
                <text-viewer .value=${call.input}></text-viewer><text-viewer .value=${call.output}></text-viewer></li>`,
            )}</ul>`
          : nothing
      }
      ${then && now ? html`<h3>${say.contextDiffers}</h3><context-diff .left=${then} .right=${now} .leftLabel=${say.earlier} .rightLabel=${say.now}></context-diff>` : nothing}
      ${now ? html`<h3>${say.prompt(now.agentId)}</h3><prompt-blocks .prompt=${now} .budget=${rerun.context.budget}></prompt-blocks>` : nothing}
      <h3>${say.calls}</h3><model-calls .calls=${rerun.context.calls}></model-calls>
    `;
  }

  #submitted = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (this.isRunning) return;
    const form = new FormData(event.target as HTMLFormElement);
    const model = String(form.get("model") ?? "").trim();
    const version = Number(form.get("version") || 0);
    const signal = this.left;
    this.isRunning = true;
    this.problem = null;
    this.rerun = null;
    try {
      const body = {
        ...(model && { model }),
        ...(version && { agentVersion: version }),
        ...(this.messageId && { messageId: this.messageId }),
        without: [...this.without],
      };
      const path = ["threads", this.threadId, "turns", this.runId, "rerun"];
      const [{ value }, answered] = await Promise.all([
        this.context.api.request<Rerun>(path, { method: "POST", body, signal, timeoutMs: RERUN_MS }),
        this.#answerOfThen(signal),
      ]);
      if (signal.aborted) return;
      this.answered = answered;
      this.rerun = value;
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
    if (!signal.aborted) this.isRunning = false;
  };

  /** Reads what the turn's agents said, as far back as the conversation's newest thousands of messages. */
  async #answerOfThen(signal: AbortSignal): Promise<string> {
    const said: string[] = [];
    let cursor: string | null = null;
    for (let pages = 0; pages < 50; pages++) {
      const page: Page<Message> = await this.context.api.page<Message>(
        ["threads", this.threadId, "messages"],
        { limit: MESSAGES, cursor },
        signal,
      );
      const own = page.items.filter(({ metadata }) => metadata.runId === this.runId);
      said.unshift(
        ...own
          .filter(({ role }) => role === "assistant")
          .map(({ content }) => (typeof content === "string" ? content : "")),
      );
      if (page.nextCursor === null || (said.length && page.items[0]?.metadata.runId !== this.runId)) break;
      cursor = page.nextCursor;
    }
    return said.filter(Boolean).join("\n\n");
  }
}

/** The prompt of the agent that answered last, itself and not as a consulted one. */
function own(record: ContextRecord): AgentPrompt | null {
  return promptsOf(record).findLast(({ taskId }) => taskId === null) ?? null;
}

customElements.define("run-again", RunAgain);
