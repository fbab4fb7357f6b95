import { css } from "lit";

/** Visible thinking. */
export const thinking = css`
  .thinking { font-size: 13.5px; color: var(--_muted); }
  .thinking-line { display: flex; align-items: center; gap: 7px; padding: 3px 0; border: 0; background: none; color: inherit; font: inherit; cursor: pointer; }
  .thinking-line:hover { color: var(--_text); }
  .thinking-line .icon { inline-size: 15px; block-size: 15px; }
  [dir="rtl"] .thinking-line .icon:last-child { rotate: 180deg; }
  .thinking-line[aria-expanded="true"] .icon:last-child { rotate: 90deg; }
  .thinking.busy .thinking-line .icon:first-child { animation: pulse 1.2s infinite; color: var(--_accent); }
  .thoughts { max-block-size: 320px; overflow: auto; padding-inline-start: 12px; border-inline-start: 2px solid var(--_border); }
`;
