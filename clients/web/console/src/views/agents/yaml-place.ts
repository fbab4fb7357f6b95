/** Where in a document a place of its text is, by indentation: the text need not be valid while somebody types. */
export interface YamlPlace {
  /** Names of the fields around it, from the outside in; an entry of a list is `"[]"`. */
  readonly path: readonly string[];
  /** The field of this line, as far as it is written. */
  readonly key: string;
  /** What follows the colon; null where there is none before the cursor. */
  readonly value: string | null;
  /** The fields beside it, with their values. */
  readonly beside: ReadonlyMap<string, string>;
}

export const ENTRY = "[]";
/** Lines that are looked through: an agent has a hundred or two. */
const MOST_LINES = 20_000;
const LINE = /^(\s*)((?:-\s+)*)(-$)?(.*)$/;
const FIELD = /^(["']?)([^\s:"'#][^:"']*)\1\s*:(?:\s+(.*))?$/;
const BLOCK = /(?:^|\s)[|>][+-]?\d*\s*$/;

interface Line {
  /** The columns of its dashes. */
  readonly dashes: readonly number[];
  /** Where its field begins. */
  readonly column: number;
  readonly text: string;
}

const parsed = (line: string): Line | null => {
  const [, blank = "", marks = "", lone = "", text = ""] = LINE.exec(line) ?? [];
  if (!marks && !lone && (text.trim() === "" || text.startsWith("#"))) return null;
  const dashes = [...(marks + lone).matchAll(/-/g)].map(({ index }) => blank.length + index);
  return { dashes, column: blank.length + marks.length + (lone ? 2 : 0), text };
};

const fieldOf = (text: string): readonly [string, string] | null => {
  const found = FIELD.exec(text);
  return found?.[2] === undefined ? null : [found[2].trim(), (found[3] ?? "").replace(/\s+#.*$/, "").trim()];
};

/** Returns the place of a column (from 0) in a line (from 0); null inside a text of several lines. */
export function placeAt(lines: readonly string[], row: number, column: number): YamlPlace | null {
  const before = (lines[row] ?? "").slice(0, column);
  const [, blank = "", marks = "", lone = "", text = ""] = LINE.exec(before) ?? [];
  const own: Line = parsed(before) ?? { dashes: [], column: blank.length + marks.length + (lone ? 2 : 0), text };
  const path: string[] = [];
  const beside = new Map<string, string>();
  // What is looked for above: a field further left than `limit`, or just there for a list that is not indented.
  let limit = own.column;
  let isList = false;
  for (const dash of [...own.dashes].reverse()) {
    path.unshift(ENTRY);
    limit = dash;
    isList = true;
  }
  const begins = own.dashes.length > 0;
  let siblings = !begins;
  for (let at = row - 1; at >= Math.max(0, row - MOST_LINES) && (limit > 0 || isList); at -= 1) {
    const line = parsed(lines[at] ?? "");
    if (line === null) continue;
    const field = fieldOf(line.text);
    if (siblings && line.column === own.column && field) beside.set(...field);
    if (line.column < limit || (isList && line.column === limit && !line.dashes.length)) {
      if (BLOCK.test(line.text) && !isList) return null;
      if (field) path.unshift(field[0]);
      siblings = false;
      limit = line.column;
      isList = false;
    }
    for (const dash of [...line.dashes].reverse()) {
      if (dash >= limit) continue;
      siblings = false;
      path.unshift(ENTRY);
      limit = dash;
      isList = true;
    }
  }
  for (let at = row + 1; at < Math.min(lines.length, row + MOST_LINES); at += 1) {
    const line = parsed(lines[at] ?? "");
    if (line === null) continue;
    if (line.column < own.column || line.dashes.length > 0) break;
    const field = fieldOf(line.text);
    if (line.column === own.column && field) beside.set(...field);
  }
  const colon = /^([^:]*):\s+?(.*)$/.exec(`${own.text}${own.text.endsWith(":") ? " " : ""}`);
  return {
    path,
    key: (colon?.[1] ?? own.text).trim().replace(/^["']|["']$/g, ""),
    value: colon ? (colon[2] ?? "").trim() : null,
    beside,
  };
}
