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
  .editor { display: grid; gap: 8px; inline-size: 100%; padding: 4px; }
  .editor textarea { inline-size: 100%; padding: 9px 12px; border: 1px solid var(--_border); border-radius: 12px; background: var(--_raised); color: inherit; font: inherit; resize: vertical; }
  .editor .buttons { display: flex; justify-content: flex-end; gap: 8px; }

  .sources { margin-block-start: 8px; font-size: 13px; color: var(--_muted); }
  .sources summary, .tool summary { cursor: pointer; list-style: none; inline-size: fit-content; }
  .sources summary::-webkit-details-marker, .tool summary::-webkit-details-marker { display: none; }
  .sources summary { padding: 3px 10px; border: 1px solid var(--_border); border-radius: 999px; }
  .sources summary:hover { background: var(--_surface); }
  .sources .count { font-variant-numeric: tabular-nums; }
  .sources ol { display: grid; gap: 4px; margin-block-start: 8px; padding-inline-start: 20px; list-style: decimal; }

  .note { display: flex; align-items: center; gap: 10px; color: var(--_muted); font-size: 13px; text-align: center; }
  .note::before, .note::after { content: ""; flex: 1; border-block-start: 1px solid var(--_border); }
  .note span { max-inline-size: 75%; }

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

  .tool { font-size: 13.5px; color: var(--_muted); }
  .tool summary { display: flex; align-items: center; gap: 7px; padding: 3px 8px; margin-inline-start: -8px; border-radius: 8px; }
  .tool summary:hover { background: var(--_surface); color: var(--_text); }
  .tool summary .icon { inline-size: 15px; block-size: 15px; }
  .tool.busy summary .icon { animation: pulse 1.2s infinite; color: var(--_accent); }
  .tool figure { margin-block-start: 8px; }
  .tool figcaption { font-size: 12px; margin-block-end: 2px; }
  :is(.tool, .interrupt) pre { padding: 10px 12px; max-block-size: 220px; overflow: auto; border-radius: 10px; background: var(--_surface); color: var(--_text); font: 12.5px/1.5 var(--_mono); white-space: pre-wrap; overflow-wrap: anywhere; }

  .interrupt { padding: 14px; border: 1px solid color-mix(in srgb, var(--_accent) 45%, var(--_border)); border-radius: 14px; background: color-mix(in srgb, var(--_accent) 5%, var(--_background)); }
  .interrupt .question { font-weight: 600; }
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
  .message.assistant baton-chat-actions { display: block; inline-size: 100%; }
  .editor textarea::placeholder { color: var(--_muted); opacity: 1; }
  baton-chat-feedback { display: block; inline-size: 100%; margin-block-start: 6px; font-size: 13.5px; }

  .typing { display: flex; gap: 5px; padding: 8px 2px; }
  .typing i { inline-size: 7px; block-size: 7px; border-radius: 50%; background: var(--_muted); animation: pulse 1.2s infinite; }
  .typing i:nth-child(2) { animation-delay: 0.15s; }
  .typing i:nth-child(3) { animation-delay: 0.3s; }
  @keyframes pulse { 0%, 60%, 100% { opacity: 0.3; } 30% { opacity: 1; } }
`;
