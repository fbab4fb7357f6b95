import { css } from "lit";

/** Text of agents. */
export const markdown = css`
  .markdown { display: block; }
  .markdown > .part { display: contents; }
  /* The blocks after the last part lack it: when an element that has it is added, Chromium visits every element of the page. */
  .markdown[data-long] > .part { display: block; content-visibility: auto; contain-intrinsic-size: auto 2400px; }
  .markdown :is(p, ul, ol, blockquote, figure, .table, details) { margin-block: 10px; }
  .markdown :is(h1, h2, h3, h4, h5, h6) { margin-block: 18px 8px; line-height: 1.3; font-weight: 650; font-size: 1.05em; }
  .markdown h1 { font-size: 1.3em; }
  .markdown h2 { font-size: 1.18em; }
  /* Each line has the direction of its own first letter. */
  .markdown :is(p, h1, h2, h3, h4, h5, h6, li, summary) { unicode-bidi: plaintext; }
  /* Text of a list stands beside its bullets, whatever its own direction. */
  .markdown :is(ul, ol, blockquote, details):dir(ltr) { text-align: left; }
  .markdown :is(ul, ol, blockquote, details):dir(rtl) { text-align: right; }
  .markdown a { unicode-bidi: isolate; }
  .markdown ul { list-style: disc; padding-inline-start: 22px; }
  .markdown ol { list-style: decimal; padding-inline-start: 24px; }
  .markdown li { margin-block: 4px; }
  .markdown li > :is(p, ul, ol) { margin-block: 4px; }
  .markdown blockquote { margin-inline: 0; padding-inline-start: 12px; border-inline-start: 3px solid var(--_border); color: var(--_muted); }
  .markdown hr { border: 0; border-block-start: 1px solid var(--_border); margin-block: 16px; }
  .markdown :not(pre) > code { padding: 1.5px 5px; border-radius: 5px; background: var(--_surface); font: 0.88em var(--_mono); }
  .citation { line-height: 0; font-size: 0.75em; unicode-bidi: isolate; white-space: nowrap; }
  .citation button { padding: 2px 3px; border-radius: 5px; color: var(--_accent); font-weight: 600; line-height: 1; }
  .citation button:is(:hover, [aria-expanded="true"]) { background: var(--_surface); text-decoration: underline; }
  .markdown kbd { padding: 1px 5px; border: 1px solid var(--_border); border-radius: 5px; font: 0.85em var(--_mono); }
  .markdown a[data-image]::before { content: ""; display: inline-block; inline-size: 0.65em; block-size: 0.65em; margin-inline-end: 0.3em; background: currentColor; clip-path: polygon(25% 0, 100% 0, 100% 75%, 84% 75%, 84% 28%, 12% 100%, 0 88%, 72% 16%, 25% 16%); }
  .markdown img { max-inline-size: 100%; border-radius: 10px; }
  /* A shadow at an edge says that there is more: what scrolls with the table covers it at the table's own ends. */
  .markdown .table { overflow-x: auto; border: 1px solid var(--_border); border-radius: 10px; background: linear-gradient(90deg, var(--_background) 14px, transparent 40px calc(100% - 40px), var(--_background) calc(100% - 14px)) local, linear-gradient(90deg, color-mix(in srgb, var(--_text) 25%, transparent), transparent 16px calc(100% - 16px), color-mix(in srgb, var(--_text) 25%, transparent)); }
  .markdown table { border-collapse: collapse; inline-size: 100%; font-size: 14px; }
  .markdown :is(th, td) { padding: 7px 12px; text-align: start; border-block-end: 1px solid var(--_border); overflow-wrap: normal; }
  .markdown th { background: var(--_surface); font-weight: 600; }
  .markdown tr:last-child td { border-block-end: 0; }
  .markdown :is(th, td)[align="right"] { text-align: end; }
  .markdown :is(th, td)[align="center"] { text-align: center; }
  .markdown > :first-child, .markdown > .part:first-child > :first-child { margin-block-start: 0; }
  .markdown > :last-child, .markdown > .part:last-child > :last-child { margin-block-end: 0; }
  /* Margins do not collapse across parts: the one before the next block is kept. Only after a rule (hr) is it the smaller one. */
  .markdown[data-long] > .part > :last-child { margin-block-end: 0; }

  figure.code { border: 1px solid var(--_border); border-radius: 12px; overflow: hidden; background: var(--_surface); direction: ltr; }
  figure.code figcaption { display: flex; justify-content: space-between; padding: 5px 12px; border-block-end: 1px solid var(--_border); color: var(--_muted); font-size: 12.5px; }
  figure.code .copy { font-size: 12.5px; color: var(--_muted); border-radius: 5px; }
  figure.code .copy:hover { color: var(--_text); }
  figure.code pre { padding: 12px; overflow-x: auto; font: 13px/1.55 var(--_mono); tab-size: 2; text-align: left; overflow-wrap: normal; white-space: pre; outline-offset: -2px; }
  math[display="block"] { overflow-x: auto; max-inline-size: 100%; }
`;
