import { css } from "lit";

/** Agents that are asked. */
export const research = css`
  .research { padding: 12px 14px; border: 1px solid var(--_border); border-radius: 12px; background: var(--_surface); font-size: 14px; }
  .research .label { display: flex; align-items: center; gap: 8px; font-weight: 600; }
  .research .label .icon { inline-size: 17px; block-size: 17px; color: var(--_accent); }
  .research ul { display: grid; gap: 4px; margin-block-start: 8px; }
  .research li { display: flex; flex-wrap: wrap; align-items: baseline; gap: 8px; }
  .research li::before { content: ""; flex: none; inline-size: 8px; block-size: 8px; border-radius: 50%; background: var(--_border); }
  .research li:is([data-progress="working"], [data-progress="asked"])::before { background: var(--_accent); animation: pulse 1.2s infinite; }
  .research li[data-progress="done"]::before { background: light-dark(#1a7f4b, #5ed49a); }
  .research li:is([data-progress="failed"], [data-progress="late"])::before { background: var(--_danger); }
  .research .progress, .research .notice { color: var(--_muted); }
  .research .why { flex-basis: 100%; padding-inline-start: 16px; color: var(--_danger); }
  .research .notice { margin-block-start: 8px; }
`;
