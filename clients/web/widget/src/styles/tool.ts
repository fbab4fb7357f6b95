import { css } from "lit";

/** Calls of tools. */
export const tool = css`
  .tool { font-size: 13.5px; color: var(--_muted); }
  .tool summary::-webkit-details-marker { display: none; }
  .tool summary { inline-size: fit-content; cursor: pointer; list-style: none; display: flex; align-items: center; gap: 7px; padding: 3px 8px; margin-inline-start: -8px; border-radius: 8px; }
  .tool summary:hover { background: var(--_surface); color: var(--_text); }
  .tool summary .icon { inline-size: 15px; block-size: 15px; }
  .tool.busy summary .icon { animation: pulse 1.2s infinite; color: var(--_accent); }
  .tool figure { margin-block-start: 8px; }
  .tool figcaption { font-size: 12px; margin-block-end: 2px; }
  .tool pre { padding: 10px 12px; max-block-size: 220px; overflow: auto; border-radius: 10px; background: var(--_surface); color: var(--_text); font: 12.5px/1.5 var(--_mono); white-space: pre-wrap; overflow-wrap: anywhere; }
`;
