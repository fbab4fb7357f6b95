import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { type Problem, problemOf } from "../../api/problem.ts";
import { count, when } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import "../../components/problem-note.ts";

const LOOK_MS = 3_000;

interface ForgetRequest {
  readonly requestId: string;
  readonly userId: string;
  readonly status: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly endedAt: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly residue: Readonly<Record<string, number>>;
}

/** How far a request to forget has come: what was removed, and what the last check of every store has found. */
export class ForgetReport extends LitElement {
  static override properties = {
    context: { attribute: false },
    requestId: { attribute: false },
    request: { state: true },
    problem: { state: true },
  };
  static override styles = [
    base,
    css`
      section { border: 1px solid var(--border); border-radius: var(--radius); padding: 12px 14px; max-inline-size: 640px; margin-block-end: 16px; }
      h2 { margin-block-start: 0; }
      dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 16px; margin: 0; }
      dt { color: var(--muted); }
      dd { margin: 0; overflow-wrap: anywhere; }
    `,
  ];
  declare context: ViewContext;
  declare requestId: string;
  protected declare request: ForgetRequest | null;
  protected declare problem: Problem | null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.request = null;
    this.problem = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("requestId")) return;
    this.request = null;
    void this.#look();
  }

  protected override render(): TemplateResult {
    const { request } = this;
    return html`
      <problem-note .problem=${this.problem} canRetry @retry=${this.#look}></problem-note>
      ${request ? this.#report(request) : nothing}
    `;
  }

  #report(request: ForgetRequest): TemplateResult {
    const left = Object.values(request.residue).reduce((sum, each) => sum + each, 0);
    return html`<section aria-label=${texts.forgetReport}>
      <h2>${texts.forgetReport}</h2>
      <dl>
        <dt>${texts.user}</dt><dd dir="auto">${request.userId}</dd>
        <dt>${texts.status}</dt><dd role="status" class=${request.status === "completed" ? "good" : request.status === "failed" ? "bad" : ""}>${request.status}</dd>
        <dt>${texts.requestedBy}</dt><dd dir="auto">${request.requestedBy}, ${when(request.requestedAt)}</dd>
        <dt>${texts.ended}</dt><dd>${when(request.endedAt)}</dd>
        <dt>${texts.removed}</dt><dd>${counts(request.counts)}</dd>
        <dt>${texts.residue}</dt><dd class=${left ? "bad" : ""}>${left || request.endedAt ? `${count(left)} ${counts(request.residue)}` : texts.notYetChecked}</dd>
      </dl>
    </section>`;
  }

  #look = async (): Promise<void> => {
    clearTimeout(this.#timer);
    const asked = this.requestId;
    try {
      const request = await this.context.api.get<ForgetRequest>(["forget-requests", asked]);
      if (asked !== this.requestId) return;
      this.request = request;
      this.problem = null;
    } catch (error) {
      this.problem = problemOf(error);
      if (!this.problem.retryable) return;
    }
    if (this.isConnected && !this.request?.endedAt) this.#timer = setTimeout(this.#look, LOOK_MS);
  };
}

function counts(numbers: Readonly<Record<string, number>>): string {
  return Object.entries(numbers)
    .map(([name, number]) => `${name}: ${count(number)}`)
    .join(", ");
}

customElements.define("forget-report", ForgetReport);
