import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { type Problem, problemOf } from "../../api/problem.ts";
import type { BackgroundTask, Thread } from "../../api/shapes.ts";
import { when } from "../../components/numbers.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";

const { background: words } = texts;

/** The work in the background of a conversation, which its user can cancel. Nothing, where there is none. */
export class BackgroundTasks extends LitElement {
  static override properties = {
    context: { attribute: false },
    thread: { attribute: false },
    tasks: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      section { margin-block-end: 16px; }
      h2 { margin-block-start: 0; }
      .scroll { overflow-x: auto; border: 1px solid var(--border); border-radius: var(--radius); }
      table { border-collapse: collapse; inline-size: 100%; }
      th, td { padding: 6px 10px; text-align: start; vertical-align: top; }
      th { color: var(--muted); font-weight: 500; }
      td:nth-child(n + 3) { white-space: nowrap; }
      tbody tr { border-block-start: 1px solid var(--border); }
    `,
  ];
  declare context: ViewContext;
  /** Asked about again with each newer one. */
  declare thread: Thread;
  protected declare tasks: readonly BackgroundTask[];
  protected declare problem: Problem | null;
  protected declare isBusy: boolean;

  constructor() {
    super();
    this.tasks = [];
    this.problem = null;
    this.isBusy = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("thread")) void this.#read();
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.tasks.length) return nothing;
    const heads = [words.task, texts.state, words.started, words.expires, words.result, texts.action];
    return html`<section>
      <h2>${words.title}</h2>
      <problem-note .problem=${this.problem}></problem-note>
      <div class="scroll" tabindex="0" role="region" aria-label=${words.title}>
        <table>
          <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
          <tbody>${this.tasks.map((task) => this.#row(task))}</tbody>
        </table>
      </div>
    </section>`;
  }

  #row({ taskId, kind, name, status, progress, startedAt, expiresAt, resultRunId }: BackgroundTask): TemplateResult {
    const isOpen = status === "working" || status === "waiting";
    const result = resultRunId ? hrefOf(["threads", this.thread.id], { at: `turn:${resultRunId}` }) : null;
    return html`<tr>
      <td>${kind === "agent" ? html`<a href=${hrefOf(["threads", taskId])}>${name}</a>` : name}</td>
      <td>${words.statuses[status]}${progress ? html`<div class="muted" dir="auto">${progress}</div>` : nothing}</td>
      <td>${when(startedAt)}</td>
      <td>${isOpen ? when(expiresAt) : nothing}</td>
      <td>${result ? html`<a href=${result}>${words.result}</a>` : nothing}</td>
      <td>${isOpen && this.#isOwn ? html`<confirm-button label=${words.cancel} question=${words.cancelSure} .isDisabled=${this.isBusy} @confirmed=${() => this.#cancel(taskId)}></confirm-button>` : nothing}</td>
    </tr>`;
  }

  get #isOwn(): boolean {
    return this.thread.userId === this.context.person.userId;
  }

  async #cancel(taskId: string): Promise<void> {
    this.isBusy = true;
    this.problem = null;
    try {
      await this.context.api.request(["threads", this.thread.id, "background", taskId], { method: "DELETE" });
    } catch (error) {
      this.problem = problemOf(error);
    }
    await this.#read();
    this.isBusy = false;
  }

  /** A list that cannot be read is left as it was: the conversation is what the reader has come for. */
  async #read(): Promise<void> {
    const { id } = this.thread;
    const path = ["threads", id, "background"];
    const page = await this.context.api.get<{ items: readonly BackgroundTask[] }>(path).catch(() => null);
    if (page && id === this.thread.id) this.tasks = page.items;
  }
}

customElements.define("background-tasks", BackgroundTasks);
