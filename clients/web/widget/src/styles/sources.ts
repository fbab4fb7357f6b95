import { css } from "lit";

/** Lists of sources. */
export const sources = css`
  .sources { margin-block-start: 8px; font-size: 13px; color: var(--_muted); }
  .sources summary { cursor: pointer; list-style: none; inline-size: fit-content; }
  .sources summary::-webkit-details-marker { display: none; }
  .sources summary { padding: 3px 10px; border: 1px solid var(--_border); border-radius: 999px; }
  .sources summary:hover { background: var(--_surface); }
  .sources .count { font-variant-numeric: tabular-nums; }
  .sources ul { display: grid; gap: 4px; margin-block-start: 8px; padding-inline-start: 10px; }
`;
