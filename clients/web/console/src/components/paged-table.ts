import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Page } from "../api/console-api.ts";
import { isAborted, type Problem, problemOf } from "../api/problem.ts";
import { base } from "../styles/base.ts";
import { texts } from "../texts.ts";
import "./problem-note.ts";

/** A column: what stands above it, and what a row has in it. */
export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => unknown;
  readonly isNumber?: boolean;
}

/** Reads one page of rows; `cursor` is null for the first. */
export type ReadPage<T> = (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>;

/** A search may look at many rows before it finds one: so many empty pages are read without being asked. */
const MAX_EMPTY_PAGES = 5;

/** A table of a list of the API. Give it another `read` to show another list; older answers are then ignored. */
export class PagedTable<T> extends LitElement {
  static override properties = {
    columns: { attribute: false },
    read: { attribute: false },
    keyOf: { attribute: false },
    label: {},
    rows: { state: true },
    problem: { state: true },
    isLoading: { state: true },
  };
  static override styles = [
    base,
    css`
      .frame { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
      table { border-collapse: collapse; inline-size: 100%; }
      th { text-align: start; font-weight: 550; color: var(--muted); font-size: 12.5px; white-space: nowrap; background: var(--surface); }
      th, td { padding: 8px 12px; border-block-end: 1px solid var(--border); vertical-align: top; }
      tr:last-child td { border-block-end: 0; }
      td { overflow-wrap: break-word; max-inline-size: 560px; }
      .number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
      time { white-space: nowrap; }
      .foot { display: flex; gap: 12px; align-items: center; padding-block: 8px; }
    `,
  ];
  declare columns: readonly Column<T>[];
  declare read: ReadPage<T> | null;
  declare keyOf: (row: T) => string;
  declare label: string;
  declare rows: readonly T[];
  declare problem: Problem | null;
  declare isLoading: boolean;
  #cursor: string | null = null;
  #reading = new AbortController();

  constructor() {
    super();
    this.columns = [];
    this.read = null;
    this.keyOf = (row) => String((row as { id?: unknown }).id);
    this.label = "";
    this.rows = [];
    this.problem = null;
    this.isLoading = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
  }

  /** Reads the list anew from its first page. */
  reload(): void {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#cursor = null;
    this.rows = [];
    void this.#load(true);
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("read") && this.read) this.reload();
  }

  protected override render(): TemplateResult {
    return html`
      ${this.rows.length ? this.#table() : nothing}
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#load(!this.rows.length)}></problem-note>
      <div class="foot" role="status">
        ${this.isLoading ? html`<span class="muted">${texts.loading}</span>` : this.#ending()}
        ${this.#cursor && !this.isLoading ? html`<button type="button" @click=${() => this.#load(false)}>${texts.more}</button>` : nothing}
      </div>
    `;
  }

  #table(): TemplateResult {
    return html`<div class="frame" tabindex="0" role="region" aria-label=${this.label}>
      <table aria-label=${this.label}>
        <thead><tr>${this.columns.map((each) => html`<th scope="col" class=${each.isNumber ? "number" : ""}>${each.head}</th>`)}</tr></thead>
        <tbody>${repeat(this.rows, this.keyOf, (row) => html`<tr>${this.columns.map((each) => html`<td class=${each.isNumber ? "number" : ""} dir="auto">${each.cell(row)}</td>`)}</tr>`)}</tbody>
      </table>
    </div>`;
  }

  #ending(): unknown {
    if (this.rows.length || this.problem || !this.read) return nothing;
    return html`<span class="muted">${this.#cursor ? texts.noneSoFar : texts.none}</span>`;
  }

  async #load(isFirst: boolean): Promise<void> {
    const { read } = this;
    const { signal } = this.#reading;
    if (!read) return;
    this.isLoading = true;
    this.problem = null;
    try {
      let cursor = isFirst ? null : this.#cursor;
      for (let empty = 0; empty < MAX_EMPTY_PAGES; empty++) {
        const page = await read(cursor, signal);
        if (signal.aborted) return;
        this.rows = [...this.rows, ...page.items];
        cursor = this.#cursor = page.nextCursor;
        if (page.items.length || cursor === null) break;
      }
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.problem = problemOf(error);
    }
    if (!signal.aborted) this.isLoading = false;
  }
}

customElements.define("paged-table", PagedTable);
