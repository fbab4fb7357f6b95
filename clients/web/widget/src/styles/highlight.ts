import { css } from "lit";

/** Colours of code. */
export const highlightColours = css`
  .hljs-comment, .hljs-quote, .hljs-meta { color: var(--_muted); }
  .hljs-keyword, .hljs-selector-tag, .hljs-literal, .hljs-type { color: light-dark(#8a2bb8, #d3a0ff); }
  .hljs-string, .hljs-regexp, .hljs-addition, .hljs-symbol { color: light-dark(#17703c, #7fd8a2); }
  .hljs-number, .hljs-attr, .hljs-attribute, .hljs-variable, .hljs-template-variable { color: light-dark(#9a4a00, #ffb878); }
  .hljs-title, .hljs-section, .hljs-name, .hljs-built_in { color: light-dark(#1f55c4, #8fb7ff); }
  .hljs-deletion { color: var(--_danger); }
`;
