import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { cost, count, duration, when } from "../../components/numbers.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { type AgentDay, added, type OverviewPage, percentile, sum, summed, type Totals } from "./totals.ts";
import "../../components/problem-note.ts";
import "./bar-chart.ts";

const PERIODS = [1, 7, 30, 90] as const;
const USUAL_DAYS = 7;
const DAY_MS = 86_400_000;
/** Pages that are read without being asked. */
const PAGES = 5;

const words = texts.inOverview;

/** What happened in the tenant's conversations: counted page by page, for as long as the reader wants. */
export class OverviewView extends View {
  static override properties = {
    ...View.properties,
    totals: { state: true },
    problem: { state: true },
    isReading: { state: true },
    cursor: { state: true },
  };
  static override styles = [
    base,
    css`
      .numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin-block: 12px; }
      .numbers div { border: 1px solid var(--border); border-radius: var(--radius); padding: 10px 14px; background: var(--surface); }
      dt { color: var(--muted); font-size: 12.5px; }
      dd { margin: 0; font-size: 20px; font-variant-numeric: tabular-nums; }
      dd small { display: block; font-size: 12.5px; }
      .progress { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; margin-block: 8px; }
      .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 0 24px; }
      .frame { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
      table { border-collapse: collapse; inline-size: 100%; }
      th { text-align: start; font-weight: 550; color: var(--muted); font-size: 12.5px; }
      th, td { padding: 6px 12px; border-block-end: 1px solid var(--border); overflow-wrap: anywhere; }
      tr:last-child td { border-block-end: 0; }
      .number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
    `,
  ];
  protected declare totals: Totals | null;
  protected declare problem: Problem | null;
  protected declare isReading: boolean;
  /** Where to go on; null if nothing is left, or nothing was read. */
  protected declare cursor: string | null;
  #days = 0;
  #reading = new AbortController();

