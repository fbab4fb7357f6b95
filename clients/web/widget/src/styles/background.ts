import { css } from "lit";

/** Work in the background. */
export const background = css`
  .background { display: grid; gap: 4px; padding: 8px 12px; border-block-start: 1px solid var(--_border); font-size: 14px; }
  .background h3 { margin: 0; font-size: 13px; color: var(--_muted); }
  .background ul { display: grid; gap: 4px; max-block-size: 120px; overflow-y: auto; }
  .background li { display: flex; align-items: center; gap: 8px; }
  .background li::before { content: ""; flex: none; inline-size: 8px; block-size: 8px; border-radius: 50%; background: var(--_accent); animation: pulse 1.2s infinite; }
  .background span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .background small { flex: 1; min-inline-size: 0; color: var(--_muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
`;
