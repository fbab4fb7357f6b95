import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import { count, when } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import "../../components/problem-note.ts";

const NAMES = [
  "agents",
  "documentsPerAgent",
  "capturesPerDay",
  "threadTokens",
  "runsAtOnce",
  "userRunsAtOnce",
  "messagesPerMinute",
  "userMessagesPerMinute",
  "tokensPerDay",
  "userTokensPerDay",
  "connections",
  "userConnections",
  "followStreams",
  "userFollowStreams",
] as const;
type Name = (typeof NAMES)[number];
type Amounts = Readonly<Record<Name, number | null>>;
/** The rules for runs that begin by themselves: the switch can be changed here, the others stay. */
type Rules = Readonly<{ enabled: boolean }>;
interface WithRules {
  readonly selfStartedRuns: Rules | null;
  readonly spending: Spending | null;
}
/** The rules for what models may cost: the switch and the tenant's limits can be changed here, the others stay. */
type Spending = Readonly<{ enabled: boolean; tenant: Money }>;
type Money = Readonly<Record<MoneyName, number | null>>;
const MONEY = ["perDay", "perMonth"] as const;
type MoneyName = (typeof MONEY)[number];

interface Limits {
  readonly limits: Amounts & WithRules;
  readonly deployment: Amounts & WithRules;
  readonly effective: Amounts & WithRules;
  readonly changedBy: string | null;
  readonly changedAt: string | null;
}

interface Read {
  readonly value: Limits;
  readonly etag: string | null;
}

const words = texts.inLimits;

/** What the tenant may have. Nobody's change replaces another's that its author has not seen. */
export class LimitsView extends View {
  static override properties = {
    ...View.properties,
    read: { state: true },
    entered: { state: true },
    isOff: { state: true },
    money: { state: true },
    isStopped: { state: true },
    problem: { state: true },
    theirs: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      form { display: grid; gap: 16px; max-inline-size: 640px; }
      .limit { border: 1px solid var(--border); border-radius: var(--radius); padding: 12px 14px; display: grid; gap: 4px; }
      input[type="number"] { inline-size: 14em; }
      .changed { border: 1px solid var(--warning); border-radius: var(--radius); padding: 12px 14px; margin-block: 12px; max-inline-size: 640px; }
      dl { display: grid; grid-template-columns: auto auto; gap: 2px 16px; justify-content: start; }
      dd { margin: 0; }
    `,
  ];
  protected declare read: Read | null;
  /** What the person has entered, by name; what they have not touched is not in it. */
  protected declare entered: Readonly<Partial<Record<Name, string>>>;
  /** Whether the person has switched runs that begin by themselves off; null while they have not touched the switch. */
  protected declare isOff: boolean | null;
  /** What the person has entered of what models may cost. */
  protected declare money: Readonly<Partial<Record<MoneyName, string>>>;
  /** Whether the person has stopped the calls of models; null while they have not touched the switch. */
  protected declare isStopped: boolean | null;
  protected declare problem: Problem | null;
  /** What somebody else has set meanwhile. */
  protected declare theirs: Read | null;
  protected declare isBusy: boolean;

  constructor() {
    super();
    this.read = null;
    this.entered = {};
    this.isOff = null;
    this.money = {};
    this.isStopped = null;
    this.problem = null;
    this.theirs = null;
    this.isBusy = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("context") && this.context && !this.read) void this.#load();
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.limits}</h1>
      <p class="muted">${words.about}</p>
      <problem-note .problem=${this.problem} ?canRetry=${!this.read} @retry=${() => this.#load()}></problem-note>
      ${this.theirs ? this.#conflict(this.theirs.value) : nothing}
      ${this.read ? this.#form(this.read.value) : this.problem ? nothing : html`<p class="muted" role="status">${texts.loading}</p>`}
    `;
  }

