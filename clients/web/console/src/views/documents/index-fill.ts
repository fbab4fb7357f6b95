import { css, html, nothing, type TemplateResult } from "lit";
import { documentTexts as say } from "./texts.ts";

/** The fill from which an alarm rings too: `bounds.py` of the index has the same number. */
const NEARLY_FULL_PERCENT = 80;
/** The owner of the project's libraries, in place of a tenant. */
const PROJECT = "'~project'";

export const indexFillStyle = css`
  .fill { border: 1px solid var(--warning); border-radius: var(--radius); padding: 12px 14px; margin-block-end: 12px; overflow-wrap: anywhere; }
`;

/** Warns of an embedded search index that is nearly full, with the command that makes room. */
export function indexFill(
  percent: number | null,
  owner: string,
  tenantId: string | null,
): TemplateResult | typeof nothing {
  if (!percent || percent < NEARLY_FULL_PERCENT) return nothing;
  return html`<p class="fill" role="status">
    <strong>${say.fill(percent, owner)}</strong> ${say.whenFull} ${tenantId === null ? say.libraryRoom : say.room}
    <code>baton search STAGE move --tenant ${tenantId ?? PROJECT} --agent ${owner}</code>
  </p>`;
}
