import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import { addSource, deleteSource, listSources, refreshSource, type Source, type SourceKind } from "./documents-api.ts";
import { documentTexts as say } from "./texts.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";

const POLL_MS = 5_000;
const KINDS: readonly SourceKind[] = ["urls", "sitemap", "s3"];
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** What keeps documents of an agent up to date: lists of addresses, sitemaps and S3 prefixes. */
export class DocumentSources extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    sources: { state: true },
    cursor: { state: true },
    kind: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      .frame { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); margin-block: 12px; }
      table { border-collapse: collapse; inline-size: 100%; }
      th, td { text-align: start; padding: 8px 12px; border-block-end: 1px solid var(--border); vertical-align: top; overflow-wrap: anywhere; }
      th { color: var(--muted); font-weight: 550; font-size: 12.5px; background: var(--surface); }
      tr:last-child > * { border-block-end: 0; }
      textarea, input[name=where] { inline-size: 26rem; }
      .act { display: flex; gap: 8px; flex-wrap: wrap; }
    `,
  ];
  declare context: ViewContext;
  declare agentId: string;
  protected declare sources: readonly Source[];
  protected declare cursor: string | null;
  protected declare kind: SourceKind;
  protected declare problem: Problem | null;
  protected declare isBusy: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.sources = [];
    this.cursor = null;
    this.kind = "urls";
    this.problem = null;
    this.isBusy = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("agentId")) return;
    this.askAnew();
    this.sources = [];
    void this.#load();
  }

  protected override render(): TemplateResult {
    return html`
      <h2>${say.sources}</h2>
      ${this.sources.length ? this.#table() : html`<p class="muted">${texts.none}</p>`}
      ${this.cursor ? html`<button type="button" @click=${() => this.#load(this.cursor)}>${texts.more}</button>` : nothing}
      <form class="row" @submit=${this.#add}>
        <label>${say.kind}<select @change=${this.#chosen}>${KINDS.map((each) => html`<option value=${each} ?selected=${each === this.kind}>${say.sourceKinds[each]}</option>`)}</select></label>
        ${this.#where()}
        <label>${say.hours}<input name="hours" type="number" min="1" max="720" value="24" required /></label>
        <label>${say.permission}<input name="permission" autocomplete="off" spellcheck="false" /></label>
        <button type="submit" ?disabled=${this.isBusy}>${say.add}</button>
      </form>
      <problem-note .problem=${this.problem}></problem-note>
    `;
  }

  #where(): TemplateResult {
    if (this.kind === "urls")
      return html`<label>${say.addresses}<textarea name="where" rows="3" required></textarea></label>`;
    const label = this.kind === "s3" ? say.prefix : say.sitemap;
    return html`<label>${label}<input name="where" required autocomplete="off" spellcheck="false" /></label>`;
  }

  #table(): TemplateResult {
    const heads = [say.title, say.status, say.documents, say.lastRefresh, say.needs, say.acts];
    return html`<div class="frame" tabindex="0" role="region" aria-label=${say.sources}><table aria-label=${say.sources}>
      <thead><tr>${heads.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${this.sources.map((each) => this.#line(each))}</tbody>
    </table></div>`;
  }

  #line(each: Source): TemplateResult {
    const { changed, unchanged, deleted, failed } = each.counts;
    const where = each.url ?? each.prefix ?? each.urls.join("\n");
    const next = each.nextRefreshAt ? say.next(WHEN.format(new Date(each.nextRefreshAt))) : "";
    return html`<tr>
      <td dir="auto">${each.title}<br /><small class="muted">${say.sourceKinds[each.kind]}${where === each.title ? nothing : html` · ${where}`}</small></td>
      <td><span class=${each.status === "failed" ? "bad" : ""}>${each.status}</span>${each.error ? html`<br /><small dir="auto">${each.error}</small>` : nothing}</td>
      <td>${each.documents}<br /><small class="muted">${say.counts(changed, unchanged, deleted, failed)}</small>
        ${each.errors.length ? html`<details><summary>${say.sourceErrors(each.errors.length)}</summary><ul>${each.errors.map(({ url, message }) => html`<li dir="auto">${url}: ${message}</li>`)}</ul></details>` : nothing}</td>
      <td>${each.refreshedAt ? WHEN.format(new Date(each.refreshedAt)) : nothing} <small class="muted">${next}</small></td>
      <td>${each.requiredPermission ? html`<code>${each.requiredPermission}</code>` : nothing}</td>
      <td><div class="act">
        <button type="button" ?disabled=${this.isBusy} @click=${() => this.#do(() => refreshSource(this.context.api, this.agentId, each.id), say.added)}>${say.refresh}</button>
        <confirm-button label=${say.remove} question=${say.removeSource(each.title)} .isDisabled=${this.isBusy} @confirmed=${() => this.#do(() => deleteSource(this.context.api, this.agentId, each.id), say.removed)}></confirm-button>
      </div></td>
    </tr>`;
  }

  async #load(cursor: string | null = null): Promise<void> {
    const signal = this.left;
    clearTimeout(this.#timer);
    try {
      const page = await listSources(this.context.api, this.agentId, cursor, signal);
      if (signal.aborted) return;
      this.sources = cursor ? [...this.sources, ...page.items] : page.items;
      this.cursor = page.nextCursor;
      // Older pages are left as they are.
      if (!cursor && page.items.some(({ status }) => status === "waiting" || status === "refreshing")) {
        this.#timer = setTimeout(() => void this.#load(), POLL_MS);
      }
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
  }

  #chosen = (event: Event): void => {
    this.kind = (event.target as HTMLSelectElement).value as SourceKind;
  };

  #add = (event: Event): void => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const given = new FormData(form);
    const where = String(given.get("where") ?? "").trim();
    const permission = String(given.get("permission") ?? "").trim();
    const place =
      this.kind === "urls"
        ? { urls: where.split(/\s+/).filter(Boolean) }
        : this.kind === "s3"
          ? { prefix: where }
          : { url: where };
    const body = {
      kind: this.kind,
      ...place,
      refreshHours: Number(given.get("hours")),
      ...(permission && { requiredPermission: permission }),
    };
    void this.#do(async () => {
      await addSource(this.context.api, this.agentId, body);
      form.reset();
    }, say.added);
  };

  async #do(act: () => Promise<unknown>, done: string): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.problem = null;
    try {
      await act();
      this.context.notify(done);
      await this.#load();
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
    this.isBusy = false;
  }
}

customElements.define("document-sources", DocumentSources);
