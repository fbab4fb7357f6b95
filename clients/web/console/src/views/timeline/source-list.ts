import { html, nothing, type TemplateResult } from "lit";
import type { Source } from "../../api/shapes.ts";
import { hrefOf } from "../../routes.ts";

/** What an answer rests on, by the numbers with which its text cites it. */
export function sourceList(label: string, sources: readonly Source[] = []): TemplateResult | typeof nothing {
  if (sources.length === 0) return nothing;
  const ordered = [...sources].sort((one, other) => (one.number ?? Infinity) - (other.number ?? Infinity));
  return html`<section class="sources" aria-label=${label}>
    <h3>${label}</h3>
    <ul>${ordered.map((source) => html`<li>${entry(source)}</li>`)}</ul>
  </section>`;
}

function entry(source: Source): TemplateResult {
  const { kind, id, title, agentId, library, number, page, section, excerpt } = source;
  const name = title ?? id;
  const place = [library, page ? `p. ${page}` : "", section].filter(Boolean).join(", ");
  return html`
    ${number ? html`<span class="mono">[${number}]</span>` : nothing}
    ${kind === "document" && agentId ? html`<a href=${hrefOf(["documents", agentId])} dir="auto">${name}</a>` : html`<bdi>${name}</bdi>`}
    ${place ? html`<span class="muted" dir="auto">${place}</span>` : nothing}
    ${excerpt ? html`<blockquote class="muted" dir="auto">${excerpt}</blockquote>` : nothing}
  `;
}
