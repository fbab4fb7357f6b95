import { css } from "lit";

/** What a run waits for. */
export const interrupt = css`
  .interrupt { padding: 14px; border: 1px solid color-mix(in srgb, var(--_accent) 45%, var(--_border)); border-radius: 14px; background: color-mix(in srgb, var(--_accent) 5%, var(--_background)); }
  .interrupt .label { color: var(--_muted); font-size: 13px; margin-block-end: 2px; }
  .interrupt .question { font-weight: 600; overflow-wrap: anywhere; }
  .interrupt .fields { margin: 10px 0 0; max-block-size: 320px; overflow: auto; font-size: 14px; }
  .interrupt .fields div { display: grid; grid-template-columns: min(34%, 12em) 1fr; gap: 2px 12px; padding-block: 4px; border-block-start: 1px solid var(--_border); }
  .interrupt .fields div:first-child { border: 0; }
  .interrupt .fields .heading { grid-template-columns: 1fr; }
  .interrupt .fields .heading dd { display: none; }
  .interrupt .fields :is(.depth-1, .depth-2, .depth-3, .depth-4) { border: 0; }
  .interrupt .fields .depth-1 dt { padding-inline-start: 14px; }
  .interrupt .fields .depth-2 dt { padding-inline-start: 28px; }
  .interrupt .fields .depth-3 dt { padding-inline-start: 42px; }
  .interrupt .fields .depth-4 dt { padding-inline-start: 56px; }
  .interrupt dt { color: var(--_muted); overflow-wrap: anywhere; }
  .interrupt dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
  .interrupt details { margin-block-start: 10px; font-size: 13px; }
  .interrupt summary { inline-size: fit-content; cursor: pointer; color: var(--_muted); }
  .interrupt pre { padding: 10px 12px; max-block-size: 220px; overflow: auto; border-radius: 10px; background: var(--_surface); color: var(--_text); font: 12.5px/1.5 var(--_mono); white-space: pre-wrap; overflow-wrap: anywhere; }
  .interrupt pre { margin-block-start: 8px; }
  .interrupt form { display: grid; gap: 10px; margin-block-start: 10px; }
  .interrupt label { display: grid; gap: 3px; font-size: 14px; font-weight: 550; }
  .interrupt label.check { grid-template-columns: auto 1fr; align-items: center; gap: 8px; }
  .interrupt .hint { font-weight: 400; color: var(--_muted); font-size: 13px; }
  .interrupt label.check .hint { grid-column: 2; }
  .interrupt :is(input:not([type="checkbox"]), select) { font: inherit; font-weight: 400; color: inherit; padding: 7px 10px; border: 1px solid var(--_border); border-radius: 9px; background: var(--_raised); inline-size: 100%; }
  .interrupt input[type="checkbox"] { accent-color: var(--_accent); inline-size: 17px; block-size: 17px; margin: 0; }
  .interrupt .buttons { display: flex; flex-wrap: wrap; gap: 8px; }
  .interrupt :is(.until, .answer) { color: var(--_muted); font-size: 13px; }
  .interrupt .answer { margin-block-start: 8px; }

  .call { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px; padding: 10px 14px; border: 1px dashed var(--_border); border-radius: 12px; font-size: 13.5px; color: var(--_muted); }
  .call .buttons { display: flex; gap: 8px; }
`;
