import { css } from "lit";

/** People who answer instead of an agent. */
export const desk = css`
  .session.active { border-inline-start: 3px solid var(--_accent); }
  .people { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 260px)); justify-content: center; gap: 4px 8px; padding-block: 6px; }
  .people li { display: flex; flex-direction: column; align-items: center; gap: 2px; }
  .people small { color: var(--_muted); font-size: 12.5px; text-align: center; }
`;
