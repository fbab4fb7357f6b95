import assert from "node:assert/strict";
import { test } from "node:test";
import type { Source } from "#client";
import { Locale } from "../src/locales/index.ts";
import { withMarks, withoutMarks } from "../src/markdown/citations.ts";
import { listed } from "../src/source-list.ts";
import { addressOf, nameOf } from "../src/sources.ts";

/** A passage that the text cites wherever it has `written`. */
function cited(number: number, text: string, ...written: string[]): Source {
  const characters = Array.from(text);
  const places = written.flatMap((mark) => {
    const length = Array.from(mark).length;
    return characters.flatMap((_, start) =>
      characters.slice(start, start + length).join("") === mark ? [{ start, end: start + length }] : [],
    );
  });
  return { kind: "document", id: `d-${number}`, title: `Book ${number}`, number, places };
}

const shown = (text: string): string => text.replace(/\u{E000}(\d+)\u{E001}/gu, "<$1>");

test("citations are marked at their places, which count characters and not halves of them", () => {
  const text = "\u{1F600} Free [1], slow[2]. Free [1].";
  const { text: marked, citations } = withMarks(text, [cited(1, text, "[1]"), cited(2, text, "[2]")]);
  assert.equal(shown(marked), "\u{1F600} Free<0>, slow<1>. Free<2>.");
  assert.deepEqual(
    citations.map(({ written, sources }) => [written, sources.map(({ number }) => number)]),
    [
      ["[1]", [1]],
      ["[2]", [2]],
      ["[1]", [1]],
    ],
  );
  assert.equal(withoutMarks(marked, citations), "\u{1F600} Free[1], slow[2]. Free[1].");
});

test("one mark may cite several passages", () => {
  const text = "Free [1-2].";
  const { text: marked, citations } = withMarks(text, [cited(1, text, "[1-2]"), cited(2, text, "[1-2]")]);
  assert.equal(shown(marked), "Free<0>.");
  assert.deepEqual(
    citations[0]?.sources.map(({ number }) => number),
    [1, 2],
  );
});

test("places that do not fit the text are left alone", () => {
  const text = "Write to [email], it is free [1].";
  const wrong: Source = { kind: "document", id: "d", number: 1, places: [{ start: 0, end: 5 }] };
  assert.equal(withMarks(text, [wrong]).text, text);
  assert.equal(withMarks(text, []).text, text);
  const foreign = "\u{E000}0\u{E001} [1]";
  assert.equal(withMarks(foreign, [cited(1, foreign, "[1]")]).text, foreign);
});

test("the list has each passage that is cited, in the order of the numbers, and others once for each name", () => {
  const { say } = new Locale();
  const text = "[1] [3]";
  const page = { title: "Book", page: 4 };
  const sources: Source[] = [
    { kind: "agent", id: "expert", title: "Expert" },
    { ...cited(3, text, "[3]"), ...page },
    { ...cited(1, text, "[1]"), ...page },
    { kind: "document", id: "d", title: "Other", number: 7 },
    { kind: "document", id: "d", title: "Other", number: 8 },
  ];
  assert.deepEqual(
    listed(sources, say).map(({ number, name }) => [number, name]),
    [
      [1, "Book, page 4"],
      [3, "Book, page 4"],
      [0, "Expert"],
      [0, "Other"],
    ],
  );
});

test("a passage of a workbook stands on a sheet", () => {
  const fleet: Source = { kind: "document", id: "d", title: "Fleet", page: 2, pageUnit: "sheet" };
  assert.equal(nameOf(fleet, new Locale().say), "Fleet, sheet 2");
});

test("only addresses of web pages are followed", () => {
  assert.equal(addressOf({ kind: "document", id: "d", url: "https://a.example/x" }), "https://a.example/x");
  assert.equal(addressOf({ kind: "document", id: "d", url: "javascript:alert(1)" }), null);
});
