import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Page } from "../../api/console-api.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { cost, count, duration, when } from "../../components/numbers.ts";
import type { Column, ReadPage } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import {
  type Case,
  changesOf,
  type Entry,
  type Evaluation,
  interval,
  type Metric,
  metricsOf,
  type Pair,
  pairsOf,
  percent,
  shareOf,
  stateOf,
  testOf,
} from "./results.ts";
import { words } from "./texts.ts";
import "../../components/paged-table.ts";
import "../../components/problem-note.ts";

const PAGE = 50;
const SECOND_MS = 1000;

/** Published evaluations: their list, one with its cases, or two side by side. */
export class EvaluationsView extends View {
  static override properties = {
    ...View.properties,
    read: { state: true },
    shown: { state: true },
    other: { state: true },
    others: { state: true },
    problem: { state: true },
  };
  static override styles = [
    base,
    css`
      .numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin-block: 12px; }
      .numbers div { border: 1px solid var(--border); border-radius: var(--radius); padding: 10px 14px; background: var(--surface); }
      dt { color: var(--muted); font-size: 12.5px; }
      dd { margin: 0; font-size: 20px; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
      dd small { display: block; font-size: 12.5px; }
      .frame { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
      table { border-collapse: collapse; inline-size: 100%; }
      th { text-align: start; font-weight: 550; color: var(--muted); font-size: 12.5px; white-space: nowrap; }
      th, td { padding: 6px 12px; border-block-end: 1px solid var(--border); vertical-align: top; }
      tr:last-child td { border-block-end: 0; }
      td { overflow-wrap: anywhere; min-inline-size: 6em; }
      .number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
      ul { margin: 0; padding-inline-start: 18px; }
      .flaky, .notJudged { color: var(--warning); }
      .passed { color: var(--good); }
      .failed { color: var(--danger); }
      .head { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: end; margin-block: 8px; }
    `,
  ];
  protected declare read: ReadPage<Entry> | null;
  protected declare shown: Evaluation | null;
  /** The one that it is compared with. */
  protected declare other: Evaluation | null;
  /** Those that it can be compared with: the newest. */
  protected declare others: readonly Entry[];
  protected declare problem: Problem | null;
  #asked: string | null = null;
  #reading = new AbortController();

