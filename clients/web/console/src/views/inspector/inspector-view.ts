import { css, html, nothing, type TemplateResult } from "lit";
import type { Page } from "../../api/console-api.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import type { Turn } from "../../api/shapes.ts";
import { when } from "../../components/numbers.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { type AgentPrompt, type ContextRecord, promptsOf } from "./context-record.ts";
import { inspectorTexts as say } from "./texts.ts";
import "../../components/problem-note.ts";
import "./context-diff.ts";
import "./model-calls.ts";
import "./prompt-blocks.ts";
import "./run-again.ts";

const TURNS = 100;
/** Pages of turns that are looked through for the one before: 5,000 turns. */
const MAX_PAGES = 50;
/** Stands before an agent's place in the record, where the left side of a comparison is in the same turn. */
const SAME_TURN = "prompt:";

/** One turn: what its models were sent and why, what differs from another turn, and what they would answer now. */
export class InspectorView extends View {
  static override properties = {
    ...View.properties,
    record: { state: true },
    turns: { state: true },
    other: { state: true },
    problem: { state: true },
    otherProblem: { state: true },
    without: { state: true },
    isReading: { state: true },
  };
  static override styles = [
    base,
    css`
      h1 { overflow-wrap: anywhere; }
      section { margin-block-end: 20px; }
      .note { border-inline-start: 4px solid var(--warning); padding-inline-start: 10px; }
    `,
  ];
  protected declare record: ContextRecord | null;
  protected declare turns: readonly Turn[];
  protected declare other: ContextRecord | null;
  protected declare problem: Problem | null;
  protected declare otherProblem: Problem | null;
  protected declare without: ReadonlySet<string>;
  protected declare isReading: boolean;
  #shown = "";
  #compared: string | null = null;
  #reading = new AbortController();

  constructor() {
    super();
    this.record = null;
    this.turns = [];
    this.other = null;
    this.problem = null;
    this.otherProblem = null;
    this.without = new Set();
    this.isReading = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
    this.#shown = "";
    this.#compared = null;
  }

