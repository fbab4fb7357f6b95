import { css } from "lit";

/** Where the user writes. */
export const composer = css`
  .composer .line { display: flex; align-items: flex-end; gap: 4px; padding: 5px; border: 1px solid var(--_border); border-radius: 24px; background: var(--_raised); transition: border-color 0.15s; max-inline-size: var(--baton-measure, 760px); margin-inline: auto; }
  .composer .line:has(textarea:focus-visible) { border-color: var(--_accent); box-shadow: 0 0 0 1px var(--_accent); }
  .composer textarea { flex: 1; min-inline-size: 0; resize: none; border: 0; outline: 0; background: none; color: inherit; font: inherit; padding: 6px 6px; max-block-size: 200px; scrollbar-width: thin; }
  .composer .line textarea:focus-visible { outline: none; }
  .composer textarea::placeholder { color: var(--_muted); opacity: 1; }
  .composer .chooser { display: none; }
  .composer .send, .composer .stop { background: var(--_accent); color: var(--_on-accent); }
  .composer .send:disabled { background: var(--_surface); color: var(--_muted); }
  .composer .send.busy { animation: pulse 1.2s infinite; }
  .composer .attached { display: flex; flex-wrap: wrap; gap: 8px; padding: 4px 4px 8px; }
  .composer .attached li { display: flex; align-items: center; gap: 7px; max-inline-size: 220px; padding: 4px 4px 4px 8px; border: 1px solid var(--_border); border-radius: 10px; background: var(--_surface); font-size: 13px; }
  .composer .attached img { inline-size: 32px; block-size: 32px; object-fit: cover; border-radius: 6px; margin-inline-start: -4px; }
  .composer .attached .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  @media (pointer: coarse) { .composer textarea, .interrupt :is(input, select) { font-size: 16px; } }
`;
