import { html, nothing, type TemplateResult } from "lit";
import type { Source } from "#client";
import { listed } from "../source-list.ts";
import { addressOf } from "../sources.ts";
import { sources } from "../styles/sources.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

/** The documents that an answer rests on, and those that were only consulted: two lists that open. */
export class BatonSources extends Piece {
  static override readonly sheet = sources;
  static override properties = { ...Piece.properties, sources: { attribute: false }, consulted: { attribute: false } };
  declare sources: readonly Source[];
  declare consulted: readonly Source[];

  protected override render(): (TemplateResult | typeof nothing)[] {
    return [this.#list("sources", this.sources), this.#list("consulted", this.consulted)];
  }

  #list(label: "sources" | "consulted", sources: readonly Source[]): TemplateResult | typeof nothing {
    const shown = listed(sources, this.say);
    if (!shown.length) return nothing;
    return html`
      <details class="sources" part=${label}>
        <summary>${this.say(label)} <span class="count">${shown.length}</span></summary>
        <ul>${shown.map(({ source, name, number }) => html`<li>${number ? html`<span class="count">[${number}]</span> ` : nothing}${this.#source(source, name)}</li>`)}</ul>
      </details>
    `;
  }

  #source(source: Source, name: string): TemplateResult {
    const url = addressOf(source);
    return url
      ? html`<a href=${url} target="_blank" rel="noopener noreferrer" dir="auto">${name}</a>`
      : html`<bdi>${name}</bdi>`;
  }
}

define("baton-chat-sources", BatonSources);
