/** Blocks whose side matters: bullets, borders and columns follow the first letter of their own text. */
const SIDED = "ul, ol, blockquote, details";
const LETTER = /\p{L}/u;
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const ADDRESS = /:\/\/|^\S+@/;

/**
 * Gives each block the direction of its own text, so that an answer may mix languages. Lines of paragraphs need no
 * attribute: the styles give them `unicode-bidi: plaintext`. A block inside another one takes its direction, since an
 * element with `dir` does not count for the direction of those around it.
 */
export function setDirections(fragment: DocumentFragment): void {
  for (const block of fragment.querySelectorAll<HTMLElement>(SIDED)) {
    if (!block.parentElement?.closest(SIDED)) block.dir = "auto";
  }
  for (const table of fragment.querySelectorAll("table")) table.dir = directionOf(table.textContent ?? "");
  // A cell without letters, as of numbers, stands on the side of its table.
  for (const cell of fragment.querySelectorAll<HTMLElement>("th, td")) {
    if (LETTER.test(cell.textContent ?? "")) cell.dir = "auto";
  }
  for (const run of fragment.querySelectorAll<HTMLElement>("code, [data-math], a")) {
    if (run.tagName !== "A" || ADDRESS.test(run.textContent ?? "")) run.dir = "ltr";
  }
}

/** The direction of the first letter. `dir="auto"` does not find it in tables, whose cells have directions of their own. */
export function directionOf(text: string): "ltr" | "rtl" {
  const [letter] = LETTER.exec(text) ?? [""];
  return RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
}
