import { css } from "lit";

/** Forms within messages: comments on answers, and changed messages. */
export const feedback = css`
  .editor { display: grid; gap: 8px; inline-size: 100%; padding: 4px; }
  .editor textarea { inline-size: 100%; padding: 9px 12px; border: 1px solid var(--_border); border-radius: 12px; background: var(--_raised); color: inherit; font: inherit; resize: vertical; }
  .editor .buttons { display: flex; justify-content: flex-end; gap: 8px; }
  baton-chat-editor { inline-size: 100%; }
  baton-chat-feedback { display: block; inline-size: 100%; margin-block-start: 6px; font-size: 13.5px; }
  .editor textarea::placeholder { color: var(--_muted); opacity: 1; }
`;
