import { css } from "lit";

/** Colours, measures and plain elements, in every shadow root of the console. */
export const base = css`
  :host {
    --accent: light-dark(#4b45d6, #9a96ff);
    --on-accent: light-dark(#ffffff, #14122e);
    --background: light-dark(#ffffff, #16171d);
    --surface: light-dark(#f4f4f8, #21232c);
    --raised: light-dark(#ffffff, #272a35);
    --text: light-dark(#1c1d26, #ececf2);
    --muted: light-dark(#5d6072, #a3a6b8);
    --border: light-dark(#e2e3ec, #343743);
    --danger: light-dark(#b3261e, #ff9d94);
    --good: light-dark(#1a7f4b, #7fd8a6);
    --warning: light-dark(#8a5300, #f2c078);
    --radius: 10px;
    --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, monospace;
    display: block;
    color: var(--text);
    font: 400 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  }
  :host([hidden]) { display: none; }
  *, *::before, *::after { box-sizing: border-box; }
  h1 { font-size: 20px; line-height: 1.3; margin: 0 0 16px; }
  h2 { font-size: 16px; line-height: 1.3; margin: 24px 0 8px; }
  p { margin: 0 0 8px; }
  a { color: var(--accent); text-underline-offset: 2px; }
  code, pre, .mono { font-family: var(--mono); font-size: 12.5px; }
  button, input, select, textarea { font: inherit; color: inherit; }
  input, select, textarea { background: var(--raised); border: 1px solid var(--border); border-radius: 8px; padding: 6px 10px; max-inline-size: 100%; }
  button { background: var(--raised); border: 1px solid var(--border); border-radius: 8px; padding: 6px 12px; cursor: pointer; }
  button:hover:not(:disabled) { background: var(--surface); }
  button:disabled { opacity: 0.55; cursor: default; }
  button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 550; }
  button.primary:hover:not(:disabled) { filter: brightness(1.08); background: var(--accent); }
  button.danger { color: var(--danger); border-color: currentColor; }
  button.link { border: 0; padding: 0; background: none; color: var(--accent); text-decoration: underline; text-underline-offset: 2px; }
  :is(button, a, input, select, textarea, summary, [tabindex]):focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
  label { display: inline-flex; flex-direction: column; gap: 2px; max-inline-size: 100%; color: var(--muted); font-size: 12.5px; }
  label > :is(input, select, textarea) { color: var(--text); font-size: 14px; }
  /* A shadow at an edge says that there is more: what scrolls with the table covers it at the table's own ends. */
  .frame, .scroll { background: linear-gradient(90deg, var(--background) 14px, transparent 40px calc(100% - 40px), var(--background) calc(100% - 14px)) local, linear-gradient(90deg, color-mix(in srgb, var(--text) 25%, transparent), transparent 16px calc(100% - 16px), color-mix(in srgb, var(--text) 25%, transparent)); }
  .muted { color: var(--muted); }
  .bad { color: var(--danger); }
  .good { color: var(--good); }
  .row { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: end; }
  .unseen { position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  @media (prefers-reduced-motion: reduce) {
    *, *::before, *::after { animation-duration: 0.01ms !important; transition-duration: 0.01ms !important; }
  }
`;
