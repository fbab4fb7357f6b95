import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { clock, count, duration } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { Item } from "./items.ts";

const ROW = 34;
/** Rows that are drawn above and below what is visible. */
const SPARE = 12;
const MAX_LANES = 12;
const MAX_LANE_NAME = 24;

/**
 * A column for each agent, a row for each item. Only the visible rows are drawn, so that thousands stay smooth.
 *
 * Fires `select` with an item's key, or null, and `top` when its beginning is reached.
 */
export class SwimLanes extends LitElement {
  static override properties = { items: { attribute: false }, selected: { attribute: false }, range: { state: true } };
  static override styles = [
    base,
    css`
      .frame { border: 1px solid var(--border); border-radius: var(--radius); overflow: auto; max-block-size: calc(100vh - 220px); min-block-size: 240px; overflow-anchor: none; }
      .head, .line { display: grid; grid-template-columns: 84px repeat(var(--lanes), minmax(72px, 1fr)) 64px 64px; align-items: center; column-gap: 8px; padding-inline: 10px; min-inline-size: 600px; }
      .head { position: sticky; inset-block-start: 0; z-index: 1; background: var(--surface); block-size: 34px; font-weight: 550; font-size: 12.5px; color: var(--muted); border-block-end: 1px solid var(--border); }
      .head > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .space { position: relative; }
      .line { position: absolute; inset-inline: 0; block-size: ${ROW}px; cursor: pointer; contain: strict; }
      .line:hover { background: var(--surface); }
      .line[aria-selected="true"] { background: color-mix(in srgb, var(--accent) 14%, transparent); }
      .line.turn { border-block-start: 1px solid var(--border); }
      .time { color: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }
      .number { text-align: end; font-size: 12px; font-variant-numeric: tabular-nums; color: var(--muted); }
      .pill { display: block; inline-size: fit-content; max-inline-size: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; border-radius: 7px; padding: 2px 8px; border: 1px solid var(--border); border-inline-start: 3px solid var(--kind); background: var(--raised); font-size: 13px; unicode-bidi: plaintext; }
      .pill b { font-weight: 550; margin-inline-end: 6px; color: var(--kind); }
      .message { --kind: var(--accent); }
      .thinking { --kind: var(--muted); }
      .call { --kind: var(--good); }
      .task { --kind: light-dark(#0d6f83, #6fd0e4); }
      .handoff { --kind: light-dark(#8b3ea8, #d9a2f0); }
      .turn { --kind: var(--muted); }
      .workflow { --kind: var(--warning); }
      .failed .pill { --kind: var(--danger); color: var(--danger); }
      .waiting .pill { --kind: var(--warning); }
      .running .pill { border-style: dashed; border-inline-start-style: solid; }
      .cancelled .pill { text-decoration: line-through; }
    `,
  ];
  declare items: readonly Item[];
  declare selected: string | null;
  /** The first row that is drawn, and the one after the last. */
  protected declare range: readonly [number, number];
  #lanes: readonly string[] = [];
  #followsEnd = true;
  #oldest: string | null = null;

