import type { RendererExtension, TokenizerExtension } from "marked";

interface Rule {
  readonly name: string;
  readonly level: "block" | "inline";
  readonly begins: RegExp;
  readonly whole: RegExp;
  readonly display: boolean;
}

const RULES: readonly Rule[] = [
  {
    name: "formulaBlock",
    level: "block",
    begins: /\$\$|\\\[/,
    whole: /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n|$)/,
    display: true,
  },
  // As in pandoc: no space inside, and no digit behind, so that prices stay prices.
  {
    name: "formula",
    level: "inline",
    begins: /\$|\\\(/,
    whole: /^(?:\$(?![\s$])([^$\n]*[^\s$\\])\$(?!\d)|\\\(([\s\S]+?)\\\))/,
    display: false,
  },
  {
    name: "formulaInline",
    level: "inline",
    begins: /\$\$|\\\[/,
    whole: /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])/,
    display: true,
  },
];

/** Formulas in dollars or TeX's brackets, as elements that say what is to be drawn in them. */
export const formulas: (TokenizerExtension & RendererExtension)[] = RULES.map((rule) => ({
  name: rule.name,
  level: rule.level,
  start: (source: string) => {
    const at = source.search(rule.begins);
    return at < 0 ? undefined : at;
  },
  tokenizer: (source: string) => {
    const match = rule.whole.exec(source);
    if (!match) return undefined;
    return { type: rule.name, raw: match[0], text: (match[1] ?? match[2] ?? "").trim() };
  },
  renderer: ({ text }) => {
    const kind = rule.display ? "display" : "inline";
    const element = `<span data-math="${kind}">${escaped(String(text))}</span>`;
    return rule.level === "block" ? `<p>${element}</p>` : element;
  },
}));

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
