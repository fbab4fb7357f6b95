import { css, html, nothing, type TemplateResult } from "lit";
import { type Problem, problemOf } from "../../api/problem.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import { type AlertKind, Alerts, newsOf } from "./alerts.ts";
import type { Desk, DeskItem } from "./desk-api.ts";
import { DeskFeed, type FeedChange, isIn, type Show, shownItems } from "./desk-feed.ts";
import { words } from "./texts.ts";
import "../../components/problem-note.ts";
import "./desk-conversation.ts";
import "./desk-list.ts";

const SHOWS: readonly Show[] = ["waiting", "mine", "all"];
/** Between two updates of the waiting times. */
const CLOCK_MS = 15_000;
/** What comes in so soon after the page is no news: it was there before. */
const FIRST_MS = 2_000;

/** The desk: who waits, and the conversation that a person answers. */
export class DeskView extends View {
  static override properties = {
    ...View.properties,
    items: { state: true },
    desks: { state: true },
    isLive: { state: true },
    isRead: { state: true },
    problem: { state: true },
    now: { state: true },
    alerts: { state: true },
  };
  static override styles = [
    base,
    css`
      .top { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin-block-end: 12px; }
      .top h1 { margin: 0; }
      .top label { flex-direction: row; align-items: center; gap: 6px; }
      .alerts { margin-inline-start: auto; display: flex; gap: 14px; }
      .parts { display: grid; grid-template-columns: minmax(240px, 340px) minmax(0, 1fr); gap: 20px; block-size: calc(100vh - 130px); }
      .list { overflow-y: auto; padding: 2px; }
      .conversation { min-block-size: 0; }
      [role="group"] { display: flex; gap: 4px; }
      [role="group"] a { padding: 4px 10px; border-radius: 8px; border: 1px solid var(--border); color: var(--text); text-decoration: none; }
      [role="group"] a[aria-current] { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
      @media (max-width: 900px) {
        .parts { grid-template-columns: minmax(0, 1fr); block-size: auto; }
        .parts.one .list, .top.one > :not(h1) { display: none; }
        .parts:not(.one) .conversation { display: none; }
        .parts.one .conversation { block-size: calc(100dvh - 60px); min-block-size: 420px; }
      }
    `,
  ];
  protected declare items: readonly DeskItem[];
  protected declare desks: readonly Desk[] | null;
  protected declare isLive: boolean;
  /** Whether the list has come. */
  protected declare isRead: boolean;
  protected declare problem: Problem | null;
  protected declare now: number;
  protected declare alerts: Readonly<Record<AlertKind, boolean>>;
  readonly #alerts = new Alerts();
  #timer: ReturnType<typeof setInterval> | undefined;
  #beganAt = 0;

