import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import {
  decide,
  MOST_BYTES,
  type Procedure,
  type ReadProcedure,
  readProcedure,
  readSkill,
  saveSkill,
} from "./procedures-api.ts";
import { procedureTexts as say } from "./texts.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";
import "./procedure-content.ts";
import "./procedure-source.ts";

const CHANGED = new Set(["procedure_changed", "procedure_version_mismatch"]);

/** One procedure: read beside the task that it was made of, decided on, edited, and its versions. */
export class ProcedureReview extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    procedureId: { attribute: false },
    version: { attribute: false },
    shown: { state: true },
    versions: { state: true },
    cursor: { state: true },
    draft: { state: true },
    theirs: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      .beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 24px; align-items: start; }
      .acts { margin-block: 16px; }
      table { border-collapse: collapse; inline-size: 100%; }
      th, td { text-align: start; padding: 6px 10px; border-block-end: 1px solid var(--border); overflow-wrap: anywhere; }
      th { color: var(--muted); font-weight: 550; font-size: 12.5px; }
      tr[aria-current] { background: var(--surface); }
    `,
  ];
  declare context: ViewContext;
  declare agentId: string;
  declare procedureId: string;
  declare version: number | null;
  protected declare shown: ReadProcedure | null;
  protected declare versions: readonly Procedure[];
  protected declare cursor: string | null;
  /** The SKILL.md that is being written, and the version that it is a change of. */
  protected declare draft: { readonly text: string; readonly of: Procedure } | null;
  /** What others have made of it meanwhile. */
  protected declare theirs: { readonly text: string; readonly procedure: Procedure } | null;
  protected declare problem: Problem | null;
  protected declare isBusy: boolean;
  #reading = new AbortController();

  constructor() {
    super();
    this.version = null;
    this.shown = null;
    this.versions = [];
    this.cursor = null;
    this.draft = null;
    this.theirs = null;
    this.problem = null;
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("beforeunload", this.#unloading);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("beforeunload", this.#unloading);
    this.#reading.abort();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const isAnother = changed.has("agentId") || changed.has("procedureId");
    if (isAnother) this.draft = this.theirs = null;
    if (isAnother || changed.has("version")) void this.#load(this.version);
  }

  protected override render(): TemplateResult {
    const { shown } = this;
    if (!shown) {
      return html`<problem-note .problem=${this.problem} canRetry @retry=${() => this.#load(this.version)}></problem-note>
        ${this.problem ? nothing : html`<p class="muted" role="status">${texts.loading}</p>`}`;
    }
    return html`
      <h1 dir="auto">${shown.name}</h1>
      <p class="muted" role="status">${say.version} ${shown.version} · <strong>${say.statuses[shown.status]}</strong> · ${shown.scope === "tenant" ? say.everyAgent : this.agentId} · ${say.uses}: ${say.usesOf(shown.used, shown.wentWell)}${shown.reason ? html` · ${say.reasonOf}: <span dir="auto">${shown.reason}</span>` : nothing}</p>
      ${this.theirs && this.draft ? this.#conflict(this.theirs, this.draft.text) : this.draft ? this.#editor(this.draft) : this.#review(shown)}
      <problem-note .problem=${this.problem}></problem-note>
      ${this.#versions(shown)}
    `;
  }

  #review(shown: ReadProcedure): TemplateResult {
    return html`
      <div class="row acts">${this.#acts(shown)}</div>
      <div class="beside">
        <procedure-content .procedure=${shown}></procedure-content>
        <procedure-source .context=${this.context} .agentId=${this.agentId} .procedure=${shown}></procedure-source>
      </div>
    `;
  }

  #acts(shown: Procedure): TemplateResult {
    const isNewest = shown.version === this.versions[0]?.version;
    const isPending = shown.status === "pending";
    const isApproved = shown.status === "approved";
    return html`
      ${isPending ? html`<button type="button" class="primary" ?disabled=${this.isBusy} @click=${() => this.#decide("approve", "")}>${say.approve}</button>` : nothing}
      ${isNewest ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.#edit()}>${say.edit}</button>` : nothing}
      ${isPending ? html`<confirm-button label=${say.reject} question=${say.rejectSure} reason=${say.reason} needsReason .isDisabled=${this.isBusy} @confirmed=${(event: CustomEvent<string>) => this.#decide("reject", event.detail)}></confirm-button>` : nothing}
      ${isPending || isApproved ? html`<confirm-button label=${isPending ? say.withdraw : say.retire} question=${say.retireSure} reason=${say.reason} .isDisabled=${this.isBusy} @confirmed=${(event: CustomEvent<string>) => this.#decide("retire", event.detail)}></confirm-button>` : nothing}
    `;
  }

  #editor({ text, of }: { text: string; of: Procedure }): TemplateResult {
    return html`
      <p class="muted">${say.editAbout}</p>
      <div class="beside">
        <div>
          <console-code .value=${text} language="text" .label=${say.editor(of.id)} @change=${this.#typed}></console-code>
          <div class="row acts">
            <button type="button" class="primary" ?disabled=${this.isBusy} @click=${() => this.#save()}>${say.save}</button>
            <button type="button" @click=${() => this.#stop()}>${say.stopEditing}</button>
          </div>
        </div>
        <procedure-source .context=${this.context} .agentId=${this.agentId} .procedure=${of}></procedure-source>
      </div>
    `;
  }

  #conflict({ text, procedure }: { text: string; procedure: Procedure }, mine: string): TemplateResult {
    const by = procedure.decidedBy ?? procedure.createdBy;
    const now = say.now(procedure.version, say.statuses[procedure.status], by);
    return html`<section role="alert">
      <h2>${say.conflict}</h2>
      <p>${say.conflictAbout}</p>
      <console-diff .left=${text} .right=${mine} .leftLabel=${now} .rightLabel=${say.mine} language="text" .isEditable=${true} @change=${this.#typed}></console-diff>
      <div class="row acts">
        <button type="button" class="primary" @click=${() => this.#settle(procedure)}>${say.goOnWithMine}</button>
        <button type="button" @click=${() => this.#stop()}>${say.discardMine}</button>
      </div>
    </section>`;
  }

  #versions(shown: Procedure): TemplateResult {
    return html`
      <h2>${say.versions}</h2>
      <table aria-label=${say.versions}>
        <thead><tr>${[say.version, say.status, say.made, say.decided, say.uses].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
        <tbody>${this.versions.map((each) => this.#line(each, each.version === shown.version))}</tbody>
      </table>
      ${this.cursor ? html`<p></p><button type="button" @click=${() => this.#more()}>${texts.more}</button>` : nothing}
    `;
  }

  #line(each: Procedure, isShown: boolean): TemplateResult {
    const { version, status, createdBy, decidedBy, reason, used, wentWell } = each;
    return html`<tr aria-current=${isShown ? "true" : nothing}>
      <td><a href=${hrefOf(["procedures", this.agentId, this.procedureId], { version })}>${version}</a></td>
      <td>${say.statuses[status]}</td><td dir="auto">${createdBy}</td>
      <td dir="auto">${[decidedBy, reason].filter(Boolean).join(": ")}</td><td>${say.usesOf(used, wentWell)}</td>
    </tr>`;
  }

  async #load(version: number | null): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.problem = null;
    try {
      const shown = await readProcedure(this.context.api, this.agentId, this.procedureId, { version }, signal);
      if (signal.aborted) return;
      this.shown = shown;
      this.versions = shown.versions;
      this.cursor = shown.nextCursor;
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.shown = null;
      this.problem = problemOf(error);
    }
  }

  async #more(): Promise<void> {
    const { cursor } = this;
    if (!cursor) return;
    try {
      const page = await readProcedure(this.context.api, this.agentId, this.procedureId, { cursor }, this.left);
      this.versions = [...this.versions, ...page.versions];
      this.cursor = page.nextCursor;
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  async #decide(action: "approve" | "reject" | "retire", reason: string): Promise<void> {
    const { shown } = this;
    if (!shown || this.isBusy) return;
    this.isBusy = true;
    this.problem = null;
    let refusal: Problem | null = null;
    try {
      const { status } = await decide(this.context.api, this.agentId, shown, action, reason);
      const notice = say.decidedAs[status];
      if (notice) this.context.notify(notice);
    } catch (error) {
      refusal = problemOf(error);
    }
    // What somebody else has decided meanwhile is shown with the refusal.
    if (!refusal || CHANGED.has(refusal.code)) await this.#load(shown.version);
    if (refusal) {
      this.problem = refusal;
      if (CHANGED.has(refusal.code)) this.context.notify(`${say.conflict}. ${say.changed}`);
    }
    this.isBusy = false;
  }

  async #edit(): Promise<void> {
    const { shown } = this;
    if (!shown) return;
    this.problem = null;
    try {
      const [text] = await Promise.all([this.#textOf(shown), this.#loadEditor()]);
      this.draft = { text, of: shown };
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  #textOf({ version }: Procedure): Promise<string> {
    return readSkill(this.context.api, this.agentId, this.procedureId, version, this.left);
  }

  #loadEditor(): Promise<unknown> {
    return Promise.all([import("../../components/code-editor.ts"), import("../../components/code-diff.ts")]);
  }

  #typed = (event: CustomEvent<string>): void => {
    if (this.draft) this.draft = { ...this.draft, text: event.detail };
  };

  async #save(): Promise<void> {
    const { draft } = this;
    if (!draft || this.isBusy) return;
    if (new Blob([draft.text]).size > MOST_BYTES) {
      this.context.notify(say.tooLong(MOST_BYTES / 1024));
      return;
    }
    this.isBusy = true;
    this.problem = null;
    try {
      const saved = await saveSkill(this.context.api, this.agentId, draft.of, draft.text);
      this.context.notify(say.saved(saved.version));
      this.draft = null;
      location.hash = hrefOf(["procedures", this.agentId, this.procedureId], { version: saved.version });
      await this.#load(saved.version);
    } catch (error) {
      if (isAborted(error)) return;
      const problem = problemOf(error);
      this.problem = problem;
      if (CHANGED.has(problem.code)) await this.#meet();
    } finally {
      this.isBusy = false;
    }
  }

  /** Reads what others have made of the procedure, to be compared with what is written here. */
  async #meet(): Promise<void> {
    try {
      const now = await readProcedure(this.context.api, this.agentId, this.procedureId, {}, this.left);
      this.theirs = { text: await this.#textOf(now), procedure: now };
      this.versions = now.versions;
      this.cursor = now.nextCursor;
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  #settle(of: Procedure): void {
    if (this.draft) this.draft = { text: this.draft.text, of };
    this.theirs = this.problem = null;
  }

  #stop(): void {
    const newest = this.theirs?.procedure.version ?? null;
    this.draft = this.theirs = this.problem = null;
    if (newest !== null) void this.#load(newest);
  }

  #unloading = (event: BeforeUnloadEvent): void => {
    if (this.draft) event.preventDefault();
  };
}

customElements.define("procedure-review", ProcedureReview);
