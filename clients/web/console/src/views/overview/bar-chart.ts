import { css, html, LitElement, nothing, svg, type TemplateResult } from "lit";
import { base } from "../../styles/base.ts";

/** A bar: a part of it may be marked, as failures among turns. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly marked?: number;
  /** What is said of it. */
  readonly title: string;
}

const HEIGHT = 96;
const WIDTH = 24;
const GAP = 6;

/** Bars side by side, from the left. What they say is in a table nearby, so that nobody needs to see them. */
export class BarChart extends LitElement {
  static override properties = { bars: { attribute: false }, label: {} };
  static override styles = [
    base,
    css`
      .frame { overflow-x: auto; }
      svg { display: block; }
      .bar { fill: var(--accent); }
      .marked { fill: var(--danger); }
      text { fill: var(--muted); font-size: 10px; }
    `,
  ];
  declare bars: readonly Bar[];
  declare label: string;

  constructor() {
    super();
    this.bars = [];
    this.label = "";
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!this.bars.length) return nothing;
    const most = Math.max(...this.bars.map((each) => each.value), Number.MIN_VALUE);
    const width = this.bars.length * (WIDTH + GAP);
    return html`<div class="frame" tabindex="0" role="region" aria-label=${this.label}>
      <svg role="img" aria-label=${this.label} width=${width} height=${HEIGHT + 16} viewBox="0 0 ${width} ${HEIGHT + 16}">
        ${this.bars.map((each, index) => this.#bar(each, index * (WIDTH + GAP), most))}
      </svg>
    </div>`;
  }

  #bar(bar: Bar, x: number, most: number): TemplateResult {
    const height = (bar.value / most) * HEIGHT;
    const marked = ((bar.marked ?? 0) / most) * HEIGHT;
    return svg`<g>
      <title>${bar.title}</title>
      <rect class="bar" x=${x} y=${HEIGHT - height} width=${WIDTH} height=${height} rx="2"></rect>
      <rect class="marked" x=${x} y=${HEIGHT - marked} width=${WIDTH} height=${marked} rx="2"></rect>
      <text x=${x + WIDTH / 2} y=${HEIGHT + 12} text-anchor="middle">${bar.label}</text>
    </g>` as unknown as TemplateResult;
  }
}

customElements.define("bar-chart", BarChart);
