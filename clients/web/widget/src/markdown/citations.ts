import type { Source } from "#client";

/** A place of a text where passages are cited, as it is written there, with the passages. */
export interface Citation {
  readonly written: string;
  readonly sources: readonly Source[];
}

/** Characters for private use stand around the index of a citation while its text is read as Markdown. */
const MARK = /\u{E000}(\d+)\u{E001}/gu;
const BRACKETS = /^[[\uFF3B\u3010].*[\]\uFF3D\u3011]$/su;
/** Where a citation stays text: it is an example there, or the text of another link. */
const LITERAL = "code, pre, a, button, [data-math]";

/** The text with a mark in place of each citation. A place without brackets is none: the text was changed since. */
export function withMarks(text: string, sources: readonly Source[]): { text: string; citations: Citation[] } {
  const found = new Map<number, { end: number; sources: Source[] }>();
  for (const source of sources) {
    for (const { start, end } of source.places ?? []) {
      const place = found.get(start);
      if (place) place.sources.push(source);
      else found.set(start, { end, sources: [source] });
    }
  }
  if (found.size === 0 || /[\u{E000}\u{E001}]/u.test(text)) return { text, citations: [] };
  const characters = Array.from(text);
  const citations: Citation[] = [];
  const parts: string[] = [];
  let done = 0;
  for (const [start, { end, sources: cited }] of [...found].sort(([one], [other]) => one - other)) {
    const written = characters.slice(start, end).join("");
    if (start < done || !BRACKETS.test(written)) continue;
    // A superscript stands right behind what it is about.
    parts.push(characters.slice(done, start).join("").replace(/ $/, ""), `\u{E000}${citations.length}\u{E001}`);
    citations.push({ written, sources: cited });
    done = end;
  }
  return { text: [...parts, characters.slice(done).join("")].join(""), citations };
}

/** The text as it was written. */
export const withoutMarks = (text: string, citations: readonly Citation[]): string =>
  text.replace(MARK, (mark, index) => citations[index]?.written ?? mark);

/** Puts buttons in place of the marks in a fragment; `label` names a source for screen readers. */
export function placeCitations(
  fragment: DocumentFragment,
  citations: readonly Citation[],
  label: (source: Source) => string,
): void {
  if (citations.length === 0) return;
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode())
    if (walker.currentNode.nodeValue?.includes("\u{E000}")) texts.push(walker.currentNode as Text);
  for (const node of texts) {
    if (node.parentElement?.closest(LITERAL)) node.data = withoutMarks(node.data, citations);
    else node.replaceWith(...nodesOf(node.data, citations, label));
  }
}

function nodesOf(text: string, citations: readonly Citation[], label: (source: Source) => string): (Node | string)[] {
  return text.split(MARK).map((part, place) => {
    if (place % 2 === 0) return part;
    const sup = document.createElement("sup");
    sup.className = "citation";
    sup.append(...(citations[Number(part)]?.sources ?? []).map((source) => buttonOf(source, label(source))));
    return sup;
  });
}

function buttonOf(source: Source, label: string): HTMLElement {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: String(source.number) });
  const attributes = { part: "button citation-button", "aria-label": label };
  for (const [name, value] of Object.entries({ ...attributes, "aria-haspopup": "dialog", "aria-expanded": "false" }))
    button.setAttribute(name, value);
  button.dataset.number = String(source.number);
  return button;
}
