import { css } from "lit";

/** Comments on answers. */
export const feedback = css`
  baton-chat-feedback { display: block; inline-size: 100%; margin-block-start: 6px; font-size: 13.5px; }
  .editor textarea::placeholder { color: var(--_muted); opacity: 1; }
`;
