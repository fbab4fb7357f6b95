import assert from "node:assert/strict";
import { test } from "node:test";
import type { Token, Tokens } from "marked";
import { blocksOf } from "../src/markdown/blocks.ts";
import { borderOf, entriesOf, growingOf, TAIL } from "../src/markdown/growing.ts";
import { htmlOf } from "../src/markdown/html.ts";

const ENTRIES: Readonly<Record<string, (number: number) => string>> = {
  bullets: (number) => `- Point ${number} with **words**\n  - and a point of its own\n`,
  numbers: (number) => `${number + 1}. Point ${number}\n`,
  loose: (number) => `- Point ${number}\n\n  has two paragraphs.\n\n`,
  table: (number) => `${number === 0 ? "| a | b |\n| - | -: |\n" : ""}| ${number} | \`b\` |\n`,
};

/** Reads a text as it grows: what its entries are in the end, and how many characters were read. */
function grown(text: string): { entries: string[]; read: number; whole: number } {
  const result = { entries: [] as string[], read: 0, whole: 0 };
  let known = blocksOf("", {})[0];
  let growing = null as ReturnType<typeof growingOf>;
  for (let end = 25; end < text.length + 25; end += 25) {
    const so = text.slice(0, end);
    const more = known && growing ? entriesOf(growing, known, so.slice(growing.at), {}) : null;
    if (more && growing) {
      result.read += so.length - growing.at;
      result.entries.splice(-1, 1, ...rawsOf(more.block.token));
      growing = more.next;
      continue;
    }
    result.whole += 1;
    result.read += so.length;
    known = blocksOf(so, {})[0];
    growing = known ? growingOf(known) : null;
    result.entries = known ? rawsOf(known.token) : [];
  }
  return result;
}

function rawsOf(token: Token): string[] {
  const { items, rows = [] } = token as { items?: Tokens.List["items"]; rows?: Tokens.Table["rows"] };
  if (items) return items.map(({ raw }) => raw.trim());
  return rows.map((row) => row.map(({ text }) => text).join());
}

for (const [name, entry] of Object.entries(ENTRIES)) {
  test(`what is read of a growing list does not grow with it: ${name}`, () => {
    const text = (count: number) => Array.from({ length: count }, (_, number) => entry(number)).join("");
    const [short, long] = [grown(text(40)), grown(text(400))];
    const whole = blocksOf(text(400), {})[0];
    assert.deepEqual(long.entries, whole && rawsOf(whole.token));
    assert.equal(long.whole, short.whole);
    const [most, least] = [long.read / text(400).length, short.read / text(40).length];
    assert.ok(most <= 1.5 * least, `each character was read ${most} times, ${least} times where there are fewer`);
  });
}

test("what follows a list, or another list, is not taken for an entry of it", () => {
  for (const after of ["\n\nText", "\n* other mark", "\n\n## Heading", "\n```\ncode"]) {
    const known = blocksOf("- a\n- b", {})[0];
    assert.ok(known);
    const growing = growingOf(known);
    assert.ok(growing);
    assert.equal(entriesOf(growing, known, `- b${after}`, {}), null, after);
  }
});

const SENTENCES = [
  "Plain words and **strong *ones* here**, `code * here`, [a link](https://example.com) and http://example.com/a_b. ",
  "Of 5 * 6 some_snake_names cost ~ 7; write to a@example.com\nin the next line, or see \\(x_1\\) and $y$ and \\* too. ",
  "Two spaces  and a break  \nfollow, with ~~deleted~~ words & more. ",
];

test("a long paragraph is the same in one piece and divided at its border", () => {
  const wordsOf = (text: string) => {
    const [block] = blocksOf(text, {});
    return block
      ? htmlOf(block)
          .trim()
          .replace(/^<p>|<\/p>$/g, "")
      : "";
  };
  for (let seed = 0; seed < 40; seed++) {
    let text = "";
    while (text.length < 6000) text += SENTENCES[(text.length * 7 + seed) % SENTENCES.length];
    const [block] = blocksOf(text.slice(0, text.length - seed), {});
    assert.ok(block);
    const border = borderOf(block);
    assert.ok(border > 3000, `divided at ${border}`);
    assert.ok(block.raw.length - border >= TAIL);
    assert.equal(wordsOf(block.raw.slice(0, border)) + wordsOf(block.raw.slice(border)), wordsOf(block.raw));
  }
});

test("what may still be closed is not before the border of a paragraph", () => {
  const words = "words and more words ".repeat(300);
  for (const opening of ["**open ", "an `open ", "a [bracket ", "see <a ", "~~gone ", "a $formula ", "a \\(formula "]) {
    const [block] = blocksOf(`${words.slice(0, 630)}${opening}${words}`, {});
    assert.ok(block);
    assert.ok(borderOf(block) <= 630, opening);
  }
  for (const other of [`# ${words}`, `- ${words}`, "short"]) {
    const [block] = blocksOf(other, {});
    assert.ok(block);
    assert.equal(borderOf(block), 0);
  }
});