  constructor() {
    super();
    this.totals = null;
    this.problem = null;
    this.isReading = false;
    this.cursor = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
    this.#days = 0;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const asked = Number(this.place.parameters.days);
    const days = (PERIODS as readonly number[]).includes(asked) ? asked : USUAL_DAYS;
    if (!changed.has("place") || days === this.#days) return;
    this.#days = days;
    this.#reading.abort();
    this.totals = null;
    this.cursor = null;
    void this.#read();
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.overview}</h1>
      <label>${words.period}
        <select @change=${this.#chosen}>
          ${PERIODS.map((each) => html`<option value=${each} ?selected=${each === this.#days}>${words.days(each)}</option>`)}
        </select>
      </label>
      <div class="progress" role="status">
        <span>${this.totals ? words.covers(this.totals.threads) : ""}${this.totals && !this.cursor && !this.isReading ? ` ${words.all}` : ""}</span>
        ${this.isReading ? html`<span class="muted">${texts.loading}</span><button type="button" @click=${this.#stop}>${words.stop}</button>` : nothing}
        ${(this.cursor || !this.totals) && !this.isReading && !this.problem ? html`<button type="button" @click=${() => this.#read()}>${words.goOn}</button>` : nothing}
      </div>
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#read()}></problem-note>
      ${this.totals ? this.#shown(this.totals) : nothing}
    `;
  }

  #shown(totals: Totals): TemplateResult {
    const all = sum(totals.days);
    const first = (share: number): string => {
      const ms = percentile(totals.firstTokens, share);
      return ms === Number.POSITIVE_INFINITY ? words.longer : duration(ms);
    };
    const days = summed(totals.days, (each) => each.day);
    return html`
      <dl class="numbers">
        <div><dt>${words.turns}</dt><dd>${count(all?.turns ?? 0)}</dd></div>
        <div><dt>${texts.failures}</dt><dd>${count(all?.failures ?? 0)}</dd></div>
        <div><dt>${words.firstToken(50)}</dt><dd>${first(0.5)}</dd></div>
        <div><dt>${words.firstToken(95)}</dt><dd>${first(0.95)}</dd></div>
        <div><dt>${texts.tokens}</dt><dd>${count((all?.inputTokens ?? 0) + (all?.outputTokens ?? 0))}</dd></div>
        <div><dt>${texts.cost}</dt><dd>${cost(all?.cost)}${all?.unpriced ? html`<small class="muted">${words.unpriced(all.unpriced)}</small>` : nothing}</dd></div>
        ${
          totals.selfStarted.turns
            ? html`<div><dt>${words.selfStarted}</dt><dd>${count(totals.selfStarted.turns)}<small class="muted">${texts.cost} ${cost(totals.selfStarted.cost)}</small></dd></div>`
            : nothing
        }
      </dl>
      <div class="columns">
        <section><h2>${words.turnsADay}</h2><bar-chart label=${words.turnsADay} .bars=${days.map(turnsBar)}></bar-chart></section>
        <section><h2>${words.tokensADay}</h2><bar-chart label=${words.tokensADay} .bars=${days.map(tokensBar)}></bar-chart></section>
      </div>
      ${this.#table(
        words.byAgent,
        [texts.agent, words.turns, texts.failures, texts.tokens, texts.cost],
        summed(totals.days, (each) => each.agentId ?? "").map((each) => [
          this.#agent(totals, each),
          count(each.turns),
          count(each.failures),
          count(each.inputTokens + each.outputTokens),
          cost(each.cost),
        ]),
      )}
      ${this.#table(
        words.byDay,
        [words.day, words.turns, texts.failures, texts.tokens, texts.cost],
        days.map((each) => [
          each.day,
          count(each.turns),
          count(each.failures),
          count(each.inputTokens + each.outputTokens),
          cost(each.cost),
        ]),
      )}
      <div class="columns">
        <section>${this.#table(
          words.slowest,
          [texts.conversation, texts.took],
          totals.slowest.map((each) => [thread(each), duration(each.durationMs)]),
        )}</section>
        <section>${this.#table(
          words.costliest,
          [texts.conversation, texts.tokens, texts.cost],
          totals.costliest.map((each) => [thread(each), count(each.totalTokens), cost(each.cost)]),
        )}</section>
        <section>${this.#table(
          words.errors,
          [texts.error, words.turns],
          totals.errors.map((each) => [
            html`<a href=${hrefOf(["threads"], { hasError: "true", from: totals.from })}>${each.code}</a>`,
            count(each.turns),
          ]),
        )}</section>
      </div>
      <p class="muted">${words.between(when(totals.from), when(totals.to))}</p>
    `;
  }

  #agent(totals: Totals, { agentId }: AgentDay): TemplateResult {
    if (agentId === null) return html`<span class="muted">${words.nobody}</span>`;
    return html`<a href=${hrefOf(["threads"], { agentId, from: totals.from })}>${agentId}</a>`;
  }

  #table(
    label: string,
    heads: readonly string[],
    rows: readonly (readonly unknown[])[],
  ): TemplateResult | typeof nothing {
    if (!rows.length) return nothing;
    return html`<h2>${label}</h2>
      <div class="frame" tabindex="0" role="region" aria-label=${label}>
        <table aria-label=${label}>
          <thead><tr>${heads.map((each, index) => html`<th scope="col" class=${index ? "number" : ""}>${each}</th>`)}</tr></thead>
          <tbody>${rows.map((row) => html`<tr>${row.map((cell, index) => html`<td class=${index ? "number" : ""} dir="auto">${cell}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`;
  }

  #chosen = (event: Event): void => {
    this.remember({ days: (event.target as HTMLSelectElement).value });
  };

  #stop = (): void => {
    this.#reading.abort();
    this.isReading = false;
  };

  /** Adds some pages to what is there, or begins. */
  async #read(): Promise<void> {
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.isReading = true;
    this.problem = null;
    try {
      for (let pages = 0; pages < PAGES; pages++) {
        const { cursor } = this;
        const from = new Date(Date.now() - this.#days * DAY_MS).toISOString();
        const page = await this.api.get<OverviewPage>(["overview"], cursor ? { cursor } : { from }, signal);
        if (signal.aborted) return;
        this.totals = added(this.totals, page);
        this.cursor = page.nextCursor;
        if (page.nextCursor === null) break;
      }
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.problem = problemOf(error);
    }
    this.isReading = false;
  }
}

function turnsBar(day: AgentDay) {
  const title = words.turnsOf(day.day, count(day.turns), count(day.failures));
  return { label: day.day.slice(8), value: day.turns, marked: day.failures, title };
}

function tokensBar(day: AgentDay) {
  const tokens = day.inputTokens + day.outputTokens;
  return { label: day.day.slice(8), value: tokens, title: words.tokensOf(day.day, count(tokens), cost(day.cost)) };
}

function thread({ threadId, title }: { readonly threadId: string; readonly title?: string | null }): TemplateResult {
  return html`<a href=${hrefOf(["threads", threadId])} title=${threadId}>${title ?? texts.untitled}</a>`;
}

customElements.define("console-overview", OverviewView);