  constructor() {
    super();
    this.items = [];
    this.selected = null;
    this.range = [0, 60];
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("items")) this.#lanes = lanesOf(this.items);
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has("items")) return;
    const oldest = this.items[0]?.key ?? null;
    const { frame } = this;
    if (!frame) return;
    const before = changed.get("items") as readonly Item[] | undefined;
    if (this.#oldest !== null && oldest !== this.#oldest && before) {
      // Older items have come in above: what was visible stays where it is.
      const added = this.items.findIndex((each) => each.key === this.#oldest);
      if (added > 0) frame.scrollTop += added * ROW;
    } else if (this.#oldest === null && this.selected) this.show(this.selected);
    else if (this.#followsEnd) frame.scrollTop = frame.scrollHeight;
    this.#oldest = oldest;
    this.#scrolled();
  }

  /** Brings an item into view. */
  show(key: string): void {
    const at = this.items.findIndex((each) => each.key === key);
    const { frame } = this;
    if (at < 0 || !frame) return;
    const top = at * ROW;
    const room = frame.clientHeight - ROW;
    if (top < frame.scrollTop || top + ROW > frame.scrollTop + room) frame.scrollTop = Math.max(0, top - room / 2);
  }

  protected override render(): TemplateResult {
    const [from, to] = this.range;
    const drawn = this.items.slice(from, to).map((item, index) => ({ item, at: from + index }));
    return html`<div class="frame" .style=${`--lanes: ${this.#lanes.length}`} @scroll=${this.#scrolled}>
      <div class="head" aria-hidden="true">
        <span>${texts.time}</span>${this.#lanes.map((lane) => html`<span dir="auto" title=${lane}>${laneName(lane)}</span>`)}<span class="number">${texts.tokens}</span><span class="number">${texts.took}</span>
      </div>
      <div class="space" role="listbox" tabindex="0" aria-label=${texts.timeline} aria-activedescendant=${this.selected ? "chosen" : nothing} .style=${`block-size: ${this.items.length * ROW}px`} @keydown=${this.#keyed}>
        ${repeat(
          drawn,
          ({ item }) => item.key,
          ({ item, at }) => this.#line(item, at),
        )}
      </div>
    </div>`;
  }

  #line(item: Item, at: number): TemplateResult {
    const isSelected = item.key === this.selected;
    const lane = Math.max(0, this.#lanes.indexOf(item.lane));
    return html`<div
      class="line ${item.kind} ${item.status}" role="option" id=${isSelected ? "chosen" : nothing} aria-selected=${isSelected} aria-setsize=${this.items.length} aria-posinset=${at + 1}
      data-key=${item.key} .style=${`transform: translateY(${at * ROW}px)`} @click=${() => this.#choose(item.key)}>
      <span class="time">${clock(item.at)}</span>
      <span class="pill" .style=${`grid-column: ${lane + 2} / ${this.#lanes.length + 2}`} title=${item.title}><span class="unseen">${laneName(item.lane)}: </span><b>${texts.kinds[item.kind]}</b>${item.title}${item.status === "ok" ? nothing : html`<span class="unseen"> (${texts.statuses[item.status]})</span>`}</span>
      <span class="number" .style=${`grid-column: ${this.#lanes.length + 2}`}>${item.tokens ? count(item.tokens) : ""}</span>
      <span class="number" .style=${`grid-column: ${this.#lanes.length + 3}`}>${item.durationMs === null ? "" : duration(item.durationMs)}</span>
    </div>`;
  }

  get frame(): HTMLElement | null {
    return this.renderRoot.querySelector<HTMLElement>(".frame");
  }

  #scrolled = (): void => {
    const { frame } = this;
    if (!frame) return;
    this.#followsEnd = frame.scrollTop + frame.clientHeight >= frame.scrollHeight - ROW;
    const from = Math.max(0, Math.floor(frame.scrollTop / ROW) - SPARE);
    const to = Math.min(this.items.length, Math.ceil((frame.scrollTop + frame.clientHeight) / ROW) + SPARE);
    if (from !== this.range[0] || to !== this.range[1]) this.range = [from, to];
    if (frame.scrollTop === 0 && frame.scrollHeight > frame.clientHeight) this.dispatchEvent(new Event("top"));
  };

  #keyed = (event: KeyboardEvent): void => {
    const at = this.items.findIndex((each) => each.key === this.selected);
    const page = Math.max(1, Math.floor((this.frame?.clientHeight ?? ROW) / ROW) - 2);
    const last = this.items.length - 1;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at < 0 ? last : at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: last,
    };
    const step = steps[event.key];
    if (event.key === "Escape" && this.selected) this.#choose(null);
    else if (step === undefined) return;
    else this.#choose(this.items[Math.min(last, Math.max(0, step))]?.key ?? null);
    event.preventDefault();
  };

  #choose(key: string | null): void {
    if (key) this.show(key);
    this.dispatchEvent(new CustomEvent("select", { detail: key }));
  }
}

/** Returns whose columns there are: the user first, then the agents in the order in which they joined. */
function lanesOf(items: readonly Item[]): readonly string[] {
  const lanes = new Set(["user"]);
  for (const each of items) if (lanes.size < MAX_LANES) lanes.add(each.lane);
  return [...lanes];
}

function laneName(lane: string): string {
  return lane.length > MAX_LANE_NAME ? `${lane.slice(0, MAX_LANE_NAME)}…` : lane;
}

customElements.define("swim-lanes", SwimLanes);
