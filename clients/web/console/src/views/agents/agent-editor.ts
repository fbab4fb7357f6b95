import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import type { ConsoleCode, LineProblem } from "../../components/code-editor.ts";
import type { Help } from "../../components/code-setup.ts";
import { PageElement } from "../../components/page-element.ts";
import { hrefOf } from "../../routes.ts";
import type { Person } from "../../session/session.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import {
  type AgentChange,
  type AgentText,
  deleteAgent,
  listVersions,
  MOST_BYTES,
  problemsOf,
  readAgent,
  saveAgent,
} from "./agents-api.ts";
import { agentTexts as say } from "./texts.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";
import "./agent-changes.ts";
import "./agent-versions.ts";

const CHECK_MS = 600;
const NEW = (id: string) =>
  `id: ${id}\nname: ${id}\ndescription: What it does.\nmain: true\nsystem_prompt: |-\n  You help the user.\n`;

/** What somebody else has saved meanwhile; without a text it was deleted. */
interface Theirs {
  readonly saved: AgentText | null;
  readonly by: string;
}

/** What is being written, with the version that it is a change of. It goes with the person who writes it. */
const drafts = new WeakMap<Person, Map<string, { text: string; saved: AgentText | null }>>();

/** One agent's definition: read, checked while it is written, saved, and compared with what others have saved. */
export class AgentEditor extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    from: { attribute: false },
    saved: { state: true },
    text: { state: true },
    change: { state: true },
    wrong: { state: true },
    problem: { state: true },
    theirs: { state: true },
    help: { state: true },
    comment: { state: true },
    isReady: { state: true },
    isBusy: { state: true },
    isChecking: { state: true },
  };
  static override styles = [
    base,
    css`
      .state { min-block-size: 1.5em; margin-block: 8px; }
      .wrong { padding-inline-start: 20px; margin: 4px 0 12px; }
      .save { margin-block: 12px; }
      .save input { inline-size: 26rem; }
      section { margin-block-start: 20px; }
    `,
  ];
  declare context: ViewContext;
  declare agentId: string;
  /** The agent that a new one is a copy of. */
  declare from: string | null;
  /** What is stored; null: there is no such agent. */
  protected declare saved: AgentText | null;
  protected declare text: string;
  /** What saving would change, as far as it was checked. */
  protected declare change: AgentChange | null;
  protected declare wrong: readonly LineProblem[];
  protected declare problem: Problem | null;
  protected declare theirs: Theirs | null;
  protected declare help: Help;
  protected declare comment: string;
  protected declare isReady: boolean;
  protected declare isBusy: boolean;
  protected declare isChecking: boolean;
  #check = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.from = null;
    this.saved = null;
    this.text = "";
    this.change = null;
    this.wrong = [];
    this.problem = null;
    this.theirs = null;
    this.help = {};
    this.comment = "";
    this.isReady = false;
    this.isBusy = false;
    this.isChecking = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("beforeunload", this.#unloading);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("beforeunload", this.#unloading);
    clearTimeout(this.#timer);
    this.#check.abort();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("agentId")) void this.#load();
  }

  get #isShipped(): boolean {
    return this.saved !== null && this.saved.version === null;
  }

  get #isChanged(): boolean {
    return this.isReady && this.text !== (this.saved?.text ?? "");
  }

  protected override render(): TemplateResult {
    if (!this.isReady) {
      return html`<problem-note .problem=${this.problem} canRetry @retry=${() => this.#load()}></problem-note>
        ${this.problem ? nothing : html`<p class="muted" role="status">${texts.loading}</p>`}`;
    }
    return html`
      ${this.#isShipped ? this.#shipped() : nothing}
      ${this.theirs ? this.#conflict(this.theirs) : this.#editor()}
      <problem-note .problem=${this.problem}></problem-note>
      ${this.#isShipped ? nothing : this.#foot()}
    `;
  }

  #shipped(): TemplateResult {
    return html`<form class="row" @submit=${this.#copy}>
      <p class="muted">${say.readOnly}</p>
      <label>${say.newId}<input name="id" required pattern="[a-z][a-z0-9_\\-]{0,40}" title=${say.idRule} autocomplete="off" spellcheck="false" /></label>
      <button type="submit">${say.copy}</button>
    </form>`;
  }

  #editor(): TemplateResult {
    return html`
      <console-code .value=${this.text} language="yaml" .label=${say.editor(this.agentId)} .isReadOnly=${this.#isShipped}
        .problems=${this.wrong} .help=${this.help} @change=${this.#typed}></console-code>
      ${this.#isShipped ? nothing : this.#checked()}
    `;
  }

  #checked(): TemplateResult {
    const state = this.isChecking
      ? html`<span class="muted">${say.checking}</span>`
      : this.wrong.length
        ? html`<span class="bad">${say.problems(this.wrong.length)}</span>`
        : this.change
          ? html`<span class="good">${this.change.changes.length || this.change.isNew ? say.valid : say.unchanged}</span>`
          : nothing;
    const canSave = !this.isBusy && !this.wrong.length && this.#isChanged;
    return html`
      <div class="state" role="status">${state}</div>
      ${this.wrong.length ? html`<ul class="wrong">${this.wrong.map((each) => this.#wrong(each))}</ul>` : nothing}
      <form class="row save" @submit=${this.#save}>
        <label>${say.comment}<input .value=${this.comment} maxlength="200" dir="auto" @input=${this.#commented} /></label>
        <button type="submit" class="primary" ?disabled=${!canSave}>${say.save}</button>
      </form>
      ${this.change && !this.wrong.length ? html`<agent-changes .change=${this.change}></agent-changes>` : nothing}
    `;
  }

  #wrong({ line, message }: LineProblem): TemplateResult {
    if (line === null) return html`<li dir="auto">${message}</li>`;
    return html`<li><button type="button" class="link" @click=${() => this.#code?.showLine(line)}>${say.line(line)}</button> <span dir="auto">${message}</span></li>`;
  }

  #conflict({ saved, by }: Theirs): TemplateResult {
    return html`<section role="alert">
      <h2>${say.conflict}</h2>
      <p>${saved ? say.conflictAbout(saved.version ?? 0, by) : say.gone}</p>
      <console-diff .left=${saved?.text ?? ""} .right=${this.text} .leftLabel=${saved ? say.theirs(saved.version ?? 0, by) : ""}
        .rightLabel=${say.mine} .isEditable=${true} @change=${this.#merged}></console-diff>
      <div class="row save">
        <button type="button" class="primary" @click=${() => this.#settle(this.text)}>${say.goOnWithMine}</button>
        <button type="button" ?disabled=${!saved} @click=${() => this.#settle(saved?.text ?? "")}>${say.discardMine}</button>
      </div>
    </section>`;
  }

  #foot(): TemplateResult {
    const version = this.saved?.version;
    return html`
      <agent-versions .context=${this.context} .agentId=${this.agentId} .saved=${this.saved} .isChanged=${this.#isChanged}
        @restored=${this.#restored} @refused=${(event: CustomEvent<Problem>) => this.#refused(event.detail)}></agent-versions>
      ${version == null ? nothing : html`<section><confirm-button label=${say.remove} question=${say.removeSure(this.agentId)} .isDisabled=${this.isBusy} @confirmed=${() => this.#delete(version)}></confirm-button></section>`}
    `;
  }

  get #code(): ConsoleCode | null {
    return this.renderRoot.querySelector<ConsoleCode>("console-code");
  }

  async #load(): Promise<void> {
    const signal = this.left;
    this.isReady = false;
    this.problem = this.theirs = this.change = null;
    this.wrong = [];
    try {
      const [saved] = await Promise.all([this.#read(), this.#loadEditor()]);
      if (signal.aborted) return;
      const kept = this.#drafts.get(this.agentId);
      this.saved = saved;
      this.text = kept?.text ?? saved?.text ?? (await this.#beginning());
      this.isReady = true;
      if (kept && kept.saved?.version !== saved?.version) await this.#meet(kept.saved);
      else if (this.#isChanged) this.#checkSoon();
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  /** Returns what is stored; null if there is no such agent, or none any more. */
  async #read(): Promise<AgentText | null> {
    try {
      return await readAgent(this.context.api, this.agentId, this.left);
    } catch (error) {
      if (!isAborted(error) && problemOf(error).code === "unknown_agent") return null;
      throw error;
    }
  }

  async #beginning(): Promise<string> {
    if (!this.from) return NEW(this.agentId);
    const { text } = await readAgent(this.context.api, this.from, this.left);
    return text.replace(/^id: .*$/m, `id: ${this.agentId}`);
  }

  async #loadEditor(): Promise<void> {
    const [schema, { AgentSchema }, { agentHelp }] = await Promise.all([
      import("./agent-schema.json"),
      import("./schema.ts"),
      import("./agent-help.ts"),
      import("../../components/code-editor.ts"),
      import("../../components/code-diff.ts"),
    ]);
    this.help = agentHelp(new AgentSchema(schema.default));
  }

  #typed = (event: CustomEvent<string>): void => {
    this.text = event.detail;
    this.#keep();
    this.#checkSoon();
  };

  #merged = (event: CustomEvent<string>): void => {
    this.text = event.detail;
    this.#keep();
  };

  #commented = (event: Event): void => {
    this.comment = (event.target as HTMLInputElement).value;
  };

  #checkSoon(): void {
    clearTimeout(this.#timer);
    this.#check.abort();
    this.isChecking = true;
    this.#timer = setTimeout(() => void this.#checkNow(), CHECK_MS);
  }

  /** Has the server check the text as it is, and say what saving would change. */
  async #checkNow(): Promise<void> {
    this.#check = new AbortController();
    const { signal } = this.#check;
    this.problem = null;
    try {
      if (this.#isTooLong()) return;
      this.change = await saveAgent(this.context.api, this.agentId, this.text, this.saved?.version ?? null, {
        dryRun: true,
        signal,
      });
      this.wrong = [];
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      await this.#refused(problemOf(error));
    } finally {
      if (!signal.aborted) this.isChecking = false;
    }
  }

  #isTooLong(): boolean {
    if (new Blob([this.text]).size <= MOST_BYTES) return false;
    this.change = null;
    this.wrong = [{ line: null, message: say.tooLong(MOST_BYTES / 1024) }];
    return true;
  }

  #save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (this.isBusy || this.#isTooLong()) return;
    clearTimeout(this.#timer);
    this.#check.abort();
    this.isChecking = false;
    this.isBusy = true;
    this.problem = null;
    try {
      const version = this.saved?.version ?? null;
      const made = await saveAgent(this.context.api, this.agentId, this.text, version, { comment: this.comment });
      this.context.notify(made.isStored ? say.saved(made.version) : say.unchanged);
      this.#forget();
      this.saved = await readAgent(this.context.api, this.agentId, this.left);
      this.text = this.saved.text;
      this.comment = "";
      this.change = null;
    } catch (error) {
      if (!isAborted(error)) await this.#refused(problemOf(error));
    }
    this.isBusy = false;
  };

  async #delete(version: number): Promise<void> {
    this.isBusy = true;
    this.problem = null;
    try {
      await deleteAgent(this.context.api, this.agentId, version);
      this.#forget();
      this.saved = null;
      this.text = "";
      this.context.notify(say.removed);
      location.hash = hrefOf(["agents"]);
    } catch (error) {
      if (!isAborted(error)) await this.#refused(problemOf(error));
    }
    this.isBusy = false;
  }

  /** Shows why the server refused; what is written stays. */
  async #refused(problem: Problem): Promise<void> {
    this.change = null;
    if (problem.code === "invalid_agent") this.wrong = problemsOf(problem);
    else if (problem.code === "agent_version_mismatch") await this.#meet(this.saved);
    else this.problem = problem;
  }

  /** Reads what somebody else has saved since `known`, to be compared with what is written here. */
  async #meet(known: AgentText | null): Promise<void> {
    try {
      const now = await this.#read();
      if (now?.version === known?.version) return;
      const newest = now ? (await listVersions(this.context.api, this.agentId, null, this.left)).items[0] : null;
      this.saved = now;
      if (now && now.text === this.text) return;
      this.theirs = { saved: now, by: newest?.createdBy ?? "" };
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  #settle(text: string): void {
    this.saved = this.theirs?.saved ?? null;
    this.theirs = null;
    this.text = text;
    if (this.#isChanged) this.#keep();
    else this.#forget();
    this.#checkSoon();
  }

  #restored = (event: CustomEvent<AgentChange>): void => {
    this.context.notify(say.saved(event.detail.version));
    this.#forget();
    void this.#load();
  };

  #copy = (event: Event): void => {
    event.preventDefault();
    const id = new FormData(event.target as HTMLFormElement).get("id");
    if (typeof id === "string" && id) location.hash = hrefOf(["agents", id], { from: this.agentId });
  };

  get #drafts(): Map<string, { text: string; saved: AgentText | null }> {
    const { person } = this.context;
    const found = drafts.get(person) ?? new Map();
    drafts.set(person, found);
    return found;
  }

  #keep(): void {
    this.#drafts.set(this.agentId, { text: this.text, saved: this.saved });
  }

  #forget(): void {
    this.#drafts.delete(this.agentId);
  }

  #unloading = (event: BeforeUnloadEvent): void => {
    if (this.#isChanged && this.#drafts.has(this.agentId)) event.preventDefault();
  };
}

customElements.define("agent-editor", AgentEditor);
