import { css } from "lit";

/** The panel, its head, and the button that opens it. */
export const frame = css`
  :host([mode="inline"]) { display: block; block-size: var(--baton-height, 600px); min-block-size: 320px; }
  .root { font-size: inherit; }
  .root.inline { block-size: 100%; position: relative; }
  .root.floating { position: fixed; inset-block-end: max(20px, env(safe-area-inset-bottom)); inset-inline-end: 20px; z-index: var(--baton-z-index, 2147483000); }

  .panel { position: relative; display: flex; flex-direction: column; min-block-size: 0; overflow: hidden; background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_radius); }
  .inline .panel { block-size: 100%; }
  .floating .panel {
    position: absolute; inset-block-end: 72px; inset-inline-end: 0;
    inline-size: min(var(--baton-width, 400px), calc(100vw - 40px));
    block-size: min(var(--baton-height, 660px), calc(100dvh - 120px));
    box-shadow: var(--_shadow);
    animation: rise 0.22s cubic-bezier(0.2, 0.8, 0.3, 1);
  }
  @keyframes rise { from { opacity: 0; transform: translateY(12px) scale(0.98); } }

  .launcher {
    position: relative; display: grid; place-items: center; inline-size: 56px; block-size: 56px; border-radius: 50%;
    background: var(--_accent); color: var(--_on-accent); box-shadow: 0 6px 20px rgb(20 20 60 / 0.28); transition: transform 0.15s, filter 0.15s;
  }
  .launcher:hover { transform: translateY(-1px); filter: brightness(1.06); }
  .badge { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-inline-size: 22px; block-size: 22px; padding-inline: 6px; border-radius: 11px; border: 2px solid var(--_background); background: var(--_danger); color: light-dark(#fff, #16171d); font: 650 12px/18px var(--_font); text-align: center; }
  .launcher .icon { inline-size: 26px; block-size: 26px; }

  .header { display: flex; align-items: center; gap: 4px; padding: 12px 12px 12px 16px; border-block-end: 1px solid var(--_border); }
  .avatar { display: grid; place-items: center; flex: none; inline-size: 36px; block-size: 36px; margin-inline-end: 8px; border-radius: 50%; overflow: hidden; background: color-mix(in srgb, var(--_accent) 16%, var(--_background)); color: var(--_accent); font-weight: 650; }
  .avatar img { inline-size: 100%; block-size: 100%; object-fit: cover; }
  .who { flex: 1; min-inline-size: 0; }
  .name { font-size: 15px; font-weight: 650; line-height: 1.3; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .header [part~="list-button"] { position: relative; margin-inline: -8px 2px; }
  .header .badge { inset-block-start: -2px; inset-inline-end: -2px; min-inline-size: 20px; block-size: 20px; padding-inline: 4px; font: 650 11px/16px var(--_font); }
  .title { color: var(--_muted); font-size: 12.5px; line-height: 1.4; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  progress { display: block; inline-size: 100%; max-inline-size: 220px; block-size: 4px; margin-block-start: 4px; border: 0; border-radius: 2px; overflow: hidden; appearance: none; background: var(--_surface); accent-color: var(--_accent); }
  progress::-webkit-progress-bar { background: var(--_border); }
  progress::-webkit-progress-value { background: var(--_accent); transition: inline-size 0.3s; }
  progress::-moz-progress-bar { background: var(--_accent); }

  .session { display: flex; align-items: center; gap: 10px; padding: 7px 12px 7px 16px; border-block-end: 1px solid var(--_border); background: var(--_surface); font-size: 13px; }
  .session .where { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
  .session button { flex: none; }

  .panel > [hidden] { display: none; }

  .welcome { position: absolute; inset: 76px 0 96px; display: grid; place-content: center; padding: 24px; text-align: center; color: var(--_muted); font-size: 18px; pointer-events: none; }
  .welcome ::slotted(*), .welcome > * { pointer-events: auto; }
  .drop { position: absolute; inset: 8px; display: grid; place-content: center; border: 2px dashed var(--_accent); border-radius: calc(var(--_radius) - 6px); background: color-mix(in srgb, var(--_background) 88%, var(--_accent)); font-weight: 600; pointer-events: none; }

  footer { padding: 0 12px 12px; }
  .closed, .offers > p { color: var(--_muted); font-size: 13.5px; text-align: center; padding: 6px 8px; }
  .problem { display: flex; gap: 8px; padding: 8px 12px; margin-block-end: 8px; border-radius: 10px; font-size: 13.5px; color: var(--_danger); background: color-mix(in srgb, var(--_danger) 9%, var(--_background)); }
  .connection:not(.unseen) { display: flex; justify-content: center; gap: 8px; padding: 6px 10px; margin-block-end: 8px; border-radius: 10px; background: var(--_surface); font-size: 13px; color: var(--_muted); }
  .connection:not(.unseen) [role="status"] { position: absolute; clip-path: inset(50%); inline-size: 1px; overflow: hidden; white-space: nowrap; }

  @media (max-width: 520px) {
    .floating .panel { position: fixed; inset: 0; inline-size: 100%; block-size: 100dvh; max-block-size: none; border: 0; border-radius: 0; }
    :host([open]) .launcher { display: none; }
  }
`;
