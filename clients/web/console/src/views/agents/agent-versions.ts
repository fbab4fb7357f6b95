import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import type { Column, PagedTable } from "../../components/paged-table.ts";
import { base } from "../../styles/base.ts";
import type { ViewContext } from "../view.ts";
import {
  type AgentText,
  type AgentVersion,
  listVersions,
  promote,
  readFigures,
  readVersion,
  rollBack,
  setShare,
  type VersionFigures,
  withdraw,
} from "./agents-api.ts";
import { agentTexts as say } from "./texts.ts";
import "../../components/confirm-button.ts";
import "../../components/paged-table.ts";
import "../../components/problem-note.ts";

/** Characters of a reason, as the server limits them. */
const LONGEST_OVERRIDE = 300;
const NUMBER = new Intl.NumberFormat();
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** The versions of an agent: compared with what is saved, and rolled back to. Tells `restored`, or `refused`. */
export class AgentVersions extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    saved: { attribute: false },
    isChanged: { attribute: false },
    chosen: { state: true },
    text: { state: true },
    problem: { state: true },
    isUnknown: { state: true },
    figures: { state: true },
    candidate: { state: true },
  };
  static override styles = [base, css`.row { margin-block: 8px; }`];
  declare context: ViewContext;
  declare agentId: string;
  declare saved: AgentText | null;
  declare isChanged: boolean;
  protected declare chosen: AgentVersion | null;
  protected declare text: string | null;
  protected declare problem: Problem | null;
  /** There is no such agent, and there never was. */
  protected declare isUnknown: boolean;
  protected declare figures: ReadonlyMap<number, VersionFigures>;
  protected declare candidate: AgentVersion | null;

  constructor() {
    super();
    this.saved = null;
    this.isChanged = false;
    this.chosen = null;
    this.text = null;
    this.problem = null;
    this.isUnknown = false;
    this.figures = new Map();
    this.candidate = null;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has("saved") || changed.get("saved") === undefined) return;
    this.chosen = this.text = null;
    this.isUnknown = false;
    this.renderRoot.querySelector<PagedTable<AgentVersion>>("paged-table")?.reload();
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.isUnknown) return nothing;
    return html`
      <h2>${say.versions}</h2>
      <p class="faint">${say.figuresAbout}</p>
      ${this.candidate ? this.#rollout(this.candidate) : nothing}
      <paged-table .columns=${this.#columns} .read=${this.#read} .keyOf=${keyOf} label=${say.versions}></paged-table>
      ${this.chosen && this.text !== null ? this.#comparison(this.chosen, this.text) : nothing}
      <problem-note .problem=${this.problem}></problem-note>
    `;
  }

  #comparison(chosen: AgentVersion, text: string): TemplateResult {
    const { version } = chosen;
    return html`
      <h2>${say.comparing(version)}</h2>
      <console-diff .left=${text} .right=${this.saved?.text ?? ""} .leftLabel=${say.theirs(version, chosen.createdBy)} .rightLabel=${say.now}></console-diff>
      <div class="row">
        ${
          version === this.saved?.version
            ? nothing
            : html`<label>${say.override}<input name="rollback-override" dir="auto" maxlength=${LONGEST_OVERRIDE} /></label>
        <confirm-button label=${say.rollBack(version)} question=${this.isChanged ? `${say.unsaved} ${say.rollBackSure}` : say.rollBackSure} reason=${say.comment} @confirmed=${(event: CustomEvent<string>) => this.#rollBack(version, event.detail)}></confirm-button>`
        }
      </div>
    `;
  }

  #rollout({ version, share }: AgentVersion): TemplateResult {
    const { api } = this.context;
    return html`<form class="row" @submit=${this.#submitShare}>
      <label>${say.share}<input name="share" type="number" min="0" max="100" step="1" required .value=${String(share ?? 0)} /></label>
      <label>${say.override}<input name="override" dir="auto" maxlength=${LONGEST_OVERRIDE} /></label>
      <button type="submit">${say.setShare(version)}</button>
      <confirm-button label=${say.promote(version)} question=${say.promoteSure} reason=${say.override} @confirmed=${(event: CustomEvent<string>) => this.#change(() => promote(api, this.agentId, version, event.detail))}></confirm-button>
      <confirm-button label=${say.withdraw(version)} question=${say.withdrawSure} @confirmed=${() => this.#change(() => withdraw(api, this.agentId))}></confirm-button>
    </form>`;
  }

  readonly #columns: readonly Column<AgentVersion>[] = [
    { head: say.version, cell: ({ version }) => version, isNumber: true },
    {
      head: say.state,
      cell: ({ state, share }) => (share === null ? say.states[state] : `${say.states[state]}: ${say.ofNew(share)}`),
    },
    { head: say.turns, cell: ({ version }) => this.#show(version, (counts) => `${counts.turns}, ${counts.failures}`) },
    {
      head: say.tokens,
      cell: ({ version }) => this.#show(version, (counts) => NUMBER.format(counts.inputTokens + counts.outputTokens)),
    },
    {
      head: say.cost,
      cell: ({ version }) => this.#show(version, ({ cost }) => (cost === null ? "–" : cost.toFixed(4))),
    },
    { head: say.rated, cell: ({ version }) => this.#show(version, ({ ups, downs }) => `${ups}, ${downs}`) },
    {
      head: say.evaluated,
      cell: ({ evaluation }) => (evaluation ? say.passed(evaluation.passed, evaluation.runs) : ""),
    },
    { head: say.by, cell: ({ createdBy }) => createdBy },
    {
      head: say.at,
      cell: ({ createdAt }) => html`<time datetime=${createdAt}>${WHEN.format(new Date(createdAt))}</time>`,
    },
    {
      head: say.why,
      cell: ({ comment, isDeletion, restores }) =>
        [isDeletion && say.deleted, restores && say.restores(restores), comment].filter(Boolean).join(" · "),
    },
    {
      head: say.acts,
      cell: (each) =>
        each.isDeletion
          ? nothing
          : html`<button type="button" class="link" aria-label="${say.compare} ${each.version}" @click=${() => this.#choose(each)}>${say.compare}</button>`,
    },
  ];

  #read = async (cursor: string | null, signal: AbortSignal) => {
    try {
      if (cursor === null) this.figures = await readFigures(this.context.api, this.agentId, signal);
      const page = await listVersions(this.context.api, this.agentId, cursor, signal);
      if (cursor === null) this.candidate = page.items.find(({ state }) => state === "candidate") ?? null;
      return page;
    } catch (error) {
      if (isAborted(error) || problemOf(error).code !== "unknown_agent") throw error;
      this.isUnknown = this.saved === null;
      return { items: [], nextCursor: null };
    }
  };

  async #choose(version: AgentVersion): Promise<void> {
    this.problem = null;
    try {
      this.text = await readVersion(this.context.api, this.agentId, version.version, this.left);
      this.chosen = version;
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  #show(version: number, show: (figures: VersionFigures) => string): string {
    const figures = this.figures.get(version);
    return figures ? show(figures) : "";
  }

  #submitShare = (event: SubmitEvent): void => {
    event.preventDefault();
    const { candidate } = this;
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const share = Number(form.get("share"));
    const override = String(form.get("override") ?? "").trim();
    if (candidate)
      void this.#change(() => setShare(this.context.api, this.agentId, candidate.version, share, override));
  };

  /** Changes the candidate, and reads the versions again. */
  async #change(change: () => Promise<void>): Promise<void> {
    this.problem = null;
    try {
      await change();
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
    this.renderRoot.querySelector<PagedTable<AgentVersion>>("paged-table")?.reload();
  }

  async #rollBack(version: number, comment: string): Promise<void> {
    this.problem = null;
    const override = this.renderRoot.querySelector<HTMLInputElement>("[name=rollback-override]")?.value.trim() ?? "";
    try {
      const saved = this.saved?.version ?? null;
      const made = await rollBack(this.context.api, this.agentId, version, saved, comment, override);
      this.dispatchEvent(new CustomEvent("restored", { detail: made }));
    } catch (error) {
      if (isAborted(error)) return;
      const problem = problemOf(error);
      if (problem.code === "agent_version_mismatch")
        this.dispatchEvent(new CustomEvent("refused", { detail: problem }));
      else this.problem = problem;
    }
  }
}

const keyOf = ({ version }: AgentVersion): string => String(version);

customElements.define("agent-versions", AgentVersions);
