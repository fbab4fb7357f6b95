import { css } from "lit";

/** The list of conversations. */
export const threads = css`
  baton-chat-threads { display: flex; flex: 1; min-block-size: 0; }
  .threads { flex: 1; display: flex; flex-direction: column; gap: 8px; min-inline-size: 0; padding: 12px; overflow-y: auto; scrollbar-width: thin; inline-size: 100%; max-inline-size: var(--baton-measure, 760px); margin-inline: auto; }
  .threads .bar { display: flex; gap: 8px; }
  .threads input { flex: 1; min-inline-size: 0; font: inherit; font-size: 16px; color: inherit; padding: 6px 12px; border: 1px solid var(--_border); border-radius: 10px; background: var(--_raised); }
  .threads input::placeholder { color: var(--_muted); opacity: 1; }
  .threads ul { display: grid; gap: 2px; }
  .threads li { display: flex; align-items: center; border-radius: 10px; padding-inline-end: 4px; }
  .threads li:hover { background: var(--_surface); }
  .thread { flex: 1; min-inline-size: 0; display: grid; padding: 8px 10px; text-align: start; border-radius: 10px; }
  .thread[aria-current] { box-shadow: inset 3px 0 0 var(--_accent); }
  [dir="rtl"] .thread[aria-current] { box-shadow: inset -3px 0 0 var(--_accent); }
  .thread span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 550; }
  .thread:has(.count) { grid-template-columns: 1fr auto; column-gap: 8px; }
  .thread:has(.count) span { font-weight: 700; }
  .thread .count { grid-area: 1 / 2 / span 2; align-self: center; min-inline-size: 22px; padding-inline: 6px; border-radius: 11px; background: var(--_danger); color: light-dark(#fff, #16171d); font: 650 12px/22px var(--_font); text-align: center; }
  .thread small, .threads .none { color: var(--_muted); font-size: 12.5px; }
  .threads .none { text-align: center; }
  .threads .rename, .threads .doomed { display: flex; flex: 1; flex-wrap: wrap; gap: 8px; padding: 8px; }
  .threads .doomed { background: var(--_surface); }
  .threads .doomed p { flex-basis: 100%; overflow-wrap: anywhere; }
  .threads .link { align-self: center; padding: 6px; }
  .reminders { display: grid; gap: 4px; padding-block-start: 8px; border-block-start: 1px solid var(--_border); }
  .reminders h3 { margin: 0; padding-inline: 10px; font-size: 13px; color: var(--_muted); }
  .reminders li { gap: 6px; }
`;
