import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { type Problem, problemOf } from "../../api/problem.ts";
import type { ToolCall } from "../../api/shapes.ts";
import { cost, count, duration, when } from "../../components/numbers.ts";
import { hrefOf, placeOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { beginning, textOf } from "../timeline/items.ts";
import { View } from "../view.ts";
import { type Run, readRun } from "./run.ts";
import "../../components/problem-note.ts";
import "../../components/text-viewer.ts";

type Side = "left" | "right";
const SIDES: readonly Side[] = ["left", "right"];
const MAX_CALLS = 100;

/** Two runs side by side: how they went, what was asked, what agents did, and what they said. */
export class CompareView extends View {
  static override properties = { ...View.properties, runs: { state: true }, problems: { state: true } };
  static override styles = [
    base,
    css`
      .sides { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 20px; align-items: start; }
      section { border: 1px solid var(--border); border-radius: var(--radius); padding: 12px 14px; background: var(--raised); min-inline-size: 0; }
      h2 { margin-block-start: 0; }
      dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 12px; margin: 0 0 8px; }
      dt { color: var(--muted); }
      dd { margin: 0; overflow-wrap: anywhere; }
      .differs { font-weight: 600; color: var(--warning); }
      form { display: flex; gap: 8px; align-items: end; flex-wrap: wrap; }
      details { margin-block: 6px; overflow-wrap: anywhere; }
      @media (max-width: 900px) { .sides { grid-template-columns: minmax(0, 1fr); } }
    `,
  ];
  protected declare runs: Readonly<Partial<Record<Side, Run>>>;
  protected declare problems: Readonly<Partial<Record<Side, Problem>>>;
  readonly #asked: Partial<Record<Side, string>> = {};

  constructor() {
    super();
    this.runs = {};
    this.problems = {};
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("place")) return;
    for (const side of SIDES) {
      const place = this.place.parameters[side] ?? "";
      if (place === (this.#asked[side] ?? "")) continue;
      this.#asked[side] = place;
      this.runs = { ...this.runs, [side]: undefined };
      this.problems = { ...this.problems, [side]: undefined };
      if (place) void this.#read(side, place);
    }
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.compare}</h1>
      <div class="sides">${SIDES.map((side) => html`<section aria-label=${texts[side]}>${this.#side(side)}</section>`)}</div>
    `;
  }

  #side(side: Side): TemplateResult {
    const run = this.runs[side];
    const problem = this.problems[side];
    if (!this.place.parameters[side]) return this.#choice(side);
    if (problem) return html`<problem-note .problem=${problem}></problem-note>${this.#choice(side)}`;
    if (!run) return html`<p class="muted" role="status">${texts.loading}</p>`;
    const other = this.runs[side === "left" ? "right" : "left"];
    return html`
      <h2><a href=${hrefOf(["threads", run.threadId], { at: `turn:${run.turn.runId}` })}>${when(run.turn.startedAt)}</a></h2>
      ${this.#facts(run, other)}
      ${this.may("context:inspect") ? html`<p><a href=${hrefOf(["threads", run.threadId, "turns", run.turn.runId])}>${texts.inspect}</a></p>` : nothing}
      ${run.messages.filter((each) => each.role === "user").map((each) => html`<text-viewer label=${texts.question} .value=${textOf(each)}></text-viewer>`)}
      ${run.calls.slice(0, MAX_CALLS).map(callOf)}
      ${run.messages.filter((each) => each.role === "assistant" && textOf(each)).map((each) => html`<text-viewer label=${each.metadata.agentName ?? texts.answer} .value=${textOf(each)}></text-viewer>`)}
      <button type="button" @click=${() => this.remember({ [side]: null })}>${texts.chooseAnother}</button>
    `;
  }

  /** Tells how a run went; what is otherwise on the other side stands out. */
  #facts(run: Run, other: Run | undefined): TemplateResult {
    const theirs = other ? new Map(factsOf(other)) : null;
    return html`<dl>${factsOf(run).map(([name, value]) => {
      const differs = theirs !== null && theirs.get(name) !== value;
      return html`<dt>${name}</dt><dd dir="auto" class=${differs ? "differs" : ""}>${value}${differs ? html`<span class="unseen"> (${texts.differs})</span>` : nothing}</dd>`;
    })}</dl>`;
  }

  #choice(side: Side): TemplateResult {
    return html`<form @submit=${(event: SubmitEvent) => this.#chosen(event, side)}>
      <label>${texts.pasteLink}<input name="link" required spellcheck="false" autocomplete="off" size="40" /></label>
      <button type="submit" class="primary">${texts.show}</button>
    </form>`;
  }

  /** Takes a link to a turn, in the timeline or the inspector, or `thread/run`. */
  #chosen(event: SubmitEvent, side: Side): void {
    event.preventDefault();
    const place = runAt(String(new FormData(event.target as HTMLFormElement).get("link") ?? "").trim());
    if (place) this.remember({ [side]: place });
    else this.context.notify(texts.noRunInLink);
  }

  async #read(side: Side, place: string): Promise<void> {
    try {
      const run = await readRun(this.api, place, this.left);
      if (this.#asked[side] === place) this.runs = { ...this.runs, [side]: run };
    } catch (error) {
      if (!this.left.aborted && this.#asked[side] === place) {
        this.problems = { ...this.problems, [side]: problemOf(error) };
      }
    }
  }
}

/** Returns the run that a link leads to, as `thread/run`; null for anything else. */
export function runAt(link: string): string | null {
  if (/^[^/#\s]+\/[^/#\s]+$/.test(link)) return link;
  const { path, parameters } = placeOf(link.slice(Math.max(0, link.indexOf("#"))));
  const [root, threadId, turns, runId] = path;
  if (root !== "threads" || !threadId) return null;
  if (turns === "turns" && runId) return `${threadId}/${runId}`;
  const at = parameters.at ?? "";
  return at.startsWith("turn:") ? `${threadId}/${at.slice(5)}` : null;
}

function factsOf({ turn, calls, tasks }: Run): readonly (readonly [string, string])[] {
  const took = turn.startedAt && turn.endedAt ? Date.parse(turn.endedAt) - Date.parse(turn.startedAt) : null;
  return [
    [texts.agent, turn.agentId ?? "–"],
    [texts.status, turn.errorCode ? `${turn.status} (${turn.errorCode})` : turn.status],
    [texts.model, turn.model ?? "–"],
    [texts.firstToken, duration(turn.firstTokenMs)],
    [texts.took, duration(took)],
    [texts.inputTokens, count(turn.usage.inputTokens)],
    [texts.outputTokens, count(turn.usage.outputTokens)],
    [texts.cost, cost(turn.cost)],
    [texts.calls, count(calls.length)],
    [texts.subTasks, count(tasks.length)],
  ];
}

function callOf(call: ToolCall): TemplateResult {
  return html`<details>
    <summary><code>${call.toolName}</code> <span class=${call.succeeded ? "muted" : "bad"}>${beginning(call.errorMessage ?? call.output ?? "", 80)}</span> <span class="muted">${duration(call.durationMs)}</span></summary>
    <text-viewer label=${texts.input} .value=${call.input}></text-viewer>
    <text-viewer label=${texts.output} .value=${call.output}></text-viewer>
  </details>`;
}

customElements.define("console-compare", CompareView);
