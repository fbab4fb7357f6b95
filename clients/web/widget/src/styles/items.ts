import { css } from "lit";

/** What was said, and what happened in between. */
export const items = css`
  baton-chat-transcript { position: relative; display: flex; flex: 1; min-block-size: 0; }
  .scroller { flex: 1; min-inline-size: 0; overflow-y: auto; overscroll-behavior: contain; scrollbar-width: thin; scrollbar-color: var(--_border) transparent; outline-offset: -2px; }
  .scroller:focus-visible { outline-offset: -2px; }
  :is(.items, .page) { display: flex; flex-direction: column; gap: 12px; }
  .items { padding: 16px; max-inline-size: var(--baton-measure, 760px); margin-inline: auto; }
  .page { content-visibility: auto; contain-intrinsic-size: auto 4500px; }
  .item { display: block; }
  .latest { position: absolute; inset-block-end: 12px; inset-inline: 0; margin-inline: auto; background: var(--_raised); border: 1px solid var(--_border); box-shadow: 0 4px 14px rgb(20 20 60 / 0.16); }
  .earlier { text-align: center; font-size: 13.5px; }

  .message { display: flex; flex-direction: column; align-items: flex-start; }
  .author { font-size: 12.5px; font-weight: 600; color: var(--_muted); margin-block: 4px 2px; }
  .author.person { display: flex; align-items: center; gap: 6px; color: var(--_text); }
  .face { display: grid; place-items: center; flex: none; inline-size: 24px; block-size: 24px; border-radius: 50%; overflow: hidden; background: color-mix(in srgb, var(--_accent) 16%, var(--_background)); color: var(--_accent); font-weight: 650; }
  .face img { inline-size: 100%; block-size: 100%; object-fit: cover; }
  .kind { padding: 0 7px; border-radius: 8px; border: 1px solid var(--_border); color: var(--_muted); font-weight: 500; }
  .body { max-inline-size: 100%; min-inline-size: 0; overflow-wrap: anywhere; }
  .message.assistant .body { inline-size: 100%; }
  .message.user { align-items: flex-end; }
  .message.user .body { max-inline-size: min(85%, 560px); padding: 9px 14px; border-radius: 18px; border-end-end-radius: 6px; background: var(--baton-user-background, var(--_accent)); color: var(--baton-user-text, var(--_on-accent)); white-space: pre-wrap; }
  .message.user .body p { unicode-bidi: plaintext; }
  .message.user .body > * + * { margin-block-start: 8px; }
  .message.user .body a { color: inherit; }
  .picture img { display: block; max-inline-size: 100%; max-block-size: 240px; border-radius: 10px; }
  .file { display: inline-flex; align-items: center; gap: 6px; max-inline-size: 100%; }
  .mark { display: flex; align-items: center; gap: 5px; color: var(--_muted); font-size: 12.5px; margin-block-start: 3px; }
  .late { animation: late 1s; }
  @keyframes late { from, 99% { block-size: 0; margin: 0; visibility: hidden; } }
  .mark .icon { inline-size: 14px; block-size: 14px; }
  .failure { display: flex; align-items: flex-start; flex-wrap: wrap; gap: 4px 8px; margin-block-start: 6px; font-size: 13.5px; color: var(--_danger); }
  .failure .icon { inline-size: 17px; block-size: 17px; margin-block-start: 2px; }
  .failure span { flex: 0 1 auto; min-inline-size: 0; }

  .actions { display: flex; align-items: center; gap: 2px; margin-block-start: 2px; color: var(--_muted); font-size: 12.5px; }
  .actions .round { inline-size: 28px; block-size: 28px; }
  .actions .icon { inline-size: 15px; block-size: 15px; }
  .actions :disabled { opacity: 0.4; }
  .items:not([data-idle]) .when-idle { visibility: hidden; }
  [dir="rtl"] .versions .icon { transform: scaleX(-1); }
  .versions { display: flex; align-items: center; font-variant-numeric: tabular-nums; }

  .note { display: flex; align-items: center; gap: 10px; color: var(--_muted); font-size: 13px; text-align: center; }
  .note::before, .note::after { content: ""; flex: 1; border-block-start: 1px solid var(--_border); }
  .note span { max-inline-size: 75%; }

  .message.assistant baton-chat-actions { display: block; inline-size: 100%; }

  .typing { display: flex; gap: 5px; padding: 8px 2px; }
  .typing i { inline-size: 7px; block-size: 7px; border-radius: 50%; background: var(--_muted); animation: pulse 1.2s infinite; }
  .typing i:nth-child(2) { animation-delay: 0.15s; }
  .typing i:nth-child(3) { animation-delay: 0.3s; }
  @keyframes pulse { 0%, 60%, 100% { opacity: 0.3; } 30% { opacity: 1; } }
`;
