import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import type { Desk, DeskItem } from "./desk-api.ts";
import { passed, type Show } from "./desk-feed.ts";
import { words } from "./texts.ts";

const EMPTY: Readonly<Record<Show, string>> = {
  waiting: words.nobodyWaits,
  mine: words.nothingMine,
  all: words.nothing,
};
/** After so long somebody who waits is marked. */
const LONG_MS = 5 * 60_000;

/** Conversations at desks: who waits, how long, what was said last, and who answers. */
export class DeskList extends LitElement {
  static override properties = {
    items: { attribute: false },
    desks: { attribute: false },
    parameters: { attribute: false },
    show: {},
    selected: {},
    personId: {},
    now: { type: Number },
  };
  static override styles = [
    base,
    css`
      ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 4px; }
      a { display: grid; grid-template-columns: minmax(0, 1fr) max-content; gap: 2px 10px; padding: 10px 12px; border: 1px solid var(--border); border-radius: var(--radius); color: var(--text); text-decoration: none; background: var(--raised); }
      a:hover { background: var(--surface); }
      a[aria-current] { border-color: var(--accent); box-shadow: inset 3px 0 0 var(--accent); }
      .name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .last { grid-column: 1; color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .facts { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 2px 10px; font-size: 12.5px; color: var(--muted); }
      .facts .long { color: var(--warning); font-weight: 600; }
      .unread { align-self: start; min-inline-size: 22px; padding: 0 6px; border-radius: 11px; background: var(--accent); color: var(--on-accent); text-align: center; font-size: 12.5px; font-weight: 600; }
    `,
  ];
  declare items: readonly DeskItem[];
  /** The person's desks; null: not known yet. */
  declare desks: readonly Desk[] | null;
  /** Parameters of the address that links keep. */
  declare parameters: Readonly<Record<string, string>>;
  declare show: Show;
  declare selected: string;
  declare personId: string;
  /** The time of now, in milliseconds. */
  declare now: number;

  protected override render(): TemplateResult {
    if (!this.items.length) return html`<p class="muted">${EMPTY[this.show]}</p>`;
    return html`<ul>${this.items.map((each) => html`<li>${this.#item(each)}</li>`)}</ul>`;
  }

  #item(item: DeskItem): TemplateResult {
    const href = hrefOf(["desk", item.threadId], this.parameters);
    return html`<a href=${href} aria-current=${item.threadId === this.selected ? "true" : nothing}>
      <span class="name" dir="auto">${item.userName ?? item.userId}</span>
      ${item.unread ? html`<span class="unread" aria-label=${words.unread(item.unread)}>${item.unread}</span>` : html`<span></span>`}
      <span class="last" dir="auto">${item.typing ? words.typing(item.userName ?? item.userId) : item.lastMessage || item.title}</span>
      <span class="facts">${this.#facts(item)}</span>
    </a>`;
  }

  #facts(item: DeskItem): TemplateResult {
    const since = item.status === "waiting" ? item.since : item.unansweredSince;
    const ms = since ? this.now - Date.parse(since) : 0;
    const say = item.status === "waiting" ? words.waits : words.unanswered;
    const holder = item.person?.id === this.personId ? words.you : item.person?.name;
    const desk = this.desks?.find((each) => each.id === item.deskId);
    return html`${since ? html`<span class=${ms > LONG_MS ? "long" : ""}>${say(passed(ms))}</span>` : nothing}
      ${holder ? html`<span dir="auto">${words.heldBy(holder)}</span>` : nothing}
      <span dir="auto">${desk?.name ?? item.deskId}</span>${item.locale ? html`<span>${item.locale}</span>` : nothing}`;
  }
}

customElements.define("desk-list", DeskList);
