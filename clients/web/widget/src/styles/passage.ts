import { css } from "lit";

/** The passage behind a citation: beside it, or at the lower edge of a narrow screen. */
export const passage = css`
  .passage { position: fixed; inset: auto; margin: 0; inline-size: min(360px, calc(100vw - 24px)); max-block-size: min(320px, calc(100vh - 24px)); overflow: auto; padding: 14px 16px; border: 1px solid var(--_border); border-radius: 14px; background: var(--_raised); color: var(--_text); box-shadow: var(--_shadow); font: 400 14px/1.5 var(--_font); }
  .passage:focus-visible { outline: 2px solid var(--_accent); outline-offset: -2px; }
  .passage header { display: flex; align-items: flex-start; gap: 8px; }
  .passage header > div { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
  .passage strong { font-weight: 600; }
  .passage .place { color: var(--_muted); font-size: 13px; }
  .passage blockquote { margin: 10px 0 0; padding-inline-start: 10px; border-inline-start: 3px solid var(--_border); overflow-wrap: anywhere; white-space: pre-line; }
  .passage p { margin-block-start: 10px; }
  @media (max-width: 480px) {
    .passage { inset: auto 0 0 !important; inline-size: 100%; max-block-size: 60vh; border-radius: 16px 16px 0 0; padding-block-end: max(14px, env(safe-area-inset-bottom)); }
  }
`;
