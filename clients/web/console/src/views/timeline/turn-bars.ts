import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { duration } from "../../components/numbers.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { Item } from "./items.ts";

const MAX_BARS = 200;

/** When the calls and sub-tasks of a turn began and how long they took, as bars on one scale. */
export class TurnBars extends LitElement {
  static override properties = { items: { attribute: false } };
  static override styles = [
    base,
    css`
      h3 { font-size: 12.5px; font-weight: 550; color: var(--muted); margin: 10px 0 4px; }
      ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 3px; }
      li { display: grid; grid-template-columns: 40% minmax(0, 1fr) max-content; gap: 8px; align-items: center; font-size: 12.5px; }
      .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .scale { position: relative; block-size: 12px; background: var(--surface); border-radius: 4px; }
      .bar { position: absolute; inset-block: 0; min-inline-size: 3px; border-radius: 4px; background: var(--accent); }
      .failed .bar { background: var(--danger); }
    `,
  ];
  declare items: readonly Item[];

  protected override render(): TemplateResult | typeof nothing {
    const timed = this.items.filter((each) => each.durationMs !== null).slice(0, MAX_BARS);
    if (!timed.length) return nothing;
    const from = Math.min(...timed.map((each) => each.at));
    const length = Math.max(1, ...timed.map((each) => each.at + (each.durationMs ?? 0) - from));
    return html`<h3>${texts.callsAndTasks}</h3><ul>${timed.map((each) => bar(each, from, length))}</ul>`;
  }
}

function bar(item: Item, from: number, length: number): TemplateResult {
  const start = ((item.at - from) / length) * 100;
  const size = ((item.durationMs ?? 0) / length) * 100;
  return html`<li class=${item.status}>
    <span class="name" dir="auto" title=${item.title}>${item.lane}: ${item.title}</span>
    <span class="scale"><span class="bar" .style=${`inset-inline-start: ${start}%; inline-size: ${size}%`}></span></span>
    <span class="muted">${duration(item.durationMs)}</span>
  </li>`;
}

customElements.define("turn-bars", TurnBars);
