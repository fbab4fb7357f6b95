import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import { type Document, deleteDocument, listDocuments, readDocument } from "./documents-api.ts";
import { indexFill, indexFillStyle } from "./index-fill.ts";
import { documentTexts as say } from "./texts.ts";
import { type FileUpload, Uploads } from "./uploads.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";

const POLL_MS = 1_500;
const SLOWEST_POLL_MS = 15_000;
/** Documents that are asked for at once while they are taken in. */
const MOST_POLLED = 10;
const ENDINGS = ".pdf,.docx,.pptx,.xlsx,.html,.htm,.xhtml,.md,.markdown,.txt,.csv";
const SIZE = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** The documents of an agent: uploaded, followed until they are ready, replaced and deleted. */
export class DocumentList extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    documents: { state: true },
    uploads: { state: true },
    cursor: { state: true },
    fill: { state: true },
    problem: { state: true },
    isLoading: { state: true },
    isOver: { state: true },
  };
  static override styles = [
    base,
    indexFillStyle,
    css`
      .drop { border: 2px dashed var(--border); border-radius: var(--radius); padding: 16px; display: flex; flex-wrap: wrap; gap: 12px; align-items: end; margin-block-end: 12px; }
      .drop.over { border-color: var(--accent); background: var(--surface); }
      .drop p { margin: 0; inline-size: 100%; }
      .frame { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
      table { border-collapse: collapse; inline-size: 100%; }
      th, td { text-align: start; padding: 8px 12px; border-block-end: 1px solid var(--border); vertical-align: top; overflow-wrap: anywhere; }
      th { color: var(--muted); font-weight: 550; font-size: 12.5px; background: var(--surface); }
      tr:last-child > * { border-block-end: 0; }
      progress { inline-size: 8rem; accent-color: var(--accent); }
      ul { margin: 4px 0; padding-inline-start: 20px; }
      .uploads { list-style: none; padding: 0; }
      .act { display: flex; gap: 8px; flex-wrap: wrap; }
      label.file { position: relative; color: var(--text); font-size: inherit; background: var(--raised); border: 1px solid var(--border); border-radius: 8px; padding: 6px 12px; cursor: pointer; }
      label.file:hover { background: var(--surface); }
      label.file:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
    `,
  ];
  declare context: ViewContext;
  declare agentId: string;
  protected declare documents: readonly Document[];
  protected declare uploads: readonly FileUpload[];
  protected declare cursor: string | null;
  /** How full the search index is, in per cent. */
  protected declare fill: number | null;
  protected declare problem: Problem | null;
  protected declare isLoading: boolean;
  protected declare isOver: boolean;
  #queue: Uploads | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #delay = POLL_MS;

  constructor() {
    super();
    this.documents = [];
    this.uploads = [];
    this.cursor = this.fill = null;
    this.problem = null;
    this.isLoading = true;
    this.isOver = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("agentId")) return;
    clearTimeout(this.#timer);
    this.askAnew();
    this.uploads = this.documents = [];
    this.cursor = this.fill = null;
    this.#queue = new Uploads(this.context.api, this.agentId, this.left, {
      changed: () => {
        this.uploads = this.#queue?.all ?? [];
      },
      arrived: (document) => this.#arrived(document),
    });
    void this.#load();
  }

  protected override render(): TemplateResult {
    return html`
      ${indexFill(this.fill, this.agentId, this.context.person.tenantId)}
      <div class="drop ${this.isOver ? "over" : ""}" @dragover=${this.#dragged} @dragleave=${this.#dragLeft} @drop=${this.#dropped}>
        <p>${say.drop}</p>
        <label>${say.chooseFiles}<input type="file" multiple accept=${ENDINGS} @change=${this.#chosen} /></label>
        <label>${say.permission}<input name="permission" autocomplete="off" spellcheck="false" /></label>
        <p class="muted">${say.permissionAbout}</p>
      </div>
      ${this.uploads.length ? this.#uploads() : nothing}
      ${this.documents.length ? this.#table() : nothing}
      <div role="status">${this.isLoading ? texts.loading : !this.documents.length && !this.problem ? texts.none : nothing}</div>
      ${this.cursor ? html`<button type="button" ?disabled=${this.isLoading} @click=${() => this.#load()}>${texts.more}</button>` : nothing}
      <problem-note .problem=${this.problem} canRetry @retry=${() => this.#load()}></problem-note>
    `;
  }

  #uploads(): TemplateResult {
    return html`<h2>${say.uploads}</h2><ul class="uploads" aria-label=${say.uploads}>${this.uploads.map((each) => this.#upload(each))}</ul>`;
  }

  #upload({ name, state, sent, message }: FileUpload): TemplateResult {
    return html`<li>
      <span dir="auto">${name}</span> · <span class=${state === "failed" ? "bad" : "muted"}>${say.states[state]}${message ? html`: <span dir="auto">${message}</span>` : nothing}</span>
      ${state === "sending" ? html`<progress max="100" value=${sent} aria-label=${name}></progress>` : nothing}
    </li>`;
  }

  #table(): TemplateResult {
    const heads = [say.title, say.status, say.needs, say.by, say.acts];
    return html`<div class="frame" tabindex="0" role="region" aria-label=${texts.documents}><table aria-label=${texts.documents}>
      <thead><tr>${heads.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${repeat(
        this.documents,
        ({ id }) => id,
        (each) => this.#line(each),
      )}</tbody>
    </table></div>`;
  }

  #line(each: Document): TemplateResult {
    const { title, name, size, requiredPermission, createdBy, sourceId } = each;
    return html`<tr>
      <td dir="auto">${title}<br /><small class="muted">${name} · ${SIZE.format(size)}B · ${say.version(each.version)}</small></td>
      <td>${this.#status(each)}</td>
      <td>${requiredPermission ? html`<code>${requiredPermission}</code>` : nothing}</td>
      <td dir="auto">${createdBy}</td>
      <td>${sourceId ? html`<span class="muted">${say.ofSource}</span>` : this.#acts(each)}</td>
    </tr>`;
  }

  #status({
    status,
    step,
    progress,
    pages,
    chunks,
    error,
    pageErrors,
    pageErrorCount,
    activeVersion,
    version,
  }: Document) {
    const size = [pages !== null && say.pages(pages), chunks !== null && say.passages(chunks)]
      .filter(Boolean)
      .join(", ");
    return html`
      <span class=${status === "ready" ? "good" : status === "failed" ? "bad" : ""}>${say.statuses[status]}</span>
      ${status === "processing" ? html`<br /><progress max="100" value=${progress} aria-label=${say.statuses.processing}></progress> <small>${say.step(step ?? "", progress)}</small>` : nothing}
      ${size ? html`<br /><small class="muted">${size}</small>` : nothing}
      ${error ? html`<br /><small dir="auto">${error.message}</small>` : nothing}
      ${activeVersion !== null && activeVersion !== version ? html`<br /><small>${say.older(activeVersion)}</small>` : nothing}
      ${pageErrorCount ? html`<details><summary>${say.pageErrors(pageErrorCount)}</summary><ul>${pageErrors.map((wrong) => html`<li dir="auto">${say.page(wrong.page)}: ${wrong.message}</li>`)}</ul></details>` : nothing}
    `;
  }

  #acts(each: Document): TemplateResult {
    return html`<div class="act">
      <label class="file">${say.replace}<input class="unseen" type="file" accept=${ENDINGS} aria-label=${say.replaceFile(each.name)} @change=${(event: Event) => this.#replaced(event, each)} /></label>
      <confirm-button label=${say.remove} question=${say.removeSure(each.title)} @confirmed=${() => this.#delete(each)}></confirm-button>
    </div>`;
  }

  async #load(): Promise<void> {
    const signal = this.left;
    this.isLoading = true;
    this.problem = null;
    try {
      const page = await listDocuments(this.context.api, this.agentId, this.cursor, signal);
      if (signal.aborted) return;
      const there = new Set(this.documents.map(({ id }) => id));
      this.documents = [...this.documents, ...page.items.filter(({ id }) => !there.has(id))];
      this.cursor = page.nextCursor;
      this.fill = page.indexFillPercent;
      this.#pollSoon();
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.problem = problemOf(error);
    }
    this.isLoading = false;
  }

  #arrived(document: Document): void {
    const rest = this.documents.filter(({ id }) => id !== document.id);
    this.documents = [document, ...rest];
    this.#pollSoon();
  }

  /** Asks again soon, and less often while nothing changes: an upload may never come. */
  #pollSoon(after = POLL_MS): void {
    clearTimeout(this.#timer);
    this.#delay = after;
    if (this.documents.some(isOnTheWay)) this.#timer = setTimeout(() => void this.#poll(), after);
  }

  /** Asks how far the documents are that are being taken in. */
  async #poll(): Promise<void> {
    const signal = this.left;
    const asked = this.documents.filter(isOnTheWay).slice(0, MOST_POLLED);
    const found = await Promise.allSettled(
      asked.map(({ id }) => readDocument(this.context.api, this.agentId, id, signal)),
    );
    if (signal.aborted) return;
    const now = new Map(found.flatMap((each) => (each.status === "fulfilled" ? [[each.value.id, each.value]] : [])));
    const gone = new Set(
      asked.filter((_, at) => {
        const each = found[at];
        return each?.status === "rejected" && problemOf(each.reason).status === 404;
      }),
    );
    this.documents = this.documents.filter((each) => !gone.has(each)).map((each) => now.get(each.id) ?? each);
    const refused = found.find((each) => each.status === "rejected" && problemOf(each.reason).status === 403);
    if (refused?.status === "rejected") this.problem = problemOf(refused.reason);
    else this.#pollSoon(asked.some((each) => isOther(each, now.get(each.id))) ? POLL_MS : slower(this.#delay));
  }

  async #delete({ id }: Document): Promise<void> {
    this.problem = null;
    try {
      await deleteDocument(this.context.api, this.agentId, id);
      this.documents = this.documents.filter((each) => each.id !== id);
      this.context.notify(say.removed);
    } catch (error) {
      this.problem = problemOf(error);
    }
  }

  get #permission(): { requiredPermission?: string } {
    const given = this.renderRoot.querySelector<HTMLInputElement>("input[name=permission]")?.value.trim();
    return given ? { requiredPermission: given } : {};
  }

  #chosen = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    this.#queue?.add(input.files ?? [], this.#permission);
    input.value = "";
  };

  #replaced(event: Event, { id }: Document): void {
    const input = event.target as HTMLInputElement;
    this.#queue?.add(input.files ?? [], { documentId: id, ...this.#permission });
    input.value = "";
  }

  #dragged = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.isOver = true;
  };

  #dragLeft = (): void => {
    this.isOver = false;
  };

  #dropped = (event: DragEvent): void => {
    event.preventDefault();
    this.isOver = false;
    this.#queue?.add(event.dataTransfer?.files ?? [], this.#permission);
  };
}

const isOnTheWay = ({ status }: Document): boolean => status === "waiting" || status === "processing";

const isOther = (before: Document, now: Document | undefined): boolean =>
  now?.status !== before.status || now.progress !== before.progress;
const slower = (delay: number): number => Math.min(delay * 1.5, SLOWEST_POLL_MS);

customElements.define("document-list", DocumentList);
