import assert from "node:assert/strict";
import { test } from "node:test";
import { Lexer } from "marked";
import { blocksOf } from "../src/markdown/blocks.ts";
import { htmlOf } from "../src/markdown/html.ts";
import { isPlain } from "../src/markdown/nodes.ts";

const plain = (text: string) => new Lexer().lex(text).every(isPlain);

test("text without HTML of its own needs no sanitiser", () => {
  const text = [
    "# A *title*\n\nText with `a < b &amp; c`, [a link](https://example.com) and ![an image](https://example.com/i.png).",
    "1. one\n   - [x] nested\n2. two\n\n   loose",
    "| a | b |\n| --- | ---: |\n| **1** | 2 |",
    "```html\n<b>&amp;</b>\n```\n\n> quote\n\n---",
  ].join("\n\n");
  assert.equal(plain(text), true);
});

test("HTML and entities do, wherever they stand", () => {
  for (const text of [
    "<b>x</b>",
    "a <i>b</i>",
    "- a\n- <u>b</u>",
    "| a |\n| - |\n| <b>x</b> |",
    "A&nbsp;B",
    "**&copy;**",
  ]) {
    assert.equal(plain(text), false, text);
  }
});

test("blocks together are the text", () => {
  const text = "Text\n\n- a\n- b\n\n```js\ncode\n```\n\n| a |\n| - |\n| 1 |\n\n$$x^2$$\n\nEnd";
  const blocks = blocksOf(text, {});
  assert.equal(blocks.map(({ raw }) => raw).join(""), text);
  assert.deepEqual(
    blocks.filter(({ code }) => code !== null).map(({ code }) => code),
    ["code"],
  );
});

test("prices are no formulas", () => {
  const [block] = blocksOf("It costs $5 or $10, and $x^2$ is a formula.", {});
  assert.ok(block);
  assert.match(htmlOf(block), /\$5 or \$10, and <span data-math="inline">x\^2</);
});

test("formulas, code and what stands around HTML keep their form", () => {
  const htmls = blocksOf("$$x < y$$\n\nSo <b>$$a$$</b> and \\(b\\)\n\n```js x\n1 < 2\n```", {}).map(htmlOf);
  assert.deepEqual(
    htmls.filter((html) => html !== ""),
    [
      '<p><span data-math="display">x &lt; y</span></p>',
      '<p>So <b>\n<span data-math="display">a</span></b> and <span data-math="inline">b</span></p>\n',
      '<pre data-language="js"><code>1 &lt; 2</code></pre>',
    ],
  );
});
