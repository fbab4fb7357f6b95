import type { Token, Tokens, TokensList } from "marked";
import { type Block, blocksOf } from "./blocks.ts";

/** Where a list or a table goes on: its last entry, from which alone its text is read again when there is more of it. */
export interface Growing {
  /** What has to be read before the entry to know what it is an entry of: the head of a table. */
  readonly head: string;
  /** Where the last entry begins, from the beginning of the block. */
  readonly at: number;
  readonly loose: boolean;
}

/** How the block goes on; `null` where it has no entries. */
export function growingOf({ token, raw }: Block): Growing | null {
  if (token.type === "list") return { head: "", at: beforeLast(token as Tokens.List), loose: token.loose === true };
  if (token.type !== "table") return null;
  const lines = raw.trimEnd().split("\n");
  const last = lines.at(-1) ?? "";
  if (lines.length < 3 || lines.length !== token.rows.length + 2) return null;
  return { head: `${lines[0]}\n${lines[1]}\n`, at: raw.trimEnd().length - last.length, loose: false };
}

/** The last entry and those after it, read from `text` alone; `null` where it goes on as something else. */
export function entriesOf(
  growing: Growing,
  known: Block,
  text: string,
  links: TokensList["links"],
): { block: Block; next: Growing } | null {
  const [block, ...others] = blocksOf(growing.head + text, links);
  if (!block || others.some(({ raw }) => raw.trim() !== "") || !isAlike(block.token, known.token)) return null;
  if (block.token.type === "list") {
    const list = block.token as Tokens.List;
    if (list.loose && !growing.loose) return null; // all of its entries have more space between them now
    list.loose = growing.loose;
  }
  const next = growingOf(block);
  return next && { block, next: { ...growing, at: growing.at + next.at - growing.head.length } };
}

function isAlike(one: Token, other: Token): boolean {
  if (one.type !== other.type) return false;
  return one.type !== "list" || markerOf(one) === markerOf(other);
}

/** Lists of other marks are other lists. */
const markerOf = ({ raw }: Token): string => /^\s*\d*\D/.exec(raw)?.[0].trim().replace(/\d+/, "1") ?? "";

const beforeLast = ({ items }: Tokens.List): number =>
  items.slice(0, -1).reduce((length, { raw }) => length + raw.length, 0);

/** Characters at the end of a long paragraph that are read again when there is more of it. */
export const TAIL = 2_000;
/** What may begin something that ends later: it could still change what is before the end of the paragraph. */
const OPENING = /[`[<$*~_]/;
const BRACKET = /[([]/;
/** Marks that begin nothing: between spaces, or within a word. */
const PLAIN_MARKS = /(?<=\s)[*~_](?=\s)|(?<=\w)_(?=\w)/g;
/** Between words, where the rest read alone begins with a letter: with nothing else than a paragraph. */
const BORDER = /(?<=\S )(?=\p{L})|(?<=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])(?=\p{L})/gu;

/**
 * Where a long paragraph can be divided: what is before cannot change any more, and what follows is read the same without
 * it. 0 where there is no such place.
 */
export function borderOf({ token, raw }: Block): number {
  const { text, tokens } = token as Partial<Tokens.Paragraph>;
  if (token.type !== "paragraph" || !text || !tokens || !raw.startsWith(text)) return 0;
  const end = raw.length - TAIL;
  let at = 0;
  let border = 0;
  for (const inner of tokens) {
    if (at >= end || !isSettled(inner)) break;
    if (inner.type === "text")
      for (const { index } of inner.raw.slice(0, end - at).matchAll(BORDER)) border = at + index;
    at += inner.raw.length;
  }
  return border;
}

function isSettled(token: Token): boolean {
  switch (token.type) {
    case "codespan":
    case "br":
    case "formula":
    case "formulaInline":
      return true;
    case "escape":
      return !BRACKET.test(token.raw); // it may be the beginning of a formula
    case "text":
    case "strong":
    case "em":
    case "del":
    case "link":
      if ("tokens" in token && token.tokens?.length) return token.tokens.every(isSettled);
      return !OPENING.test(token.raw.replace(PLAIN_MARKS, ""));
    default:
      return false;
  }
}
