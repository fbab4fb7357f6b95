import { css } from "lit";

/** Colours, measures and what all buttons share. A page changes them by custom properties and parts. */
export const base = css`
  :host {
    --_accent: var(--baton-accent, light-dark(#4b45d6, #8f8bff));
    --_on-accent: var(--baton-on-accent, light-dark(#ffffff, #14122e));
    --_background: var(--baton-background, light-dark(#ffffff, #16171d));
    --_surface: var(--baton-surface, light-dark(#f4f4f8, #21232c));
    --_raised: var(--baton-raised, light-dark(#ffffff, #272a35));
    --_text: var(--baton-text, light-dark(#1c1d26, #ececf2));
    --_muted: var(--baton-muted, light-dark(#5d6072, #a3a6b8));
    --_border: var(--baton-border, light-dark(#e2e3ec, #343743));
    --_danger: var(--baton-danger, light-dark(#b3261e, #ff9d94));
    --_radius: var(--baton-radius, 16px);
    --_font: var(--baton-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif);
    --_mono: var(--baton-mono, ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, monospace);
    --_shadow: light-dark(0 12px 40px rgb(24 24 60 / 0.18), 0 12px 40px rgb(0 0 0 / 0.55));
    font: 400 15px/1.55 var(--_font);
    color: var(--_text);
    -webkit-font-smoothing: antialiased;
    text-size-adjust: 100%;
  }
  :host([theme="light"]) { color-scheme: light; }
  :host([theme="dark"]) { color-scheme: dark; }
  :host([hidden]) { display: none !important; }
  *, *::before, *::after { box-sizing: border-box; }
  p, ul, ol, h2, figure, pre { margin: 0; padding: 0; }
  ul, ol { list-style: none; }
  .icon { flex: none; display: block; }
  .unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

  button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
  button:disabled { cursor: default; }
  :is(button, a, textarea, input, select, summary, [tabindex]):focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
  a { color: var(--_accent); text-underline-offset: 2px; }
  .round { display: inline-grid; place-items: center; flex: none; inline-size: 36px; block-size: 36px; border-radius: 50%; transition: background 0.15s, opacity 0.15s; }
  .round.tiny { inline-size: 24px; block-size: 24px; }
  .round.tiny .icon { inline-size: 14px; block-size: 14px; }
  .quiet { color: var(--_muted); }
  .quiet:hover { background: var(--_surface); color: var(--_text); }
  .primary, .secondary { padding: 7px 14px; border-radius: 10px; font-weight: 550; font-size: 14px; line-height: 1.4; transition: filter 0.15s, background 0.15s; }
  .primary { background: var(--_accent); color: var(--_on-accent); }
  .primary:hover { filter: brightness(1.08); }
  .secondary { background: var(--_raised); border: 1px solid var(--_border); }
  .secondary:hover { background: var(--_surface); }
  .danger { padding: 7px 14px; border-radius: 10px; font-weight: 550; background: var(--_danger); color: light-dark(#fff, #16171d); }
  .pressed { color: var(--_accent); background: color-mix(in srgb, var(--_accent) 12%, transparent); }
  .small { padding: 4px 10px; font-size: 13px; border-radius: 8px; }
  .link { color: var(--_accent); font-weight: 550; text-decoration: underline; text-underline-offset: 2px; }

  @media (prefers-reduced-motion: reduce) {
    *, *::before, *::after { animation-duration: 0.01ms !important; animation-iteration-count: 1 !important; transition-duration: 0.01ms !important; scroll-behavior: auto !important; }
  }
  @media (forced-colors: active) {
    .panel, .composer .line, .launcher, .message.user .body { border: 1px solid CanvasText; }
  }
`;