  #form({ limits, deployment, effective, changedBy, changedAt }: Limits): TemplateResult {
    return html`<form @submit=${this.#submitted}>
      ${NAMES.map((name) => {
        const most = deployment[name];
        return html`<div class="limit">
          <label>${words.names[name]}
            <input name=${name} type="number" min="0" max=${most ?? nothing} step="1" aria-describedby="about-${name}"
              .value=${this.entered[name] ?? String(limits[name] ?? "")} placeholder=${words.placeholder(amount(most))} @input=${this.#typed} />
          </label>
          <small class="muted" id="about-${name}">${words.holds(amount(effective[name]), amount(most))}</small>
        </div>`;
      })}
      <label class="limit"><span><input type="checkbox" .checked=${this.isOff ?? limits.selfStartedRuns?.enabled === false} @change=${this.#switched} /> ${words.selfStartedOff}</span></label>
      ${MONEY.map((name) => {
        const most = deployment.spending?.tenant[name] ?? null;
        return html`<div class="limit">
          <label>${words.money[name]}
            <input name=${name} type="number" min="0" max=${most ?? nothing} step="any" aria-describedby="about-${name}"
              .value=${this.money[name] ?? String(limits.spending?.tenant[name] ?? "")} placeholder=${words.placeholder(amount(most))} @input=${this.#paid} />
          </label>
          <small class="muted" id="about-${name}">${words.holds(amount(effective.spending?.tenant[name] ?? null), amount(most))}</small>
        </div>`;
      })}
      <label class="limit"><span><input type="checkbox" .checked=${this.isStopped ?? limits.spending?.enabled === false} @change=${this.#stopped} /> ${words.modelsStopped}</span></label>
      <div class="row">
        <button class="primary" type="submit" ?disabled=${this.isBusy}>${words.save}</button>
        ${this.#isTouched ? html`<button type="button" @click=${this.#discard}>${words.discard}</button>` : nothing}
        <small class="muted">${changedBy ? words.changed(changedBy, when(changedAt)) : words.never}</small>
      </div>
    </form>`;
  }

  #conflict({ limits, changedBy, changedAt }: Limits): TemplateResult {
    return html`<section class="changed" role="alert" aria-label=${words.conflict}>
      <p>${words.conflictOf(changedBy ?? "", when(changedAt))}</p>
      <dl>${NAMES.map((name) => html`<dt>${words.names[name]}</dt><dd>${words.versus(amountOf(this.#wanted()[name]), amountOf(limits[name]))}</dd>`)}</dl>
      <div class="row">
        <button type="button" @click=${this.#keepMine}>${words.mine}</button>
        <button type="button" @click=${this.#takeTheirs}>${words.theirs}</button>
      </div>
    </section>`;
  }

  #typed = (event: Event): void => {
    const field = event.target as HTMLInputElement;
    this.entered = { ...this.entered, [field.name]: field.value };
  };

  #switched = (event: Event): void => {
    this.isOff = (event.target as HTMLInputElement).checked;
  };

  #paid = (event: Event): void => {
    const field = event.target as HTMLInputElement;
    this.money = { ...this.money, [field.name]: field.value };
  };

  #stopped = (event: Event): void => {
    this.isStopped = (event.target as HTMLInputElement).checked;
  };

  get #isTouched(): boolean {
    const isEntered = Object.keys(this.entered).length > 0 || Object.keys(this.money).length > 0;
    return isEntered || this.isOff !== null || this.isStopped !== null;
  }

  #discard = (): void => {
    this.entered = {};
    this.isOff = null;
    this.money = {};
    this.isStopped = null;
    this.theirs = null;
    this.problem = null;
  };

  /** Goes on with what was entered, now that the other change was seen. It is saved with the next press of the button. */
  #keepMine = (): void => {
    const mine = this.#wanted();
    this.read = this.theirs;
    this.entered = Object.fromEntries(NAMES.map((name) => [name, String(mine[name] ?? "")]));
    this.theirs = null;
  };

  #takeTheirs = (): void => {
    this.read = this.theirs;
    this.#discard();
  };

  #submitted = (event: Event): void => {
    event.preventDefault();
    void this.#save();
  };

  #wanted(): Amounts {
    const { read, entered } = this;
    const pairs = NAMES.map((name) => {
      const text = entered[name];
      if (text === undefined) return [name, read?.value.limits[name] ?? null];
      return [name, text.trim() === "" ? null : Number(text)];
    });
    return Object.fromEntries(pairs) as Amounts;
  }

  #rules(): Rules | null {
    const rules = this.read?.value.limits.selfStartedRuns ?? null;
    return this.isOff === null ? rules : { ...rules, enabled: !this.isOff };
  }

  #spending(): Spending | null {
    const { isStopped, money } = this;
    const rules = this.read?.value.limits.spending ?? null;
    if (isStopped === null && !Object.keys(money).length) return rules;
    const entries = MONEY.map((name) => {
      const text = money[name];
      if (text === undefined) return [name, rules?.tenant[name] ?? null];
      return [name, text.trim() === "" ? null : Number(text)];
    });
    return {
      ...rules,
      enabled: !(isStopped ?? rules?.enabled === false),
      tenant: Object.fromEntries(entries) as Money,
    };
  }

  async #load(): Promise<void> {
    this.problem = null;
    try {
      this.read = await this.#ask();
    } catch (error) {
      if (!isAborted(error)) this.problem = problemOf(error);
    }
  }

  async #ask(): Promise<Read> {
    return await this.api.request<Limits>(["tenant", "limits"], { signal: this.left });
  }

  async #save(): Promise<void> {
    if (!this.read || this.isBusy) return;
    this.isBusy = true;
    this.problem = null;
    const headers: Record<string, string> = this.read.etag ? { "If-Match": this.read.etag } : {};
    try {
      this.read = await this.api.request<Limits>(["tenant", "limits"], {
        method: "PUT",
        body: { ...this.#wanted(), selfStartedRuns: this.#rules(), spending: this.#spending() },
        headers,
      });
      this.#discard();
      this.context.notify(words.saved);
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status === 412) await this.#showTheirs(problem);
      else this.problem = problem;
    }
    this.isBusy = false;
  }

  async #showTheirs(problem: Problem): Promise<void> {
    try {
      this.theirs = await this.#ask();
    } catch {
      this.problem = problem;
    }
  }
}

function amount(value: number | null): string {
  return value === null ? words.unlimited : count(value);
}

function amountOf(value: number | null): string {
  return value === null ? words.deployments : count(value);
}

customElements.define("console-limits", LimitsView);