  get #threadId(): string {
    return this.place.path[1] ?? "";
  }

  get #runId(): string {
    return this.place.path[3] ?? "";
  }

  protected override willUpdate(): void {
    const shown = `${this.#threadId} ${this.#runId}`;
    if (shown !== this.#shown) {
      this.#shown = shown;
      void this.#open();
    }
    const compared = this.place.parameters.diff ?? null;
    if (compared !== this.#compared) {
      this.#compared = compared;
      void this.#readOther(compared);
    }
  }

  protected override render(): TemplateResult {
    const turn = this.turns.find(({ runId }) => runId === this.#runId) ?? null;
    return html`
      <p><a href=${hrefOf(["threads", this.#threadId], { at: `turn:${this.#runId}` })}>${say.back}</a></p>
      <h1>${texts.inspector} <span class="muted mono">${this.#runId}</span></h1>
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#open()}></problem-note>
      ${this.isReading && !this.record ? html`<p role="status" class="muted">${texts.loading}</p>` : nothing}
      ${this.record ? this.#content(this.record) : nothing}
      ${
        this.isReading && !this.record && !this.problem
          ? nothing
          : html`<section aria-labelledby="again"><h2 id="again">${say.again}</h2>
            <run-again .context=${this.context} .threadId=${this.#threadId} .runId=${this.#runId} .messageId=${turn?.messageId ?? null} .record=${this.record} .without=${this.without}></run-again></section>`
      }
    `;
  }

  #content(record: ContextRecord): TemplateResult {
    const prompts = promptsOf(record);
    return html`
      <p class="muted">${when(record.recordedAt)}</p>
      ${record.redacted ? html`<p class="note">${say.redacted}</p>` : nothing}
      ${record.cut.length ? html`<p class="note">${say.cut(record.cut.join(", "))}</p>` : nothing}
      ${prompts.length ? nothing : html`<p>${say.noBlocks}</p>`}
      ${prompts.map(
        (prompt, index) => html`<section aria-labelledby=${`prompt-${index}`}>
          <h2 id=${`prompt-${index}`} dir="auto">${prompt.taskId === null ? say.prompt(prompt.agentId) : say.consulted(prompt.agentId)}</h2>
          <prompt-blocks .prompt=${prompt} .budget=${prompt === prompts.find(({ taskId }) => taskId === null) ? record.budget : null} .chosen=${this.without} .canChoose=${prompt.taskId === null} @choose=${this.#chosen}></prompt-blocks>
        </section>`,
      )}
      <section><h2>${say.calls}</h2>
        <model-calls .calls=${record.calls}></model-calls>
        ${record.callsLeftOut ? html`<p class="note">${say.callsLeftOut(record.callsLeftOut)}</p>` : nothing}
      </section>
      <section aria-labelledby="compare"><h2 id="compare">${say.compare}</h2>${this.#comparison(prompts)}</section>
    `;
  }

  #comparison(prompts: readonly AgentPrompt[]): TemplateResult {
    const others = this.turns.filter(({ runId }) => runId !== this.#runId);
    const right = prompts.findLast(({ taskId }) => taskId === null) ?? null;
    const earlier = prompts.filter((each) => each !== right && each.taskId === null);
    const before = this.#turnBefore;
    const chosen = this.place.parameters.diff ?? "";
    const left = chosen.startsWith(SAME_TURN)
      ? (earlier[Number(chosen.slice(SAME_TURN.length))] ?? null)
      : this.other
        ? (promptsOf(this.other).findLast(({ taskId }) => taskId === null) ?? null)
        : null;
    const option = (value: string, label: string) =>
      html`<option value=${value} ?selected=${value === chosen}>${label}</option>`;
    return html`
      <label>${say.compareWith}<select @change=${this.#compare}>
        ${option("", "–")}
        ${before ? option(before.runId, `${say.turnBefore} (${when(before.startedAt)})`) : nothing}
        ${earlier.map(({ agentId }, index) => option(`${SAME_TURN}${index}`, say.sameTurn(agentId)))}
        ${others.filter((each) => each !== before).map((each) => option(each.runId, `${when(each.startedAt)}, ${each.agentId ?? ""}`))}
      </select></label>
      ${before || earlier.length || others.length ? nothing : html`<p class="muted">${say.nothingBefore}</p>`}
      ${this.otherProblem?.status === 404 ? html`<p class="note">${say.gone}</p>` : html`<problem-note .problem=${this.otherProblem}></problem-note>`}
      ${left && right ? html`<context-diff .left=${left} .right=${right} .leftLabel=${left.agentId} .rightLabel=${right.agentId}></context-diff>` : nothing}
    `;
  }

  /** The turn before the one that is shown; the list has the newest first. */
  get #turnBefore(): Turn | null {
    const at = this.turns.findIndex(({ runId }) => runId === this.#runId);
    return at < 0 ? null : (this.turns[at + 1] ?? null);
  }

  async #open(): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.record = null;
    this.turns = [];
    this.problem = null;
    this.without = new Set();
    this.isReading = true;
    try {
      void this.#readTurns(signal);
      this.record = await this.api.get<ContextRecord>(
        ["threads", this.#threadId, "turns", this.#runId, "context"],
        {},
        signal,
      );
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
    if (!signal.aborted) this.isReading = false;
  }

  /** Reads the list of turns as far as the one before. Without it the record is shown all the same. */
  async #readTurns(signal: AbortSignal): Promise<void> {
    const found: Turn[] = [];
    let cursor: string | null = null;
    try {
      for (let pages = 0; pages < MAX_PAGES && !signal.aborted; pages++) {
        const page: Page<Turn> = await this.api.page<Turn>(
          ["threads", this.#threadId, "turns"],
          { limit: TURNS, cursor },
          signal,
        );
        found.push(...page.items);
        cursor = page.nextCursor;
        const at = found.findIndex(({ runId }) => runId === this.#runId);
        if (cursor === null || (at >= 0 && at + 1 < found.length)) break;
      }
      if (!signal.aborted) this.turns = found;
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.context.notify(problemOf(error).message);
    }
  }

  async #readOther(runId: string | null): Promise<void> {
    this.other = null;
    this.otherProblem = null;
    if (!runId || runId.startsWith(SAME_TURN)) return;
    try {
      const record = await this.api.get<ContextRecord>(
        ["threads", this.#threadId, "turns", runId, "context"],
        {},
        this.left,
      );
      if (this.#compared === runId) this.other = record;
    } catch (error) {
      if (this.#compared === runId && !isAborted(error)) this.otherProblem = problemOf(error);
    }
  }

  #compare = (event: Event): void => {
    this.remember({ diff: (event.target as HTMLSelectElement).value || null });
  };

  #chosen = (event: CustomEvent<string>): void => {
    const without = new Set(this.without);
    if (!without.delete(event.detail)) without.add(event.detail);
    this.without = without;
  };
}

customElements.define("console-inspector", InspectorView);
