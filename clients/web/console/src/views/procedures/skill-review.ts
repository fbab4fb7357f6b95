import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { PageElement } from "../../components/page-element.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import { decide, declineSkill, offerSkill, type Procedure, readProcedure, shareSkill } from "./procedures-api.ts";
import { procedureTexts as say } from "./texts.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";
import "./procedure-content.ts";

/** A private skill: one that a user offers, to be shared or declined, or the reader's own. */
export class SkillReview extends PageElement {
  static override properties = {
    context: { attribute: false },
    agentId: { attribute: false },
    skillId: { attribute: false },
    userId: { attribute: false },
    shown: { state: true },
    rival: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  static override styles = [base, css`.acts { margin-block: 16px; }`];
  declare context: ViewContext;
  declare agentId: string;
  declare skillId: string;
  /** Its maker; null for the reader. */
  declare userId: string | null;
  protected declare shown: Procedure | null;
  /** The approved version of the same name, once sharing was refused because of it. */
  protected declare rival: Procedure | null;
  protected declare problem: Problem | null;
  protected declare isBusy: boolean;
  #reading = new AbortController();

  constructor() {
    super();
    this.userId = null;
    this.shown = null;
    this.rival = null;
    this.problem = null;
    this.isBusy = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#reading.abort();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("agentId") || changed.has("skillId") || changed.has("userId")) void this.#load();
  }

  get #isOwn(): boolean {
    return this.shown?.createdBy === this.context.person.userId;
  }

  protected override render(): TemplateResult {
    const { shown } = this;
    if (!shown) {
      return html`<problem-note .problem=${this.problem} canRetry @retry=${() => this.#load()}></problem-note>
        ${this.problem ? nothing : html`<p class="muted" role="status">${texts.loading}</p>`}`;
    }
    return html`
      <h1 dir="auto">${shown.name}</h1>
      <p class="muted" role="status">${this.#isOwn ? say.ownSkill : say.skillOf(shown.createdBy)} · ${say.version} ${shown.version} · <strong>${say.statuses[shown.status]}</strong> · ${this.agentId}${shown.reason ? html` · ${say.reasonOf}: <span dir="auto">${shown.reason}</span>` : nothing}</p>
      <p>${say.skillAbout}</p>
      <div class="row acts">${this.#acts(shown)}</div>
      <problem-note .problem=${this.problem}></problem-note>
      <procedure-content .procedure=${shown}></procedure-content>
    `;
  }

  #acts(shown: Procedure): TemplateResult {
    const isOffered = shown.status === "offered";
    const isOwn = this.#isOwn;
    const canShare = isOffered || (isOwn && shown.status === "private");
    return html`
      ${canShare ? this.#sharing(shown) : nothing}
      ${isOffered && !isOwn ? html`<confirm-button label=${say.decline} question=${say.declineSure} reason=${say.reason} needsReason .isDisabled=${this.isBusy} @confirmed=${(event: CustomEvent<string>) => this.#decline(shown, event.detail)}></confirm-button>` : nothing}
      ${isOwn && canShare ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.#offer(shown, !isOffered)}>${isOffered ? say.withdrawOffer : say.offer}</button>` : nothing}
      ${isOwn ? html`<confirm-button label=${say.remove} question=${say.removeSure} .isDisabled=${this.isBusy} @confirmed=${() => this.#remove(shown)}></confirm-button>` : nothing}
    `;
  }

  #sharing(shown: Procedure): TemplateResult {
    const { rival } = this;
    const label = rival ? say.replace(rival.version) : say.share;
    const question = rival ? say.replaceSure(rival.version, rival.decidedBy) : say.shareSure;
    return html`<confirm-button label=${label} question=${question} .isDisabled=${this.isBusy} @confirmed=${() => this.#share(shown, rival?.version ?? null)}></confirm-button>`;
  }

  async #load(): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    this.problem = this.rival = null;
    try {
      const shown = await readProcedure(this.context.api, this.agentId, this.skillId, { userId: this.userId }, signal);
      if (!signal.aborted) this.shown = shown;
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.shown = null;
      this.problem = problemOf(error);
    }
  }

  #share(skill: Procedure, replaces: number | null): Promise<void> {
    return this.#act(async () => {
      try {
        const { version, id } = await shareSkill(this.context.api, skill, replaces);
        this.context.notify(say.shared(version));
        location.hash = hrefOf(["procedures", this.agentId, id], { version });
      } catch (error) {
        if (problemOf(error).code === "procedure_name_taken") this.rival = await this.#approved(skill);
        throw error;
      }
    });
  }

  /** Reads the approved version of the name that a skill has. */
  async #approved(skill: Procedure): Promise<Procedure | null> {
    const id = skill.id.slice("user.".length);
    const { versions } = await readProcedure(this.context.api, this.agentId, id, {}, this.left);
    return versions.find(({ status }) => status === "approved") ?? null;
  }

  #decline(skill: Procedure, reason: string): Promise<void> {
    return this.#act(async () => {
      await declineSkill(this.context.api, skill, reason);
      this.#leave(say.declined);
    });
  }

  #offer(skill: Procedure, isOffered: boolean): Promise<void> {
    return this.#act(async () => {
      this.shown = await offerSkill(this.context.api, skill, isOffered);
      if (isOffered) this.context.notify(say.offered);
    });
  }

  #remove(skill: Procedure): Promise<void> {
    return this.#act(async () => {
      await decide(this.context.api, this.agentId, skill, "retire", "");
      this.#leave(say.removed);
    });
  }

  #leave(message: string): void {
    this.context.notify(message);
    location.hash = hrefOf(["procedures"], { status: this.#isOwn ? "private" : "offered" });
  }

  async #act(act: () => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.problem = null;
    try {
      await act();
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    } finally {
      this.isBusy = false;
    }
  }
}

customElements.define("skill-review", SkillReview);
