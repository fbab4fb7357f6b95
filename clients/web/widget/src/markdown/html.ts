import { getDefaults, Parser, Renderer, type Tokens } from "marked";
import type { Block } from "./blocks.ts";

class BlockRenderer extends Renderer {
  override code({ text, lang }: Tokens.Code): string {
    const language = (lang ?? "").trim().split(/\s+/)[0] ?? "";
    const attribute = language ? ` data-language="${escaped(language)}"` : "";
    return `<pre${attribute}><code>${escaped(text)}</code></pre>`;
  }
}

/** A formula is an element that says what is to be drawn in it. */
const formulaOf = ({ type, text }: Tokens.Generic): string =>
  `<span data-math="${type === "formula" ? "inline" : "display"}">${escaped(String(text))}</span>`;

const renderers = {
  formulaBlock: (token: Tokens.Generic) => `<p>${formulaOf(token)}</p>`,
  formula: formulaOf,
  formulaInline: formulaOf,
};

/** A block as HTML, which may do harm. */
export const htmlOf = ({ token }: Block): string =>
  Parser.parse([token], {
    ...getDefaults(),
    renderer: new BlockRenderer(),
    extensions: { renderers, childTokens: {} },
  });

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
