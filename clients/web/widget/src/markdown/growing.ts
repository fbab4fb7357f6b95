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
