import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { hrefOf } from "../../routes.ts";
import { may } from "../../session/session.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import { type Procedure, readSource, type SourceMessage, type SourceTurns } from "./procedures-api.ts";
import { procedureTexts as say } from "./texts.ts";
import "../../components/problem-note.ts";

/** The task that a version was made of, as text. */
export class ProcedureSource extends LitElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    procedure: { attribute: false },
    turns: { state: true },
    problem: { state: true },
  };
  static override styles = [
    base,
    css`
      ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
      li { border: 1px solid var(--border); border-radius: var(--radius); padding: 8px 12px; }
      li.tool { background: var(--surface); }
      pre { margin: 2px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 16rem; overflow: auto; }
      .said { font: inherit; }
      strong { font-size: 12.5px; color: var(--muted); }
    `,
  ];
  declare context: ViewContext;
  declare agentId: string;
  declare procedure: Procedure;
  protected declare turns: SourceTurns | null;
  protected declare problem: Problem | null;
  #reading = new AbortController();

  constructor() {
    super();
    this.turns = null;
    this.problem = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("procedure");
    if (!changed.has("procedure") || (before?.id === this.procedure.id && before.version === this.procedure.version))
      return;
    this.#reading.abort();
    this.turns = null;
    if (this.procedure.source) void this.#load();
  }

  protected override render(): TemplateResult {
    return html`<h2>${say.source}</h2>${this.#content()}<problem-note .problem=${this.problem} canRetry @retry=${() => this.#load()}></problem-note>`;
  }

  #content(): unknown {
    if (!this.procedure.source) return html`<p class="muted">${say.noSource}</p>`;
    const { turns } = this;
    if (!turns) return this.problem ? nothing : html`<p class="muted" role="status">${texts.loading}</p>`;
    const { threadId, runId, messages, missing, redacted } = turns;
    const canOpen = threadId !== null && may(this.context.person, "thread:read_all");
    return html`
      ${redacted ? html`<p class="muted">${say.redacted}</p>` : nothing}
      ${messages.length ? html`<ol>${messages.map((each) => this.#message(each))}</ol>` : html`<p class="muted">${say.goneSource}</p>`}
      ${missing ? html`<p class="muted">${say.missing(missing)}</p>` : nothing}
      ${canOpen ? html`<p><a href=${hrefOf(["threads", threadId], { at: runId })}>${say.openTurn}</a></p>` : nothing}
    `;
  }

  #message({ role, agentId, text, toolCalls, toolName, outcome, cut }: SourceMessage): TemplateResult {
    const who =
      role === "tool"
        ? `${say.roles.tool}: ${toolName ?? ""} ${outcome ? say.outcomes[outcome] : ""}`
        : say.roles[role];
    return html`<li class=${role}>
      <strong>${who} ${role === "assistant" ? (agentId ?? "") : ""}</strong>
      ${text ? html`<pre class=${role === "tool" ? "" : "said"} dir="auto">${text}</pre>` : nothing}
      ${toolCalls.map((call) => html`<pre dir="auto">${say.called(call.name)}\n${call.arguments}</pre>`)}
      ${cut ? html`<small class="muted">${say.cut}</small>` : nothing}
    </li>`;
  }

  async #load(): Promise<void> {
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.problem = null;
    try {
      const { id, version } = this.procedure;
      const turns = await readSource(this.context.api, this.agentId, id, version, signal);
      if (!signal.aborted) this.turns = turns;
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
  }
}

customElements.define("procedure-source", ProcedureSource);
