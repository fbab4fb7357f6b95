import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { BatonClient, BatonError, Schedule } from "#client";
import { explain } from "../failures.ts";
import type { Sentence } from "../locales/index.ts";
import { threads } from "../styles/threads.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

/** The user's reminders and other schedules, which they can pause and delete. Nothing, where there are none. */
export class BatonReminders extends Piece {
  static override readonly sheet = threads;
  static override properties = {
    ...Piece.properties,
    client: { attribute: false },
    schedules: { state: true },
    doomedId: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  declare client: BatonClient | null;
  protected declare schedules: readonly Schedule[];
  protected declare doomedId: string | null;
  protected declare problem: string;
  protected declare isBusy: boolean;

  constructor() {
    super();
    this.client = null;
    this.schedules = [];
    this.doomedId = null;
    this.problem = "";
    this.isBusy = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("client")) void this.#load();
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.schedules.length) return nothing;
    const heading = this.say("reminders");
    return html`<section class="reminders" part="reminders" aria-label=${heading}>
      <h3>${heading}</h3>
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      <ul>${this.schedules.map((each) => (each.id === this.doomedId ? this.#deleting(each) : this.#line(each)))}</ul>
    </section>`;
  }

  #line(each: Schedule): TemplateResult {
    const { id, text, nextAt, paused, rule } = each;
    return html`<li data-id=${id}>
      <span class="thread"><span dir="auto">${text}</span><small>${nextAt ? this.ui.locale.time(new Date(nextAt)) : this.say("paused")}${rule ? ` · ${this.say(rhythmOf(rule))}` : nothing}</small></span>
      ${this.#button("pause", this.say(paused ? "resume" : "pause"), text, () => this.#change((api) => api.changeSchedule(id, { paused: !paused }), id))}
      ${this.#button("delete", this.say("deleteNow"), text, () => this.#ask(id))}
    </li>`;
  }

  #deleting({ id, text }: Schedule): TemplateResult {
    return html`<li class="doomed" data-id=${id}>
      <p role="alert">${this.say("reminderSure")} <strong dir="auto">${text}</strong></p>
      <button type="button" class="danger small" part="button delete-now-button" ?disabled=${this.isBusy} @click=${() => this.#change((api) => api.deleteSchedule(id))}>${this.say("deleteNow")}</button>
      <button type="button" class="secondary small" part="button cancel-button" @click=${() => this.#ask(null)}>${this.say("cancel")}</button>
    </li>`;
  }

  #button(name: string, label: string, text: string, act: () => void): TemplateResult {
    return html`<button type="button" class="secondary small" part="button ${name}-button" aria-label="${label}: ${text}" ?disabled=${this.isBusy} @click=${act}>${label}</button>`;
  }

  async #ask(id: string | null): Promise<void> {
    const left = this.doomedId;
    this.doomedId = id;
    await this.updateComplete;
    const line = [...this.querySelectorAll("li")].find((each) => each.dataset.id === (id ?? left));
    line?.querySelector<HTMLElement>(id ? "[part~=cancel-button]" : "[part~=delete-button]")?.focus();
  }

  /** What can no longer go on, `id`, may be deleted. */
  async #change(act: (api: BatonClient["api"]) => Promise<unknown>, id?: string): Promise<void> {
    if (!this.client) return;
    this.isBusy = true;
    this.problem = "";
    try {
      await act(this.client.api);
      this.doomedId = null;
    } catch (error) {
      const isPast = id !== undefined && (error as BatonError).code === "invalid_request"; // nothing else is wrong with the request
      if (isPast) await this.#ask(id);
      this.problem = isPast ? this.say("timePassed") : explain(this.ui.locale, error as BatonError);
    }
    await this.#load();
    this.isBusy = false;
  }

  /** A list that cannot be read is left out: conversations are what the user has come for. */
  async #load(): Promise<void> {
    const page = await this.client?.api.schedules().catch(() => null);
    if (page) this.schedules = page.items.filter(({ status }) => status !== "finished");
  }
}

const RHYTHMS: Readonly<Record<string, Sentence>> = { DAILY: "daily", WEEKLY: "weekly", MONTHLY: "monthly" };

/** How often a rule repeats, where that is simple. */
function rhythmOf(rule: string): Sentence {
  const isSimple = !/INTERVAL|COUNT|UNTIL|BYMONTH=|BYSETPOS|,/.test(rule);
  return (isSimple && RHYTHMS[/FREQ=(\w+)/.exec(rule)?.[1] ?? ""]) || "repeats";
}

define("baton-chat-reminders", BatonReminders);