  constructor() {
    super();
    this.items = [];
    this.desks = null;
    this.isLive = false;
    this.isRead = false;
    this.problem = null;
    this.now = Date.now();
    this.alerts = { sound: this.#alerts.isOn("sound"), notification: this.#alerts.isOn("notification") };
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#timer = setInterval(() => {
      this.now = Date.now();
    }, CLOCK_MS);
    void this.#begin();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  protected override render(): TemplateResult {
    const id = this.place.path[1] ?? "";
    const item = this.items.find((each) => each.threadId === id) ?? null;
    return html`
      <div class="top ${id ? "one" : ""}">
        <h1>${words.title}</h1>
        <div role="group" aria-label=${words.list}>${SHOWS.map((each) => this.#choice(each))}</div>
        ${(this.desks?.length ?? 0) > 1 ? this.#deskChoice() : nothing}
        <div class="alerts">${this.#alert("sound", words.sound)}${this.#alert("notification", words.notification)}</div>
        ${this.isRead && !this.isLive && !this.problem ? html`<span class="bad" role="status">${words.offline}</span>` : nothing}
      </div>
      <problem-note .problem=${this.problem}></problem-note>
      ${this.desks?.length === 0 ? html`<p>${words.noDesks}</p>` : nothing}
      <div class="parts ${id ? "one" : ""}">
        <div class="list">${this.isRead ? this.#list(id) : html`<p class="muted" role="status">${texts.loading}</p>`}</div>
        <div class="conversation">${id ? html`<desk-conversation .context=${this.context} .threadId=${id} .item=${item} .parameters=${this.place.parameters}></desk-conversation>` : html`<p class="muted">${words.choose}</p>`}</div>
      </div>
    `;
  }

  #list(selected: string): TemplateResult {
    const items = shownItems(this.items, this.#show, this.#deskId, this.#personId);
    return html`<desk-list .items=${items} .desks=${this.desks} .show=${this.#show} .selected=${selected} .personId=${this.#personId} .now=${this.now} .parameters=${this.place.parameters}></desk-list>`;
  }

  #choice(show: Show): TemplateResult {
    const number = shownItems(this.items, show, this.#deskId, this.#personId).length;
    const href = hrefOf(this.place.path, { ...this.place.parameters, show });
    return html`<a href=${href} aria-current=${this.#show === show ? "true" : nothing}>${words.show[show]} (${number})</a>`;
  }

  #deskChoice(): TemplateResult {
    return html`<label>${words.desk}<select @change=${this.#deskChosen}>
      <option value="" ?selected=${!this.#deskId}>${words.allDesks}</option>
      ${this.desks?.map((each) => html`<option value=${each.id} ?selected=${each.id === this.#deskId}>${each.name}${each.isOpen ? "" : ` (${words.closed})`}</option>`)}
    </select></label>`;
  }

  #alert(kind: AlertKind, label: string): TemplateResult {
    return html`<label><input type="checkbox" .checked=${this.alerts[kind]} @change=${(event: Event) => this.#switch(kind, event)} />${label}</label>`;
  }

  get #show(): Show {
    const { show } = this.place.parameters;
    return SHOWS.find((each) => each === show) ?? "all";
  }

  get #deskId(): string {
    return this.place.parameters.deskId ?? "";
  }

  get #personId(): string {
    return this.context.person.userId;
  }

  async #begin(): Promise<void> {
    const { left } = this;
    const feed = new DeskFeed(this.api, () => this.#alerts.areOn);
    this.#beganAt = Date.now();
    void feed.follow(this.#changed, this.#connected, left);
    try {
      const [desks, list] = await Promise.all([
        this.api.get<{ items: readonly Desk[] }>(["desk", "desks"], {}, left),
        this.api.page<DeskItem>(["desk"], { limit: 100 }, left),
      ]);
      this.desks = desks.items;
      for (const item of list.items) feed.take({ threadId: item.threadId, item });
      this.items = feed.items;
      this.isRead = true;
    } catch (error) {
      if (!left.aborted) this.problem = problemOf(error);
    }
  }

  #changed = (change: FeedChange): void => {
    this.items = change.items;
    this.isRead = true;
    const news = Date.now() - this.#beganAt > FIRST_MS ? newsOf(change, this.#personId) : null;
    const { item } = change;
    if (news === null || item === null || !isIn(item, "all", this.#personId)) return;
    const open = () => {
      location.hash = hrefOf(["desk", item.threadId], this.place.parameters);
    };
    this.#alerts.notify(words.news[news](item.userName ?? item.userId), item.lastMessage, open);
  };

  #connected = (isLive: boolean, problem: Problem | null): void => {
    this.isLive = isLive;
    this.problem = problem;
  };

  #deskChosen = (event: Event): void => {
    this.remember({ deskId: (event.target as HTMLSelectElement).value || null });
  };

  async #switch(kind: AlertKind, event: Event): Promise<void> {
    const { checked } = event.target as HTMLInputElement;
    const isOn = await this.#alerts.set(kind, checked);
    this.alerts = { ...this.alerts, [kind]: isOn };
    if (checked && !isOn) {
      (event.target as HTMLInputElement).checked = false;
      this.context.notify(words.refused);
    }
  }
}

customElements.define("console-desk", DeskView);