  constructor() {
    super();
    this.read = null;
    this.shown = null;
    this.other = null;
    this.others = [];
    this.problem = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
    this.#asked = null;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const asked = JSON.stringify([this.#id, this.#withId]);
    if (!changed.has("place") || asked === this.#asked) return;
    this.#asked = asked;
    this.#reading.abort();
    this.problem = null;
    if (this.#id) void this.#load(this.#id, this.#withId);
    else this.read = (cursor, signal) => this.api.page<Entry>(["evaluations"], { limit: PAGE, cursor }, signal);
  }

  protected override render(): TemplateResult {
    if (!this.#id) {
      return html`<h1>${texts.evaluations}</h1>
        <p class="muted">${words.about}</p>
        <paged-table label=${texts.evaluations} .columns=${COLUMNS} .read=${this.read}></paged-table>`;
    }
    const shown = this.shown?.id === this.#id ? this.shown : null;
    return html`
      <h1>${shown?.label ?? words.evaluation}</h1>
      <p><a href=${hrefOf(["evaluations"])}>${words.all}</a></p>
      <problem-note .problem=${this.problem} canRetry @retry=${this.#again}></problem-note>
      ${shown ? this.#one(shown) : this.problem ? nothing : html`<p class="muted" role="status">${texts.loading}</p>`}
    `;
  }

  #one(shown: Evaluation): TemplateResult {
    const { details } = shown;
    const other = this.other?.id === this.#withId ? this.other : null;
    return html`
      <dl class="numbers">
        <div><dt>${words.passed}</dt><dd>${percent(shown.passed)}<small class="muted">${interval(shown.low, shown.high)}</small></dd></div>
        <div><dt>${words.cases}</dt><dd>${count(shown.cases)}<small class="muted">${count(shown.runs)} ${shown.runs === 1 ? "run" : "runs"}</small></dd></div>
        <div><dt>${texts.model}</dt><dd>${shown.model}</dd></div>
        ${shown.judge ? html`<div><dt>${words.judge}</dt><dd>${shown.judge}</dd></div>` : nothing}
        <div><dt>${texts.took}</dt><dd>${duration(details.seconds * SECOND_MS)}</dd></div>
        <div><dt>${texts.tokens}</dt><dd>${count(details.tokens)}</dd></div>
        <div><dt>${texts.cost}</dt><dd>${cost(details.usd)}</dd></div>
      </dl>
      <p class="muted">${words.by} ${shown.publishedBy}, ${when(shown.publishedAt)}. ${words.kept(when(shown.expiresAt))}</p>
      ${details.notRun ? html`<p class="bad">${words.notRun(details.notRun)}</p>` : nothing}
      <div class="head">
        <label>${words.compareWith}
          <select @change=${this.#chosen}>
            <option value="" ?selected=${!this.#withId}>${words.nothing}</option>
            ${this.others
              .filter(({ id }) => id !== shown.id)
              .map(
                (each) =>
                  html`<option value=${each.id} ?selected=${each.id === this.#withId}>${each.label}, ${when(each.beganAt)}</option>`,
              )}
          </select>
        </label>
      </div>
      ${other ? this.#compared(other, shown) : this.#alone(shown)}
    `;
  }

  #alone({ details }: Evaluation): TemplateResult {
    return html`
      ${table(
        words.metrics,
        [words.metric, words.mean, words.interval, words.runs],
        details.metrics.map((each) => [
          each.name,
          meanOf(each),
          each.isRate ? interval(each.low, each.high) : numbers(each),
          html`${count(each.runs)}${each.notJudged ? html` <span class="notJudged">+${words.notJudged(each.notJudged)}</span>` : nothing}`,
        ]),
      )}
      ${table(
        words.cases,
        [words.case, texts.state, words.passed, words.reasons],
        details.cases.map((each) => [each.name, stateNote(each), words.of(each.passes, each.judged), reasons(each)]),
        1,
      )}
      ${details.casesLeftOut ? html`<p class="muted">${words.leftOut(details.casesLeftOut)}</p>` : nothing}
    `;
  }

  #compared(before: Evaluation, after: Evaluation): TemplateResult {
    const pairs = pairsOf(before.details.cases, after.details.cases);
    const passed = testOf(changesOf("passed", pairs));
    const unpaired = pairs.filter(({ change }) => change === null).length;
    return html`
      <h2>${words.comparison(`${before.label}, ${when(before.beganAt)}`, after.label)}</h2>
      <p class=${passed.verdict === "better" ? "good" : passed.verdict === "worse" ? "bad" : ""} role="status">
        ${words.verdicts[passed.verdict](passed.better, passed.worse, passed.p.toFixed(3))}</p>
      <p class="muted">${words.test} ${unpaired ? words.unpaired(unpaired) : nothing}</p>
      ${table(
        words.metrics,
        [words.metric, words.before, words.after, words.change, words.better, words.worse, words.p],
        metricsOf(before.details.metrics, after.details.metrics).map(([name, old, now]) => {
          const { better, worse, p } = testOf(changesOf(name, pairs));
          const isKnown = old !== null && now !== null;
          return [
            name,
            meanOf(old),
            meanOf(now),
            changeNote(difference(old?.mean, now?.mean), old?.isRate && now?.isRate),
            ...(isKnown ? [count(better), count(worse), p.toFixed(3)] : ["–", "–", "–"]),
          ];
        }),
      )}
      ${table(
        words.cases,
        [words.case, words.before, words.after, words.change],
        pairs.map((pair: Pair) => [
          pair.name,
          percent(shareOf(pair.before)),
          percent(shareOf(pair.after)),
          changeNote(pair.change),
        ]),
      )}
    `;
  }

  get #id(): string | undefined {
    return this.place.path[1];
  }

  get #withId(): string | null {
    return this.place.parameters.with || null;
  }

  #again = (): void => {
    if (this.#id) void this.#load(this.#id, this.#withId);
  };

  #chosen = (event: Event): void => {
    this.remember({ with: (event.target as HTMLSelectElement).value || null });
  };

  async #load(id: string, withId: string | null): Promise<void> {
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.problem = null;
    const get = (one: string) => this.api.get<Evaluation>(["evaluations", one], {}, signal);
    try {
      const [shown, other, listed] = await Promise.all([
        this.shown?.id === id ? this.shown : get(id),
        withId === null ? null : this.other?.id === withId ? this.other : get(withId),
        this.others.length
          ? ({ items: this.others, nextCursor: null } satisfies Page<Entry>)
          : this.api.page<Entry>(["evaluations"], { limit: PAGE }, signal),
      ]);
      if (signal.aborted) return;
      this.shown = shown;
      this.other = other;
      this.others = listed.items;
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.problem = problemOf(error);
    }
  }
}

const COLUMNS: readonly Column<Entry>[] = [
  { head: words.version, cell: (each) => html`<a href=${hrefOf(["evaluations", each.id])}>${each.label}</a>` },
  { head: texts.began, cell: (each) => html`<time datetime=${each.beganAt}>${when(each.beganAt)}</time>` },
  { head: texts.model, cell: (each) => each.model },
  { head: words.passed, cell: (each) => percent(each.passed), isNumber: true },
  { head: words.interval, cell: (each) => interval(each.low, each.high), isNumber: true },
  { head: words.cases, cell: (each) => count(each.cases), isNumber: true },
  { head: words.runs, cell: (each) => count(each.runs), isNumber: true },
  { head: words.by, cell: (each) => each.publishedBy },
];

/** A table whose first `texts` columns after the first hold texts, as its last does when there are any. */
function table(
  label: string,
  heads: readonly string[],
  rows: readonly (readonly unknown[])[],
  textColumns = 0,
): TemplateResult {
  const isNumber = (index: number) => index > 0 && (!textColumns || (index > textColumns && index < heads.length - 1));
  const kind = (index: number) => (isNumber(index) ? "number" : "");
  return html`<h2>${label}</h2>
    <div class="frame" tabindex="0" role="region" aria-label=${label}>
      <table aria-label=${label}>
        <thead><tr>${heads.map((each, index) => html`<th scope="col" class=${kind(index)}>${each}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((cell, index) => html`<td class=${kind(index)} dir="auto">${cell}</td>`)}</tr>`)}</tbody>
      </table>
    </div>`;
}

function meanOf(metric: Metric | null): string {
  if (metric === null || metric.mean === null) return "–";
  return metric.isRate ? percent(metric.mean) : metric.mean.toFixed(3);
}

function numbers({ low, high }: Metric): string {
  return low === null || high === null ? "–" : `${low.toFixed(3)} to ${high.toFixed(3)}`;
}

function difference(before: number | null | undefined, after: number | null | undefined): number | null {
  return typeof before === "number" && typeof after === "number" ? after - before : null;
}

function changeNote(change: number | null, isRate = true): unknown {
  if (change === null) return "–";
  const text = `${change > 0 ? "+" : change < 0 ? "−" : ""}${isRate ? (Math.abs(change) * 100).toFixed(1) : Math.abs(change).toFixed(3)}`;
  return html`<span class=${change > 0 ? "good" : change < 0 ? "bad" : ""}>${text}</span>`;
}

function stateNote(one: Case): TemplateResult {
  const state = stateOf(one);
  return html`<span class=${state}>${words.states[state]}</span>`;
}

function reasons({ reasons: given }: Case): unknown {
  return given.length ? html`<ul>${given.map((each) => html`<li>${each}</li>`)}</ul>` : nothing;
}

customElements.define("console-evaluations", EvaluationsView);
