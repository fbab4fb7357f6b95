import type { MarkedOptions } from "marked";

interface Rule {
  readonly name: string;
  readonly level: "block" | "inline";
  readonly begins: RegExp;
  readonly whole: RegExp;
}

const RULES: readonly Rule[] = [
  {
    name: "formulaBlock",
    level: "block",
    begins: /\$\$|\\\[/,
    whole: /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n|$)/,
  },
  {
    name: "formulaInline",
    level: "inline",
    begins: /\$\$|\\\[/,
    whole: /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])/,
  },
  // As in pandoc: no space inside, and no digit behind, so that prices stay prices.
  {
    name: "formula",
    level: "inline",
    begins: /\$|\\\(/,
    whole: /^(?:\$(?![\s$])([^$\n]*[^\s$\\])\$(?!\d)|\\\(([\s\S]+?)\\\))/,
  },
];

const tokenizers = (level: Rule["level"]) =>
  RULES.filter((rule) => rule.level === level).map(({ name: type, whole }) => (source: string) => {
    const match = whole.exec(source);
    return match ? { type, raw: match[0], text: (match[1] ?? match[2] ?? "").trim() } : undefined;
  });

const starts = (level: Rule["level"]) =>
  RULES.filter((rule) => rule.level === level).map(
    ({ begins }) =>
      (source: string) =>
        source.search(begins),
  );

/** How Marked reads formulas in dollars or TeX's brackets. */
export const reading: NonNullable<MarkedOptions["extensions"]> = {
  block: tokenizers("block"),
  inline: tokenizers("inline"),
  startBlock: starts("block"),
  startInline: starts("inline"),
  renderers: {},
  childTokens: {},
};
