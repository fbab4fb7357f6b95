import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import type { Column, ReadPage } from "../../components/paged-table.ts";
import { base } from "../../styles/base.ts";
import type { ViewContext } from "../view.ts";
import { type Document, type Library, listLibraries, listLibraryDocuments } from "./documents-api.ts";
import { indexFill, indexFillStyle } from "./index-fill.ts";
import { documentTexts as say } from "./texts.ts";
import "../../components/paged-table.ts";
import "../../components/problem-note.ts";

const COLUMNS: readonly Column<Document>[] = [
  {
    head: say.title,
    cell: ({ title, name, version }) =>
      html`<span dir="auto">${title}</span><br /><small class="muted">${name} · ${say.version(version)}</small>`,
  },
  {
    head: say.status,
    cell: ({ status, chunks, error }) =>
      html`<span class=${status === "ready" ? "good" : status === "failed" ? "bad" : ""}>${say.statuses[status]}</span>${chunks === null ? nothing : html` <small class="muted">${say.passages(chunks)}</small>`}${error ? html`<br /><small dir="auto">${error.message}</small>` : nothing}`,
  },
  {
    head: say.needs,
    cell: ({ requiredPermission }) => (requiredPermission ? html`<code>${requiredPermission}</code>` : nothing),
  },
];

/** The project's libraries that an agent lists, with their documents, which only a deployment changes. */
export class LibraryList extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    libraries: { state: true },
    opened: { state: true },
    problem: { state: true },
  };
  static override styles = [base, indexFillStyle];
  declare context: ViewContext;
  declare agentId: string;
  protected declare libraries: readonly Library[];
  /** Libraries whose documents have been asked for. */
  protected declare opened: ReadonlySet<string>;
  protected declare problem: Problem | null;
  readonly #readers = new Map<string, ReadPage<Document>>();

  constructor() {
    super();
    this.libraries = [];
    this.opened = new Set();
    this.problem = null;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("agentId")) return;
    this.askAnew();
    this.libraries = [];
    this.opened = new Set();
    this.#readers.clear();
    void this.#load();
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.libraries.length && !this.problem) return nothing;
    return html`
      <h2>${say.libraries}</h2>
      <p class="muted">${say.librariesAbout}</p>
      ${this.libraries.map(({ name, indexFillPercent }) => indexFill(indexFillPercent, name, null))}
      ${this.libraries.map(
        ({ name, documents }) => html`<details @toggle=${() => this.#open(name)}>
          <summary><code>${name}</code> <span class="muted">${say.count(documents)}</span></summary>
          ${this.opened.has(name) ? html`<paged-table .columns=${COLUMNS} .read=${this.#readerOf(name)} label=${name}></paged-table>` : nothing}
        </details>`,
      )}
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#load()}></problem-note>
    `;
  }

  #open(name: string): void {
    this.opened = new Set([...this.opened, name]);
  }

  #readerOf(name: string): ReadPage<Document> {
    const reader =
      this.#readers.get(name) ??
      ((cursor, signal) => listLibraryDocuments(this.context.api, this.agentId, name, cursor, signal));
    this.#readers.set(name, reader);
    return reader;
  }

  async #load(): Promise<void> {
    const signal = this.left;
    this.problem = null;
    try {
      const page = await listLibraries(this.context.api, this.agentId, signal);
      if (!signal.aborted) this.libraries = page.items;
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
  }
}

customElements.define("library-list", LibraryList);
