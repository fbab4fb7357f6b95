import { css } from "lit";

/** Calls of tools. */
export const tool = css`
  .tool { font-size: 13.5px; color: var(--_muted); }
  .tool summary::-webkit-details-marker { display: none; }
  p.tool, .tool summary { inline-size: fit-content; display: flex; align-items: center; gap: 7px; padding-block: 3px; }
  .tool summary { cursor: pointer; list-style: none; padding-inline: 8px; margin-inline-start: -8px; border-radius: 8px; }
  .tool summary:hover { background: var(--_surface); color: var(--_text); }
  .tool .icon { flex: none; inline-size: 15px; block-size: 15px; }
  .tool.busy .icon { animation: pulse 1.2s infinite; color: var(--_accent); }
  .tool figure { margin-block-start: 8px; }
  .tool figcaption { font-size: 12px; margin-block-end: 2px; }
  .tool pre { padding: 10px 12px; max-block-size: 220px; overflow: auto; border-radius: 10px; background: var(--_surface); color: var(--_text); font: 12.5px/1.5 var(--_mono); white-space: pre-wrap; overflow-wrap: anywhere; }
`;
