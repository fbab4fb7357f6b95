import { css } from "lit";

/** Unfinished work. */
export const offers = css`
  .offers ul { display: flex; flex-wrap: wrap; gap: 8px; justify-content: center; margin-block-end: 10px; }
  .offers li { max-inline-size: 100%; }
  .offers button { display: grid; max-inline-size: 100%; text-align: start; overflow-wrap: anywhere; }
  .offers button > * { min-inline-size: 0; }
  .offers small { color: var(--_muted); font-weight: 400; }
`;
