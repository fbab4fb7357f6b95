import { getDefaults, Lexer, type Token, type TokensList } from "marked";
import { reading } from "./math.ts";
import { isPlain, nodesOf } from "./nodes.ts";

const options = { ...getDefaults(), extensions: reading };

/** One part of a text that is shown by itself: a paragraph, a list, a table. */
export interface Block {
  readonly raw: string;
  readonly token: Token;
  /** The code of a block that is nothing but code. */
  readonly code: string | null;
  /** What it looks like; `null` where it has HTML of its own. */
  nodes(): (Node | string)[] | null;
}

/** Divides Markdown into its blocks. `links` are definitions of before; those that are found are added. */
export function blocksOf(text: string, links: TokensList["links"]): Block[] {
  const lexer = new Lexer(options);
  lexer.tokens.links = links;
  const tokens = lexer.lex(text);
  Object.assign(links, tokens.links);
  return tokens.map((token) => ({
    raw: token.raw,
    token,
    code: token.type === "code" ? String(token.text) : null,
    nodes: () => (isPlain(token) ? nodesOf(token) : null),
  }));
}
