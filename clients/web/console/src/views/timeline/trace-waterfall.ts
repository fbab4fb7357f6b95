import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import type { ConsoleApi } from "../../api/console-api.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import type { Span } from "../../api/shapes.ts";
import { duration } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { type SpanRow, spanRows } from "./span-rows.ts";
import "../../components/text-viewer.ts";

const MAX_ROWS = 200;
const INDENT = 10;

/** The spans of a turn's trace, as bars on one scale. */
export class TraceWaterfall extends LitElement {
  static override properties = {
    api: { attribute: false },
    path: { attribute: false },
    traceId: { attribute: false },
    spans: { state: true },
    problem: { state: true },
  };
  static override styles = [
    base,
    css`
      h3 { font-size: 12.5px; font-weight: 550; color: var(--muted); margin: 10px 0 4px; }
      ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 3px; }
      summary { display: grid; grid-template-columns: 45% minmax(0, 1fr) max-content; gap: 8px; align-items: center; font-size: 12.5px; cursor: pointer; }
      .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .scale { position: relative; block-size: 12px; background: var(--surface); border-radius: 4px; }
      .bar { position: absolute; inset-block: 0; min-inline-size: 3px; border-radius: 4px; background: var(--accent); }
      .failed .bar { background: var(--danger); }
    `,
  ];
  declare api: ConsoleApi;
  declare path: string;
  declare traceId: string;
  protected declare spans: readonly Span[];
  protected declare problem: Problem | null;
  #shown = "";
  #reading = new AbortController();

  constructor() {
    super();
    this.spans = [];
    this.problem = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
    this.#shown = "";
  }

  protected override willUpdate(): void {
    if (this.traceId !== this.#shown) {
      this.#shown = this.traceId;
      void this.#read();
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.problem)
      return html`<p class="muted">${this.problem.status === 404 ? texts.traceGone : this.problem.message}</p>`;
    const rows = spanRows(this.spans).slice(0, MAX_ROWS);
    if (!rows.length) return nothing;
    const from = Math.min(...rows.map(({ span }) => span.start));
    const length = Math.max(1, ...rows.map(({ span }) => span.end - from));
    return html`<h3>${texts.trace}</h3><ol>${rows.map((row) => bar(row, from, length))}</ol>`;
  }

  async #read(): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.spans = [];
    this.problem = null;
    try {
      const { value } = await this.api.request<{ spans: readonly Span[] }>([this.traceId], { root: this.path, signal });
      if (!signal.aborted) this.spans = value.spans;
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
  }
}

function bar({ span, depth }: SpanRow, from: number, length: number): TemplateResult {
  const start = ((span.start - from) / length) * 100;
  const size = ((span.end - span.start) / length) * 100;
  return html`<li class=${span.isFailed ? "failed" : ""}><details>
    <summary>
      <span class="name" dir="auto" title=${span.name} .style=${`padding-inline-start: ${depth * INDENT}px`}>${span.name}</span>
      <span class="scale"><span class="bar" .style=${`inset-inline-start: ${start}%; inline-size: ${size}%`}></span></span>
      <span class="muted">${duration(span.end - span.start)}</span>
    </summary>
    <text-viewer label=${texts.metadata} .value=${span.attributes}></text-viewer>
  </details></li>`;
}

customElements.define("trace-waterfall", TraceWaterfall);
