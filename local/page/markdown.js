// A little Markdown (code, lists, headings, bold, italics) as DOM nodes. The text never becomes HTML.

import { element } from "./elements.js";

const INLINE = /(`[^`\n]+`|\*\*[^\n]+?\*\*|\*[^\s*][^*\n]*\*)/;
const ITEM = /^\s*(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;

export function markdown(text) {
  const out = document.createDocumentFragment();
  text.split(/^```[^\n]*\n?/m).forEach((block, index) => {
    if (index % 2) out.append(element("pre", element("code", block.replace(/\n$/, ""))));
    else for (const paragraph of block.split(/\n{2,}/)) if (paragraph.trim()) out.append(...blocks(paragraph));
  });
  return out;
}

function blocks(paragraph) {
  const made = [];
  for (const line of paragraph.replace(/^\n+|\n+$/g, "").split("\n")) {
    const item = line.match(ITEM);
    const heading = line.match(/^#{1,6}\s+(.*)$/);
    const last = made.at(-1);
    if (item) {
      const kind = item[1] ? "OL" : "UL";
      const list = last?.tagName === kind ? last : element(kind);
      if (list !== last) {
        if (item[1]) list.start = Number(item[1]);
        made.push(list);
      }
      list.append(element("li", ...inline(item[2])));
    } else if (heading) made.push(element("p", element("strong", ...inline(heading[1]))));
    else if (last?.tagName === "P") last.append(element("br"), ...inline(line));
    else made.push(element("p", ...inline(line)));
  }
  return made;
}

function inline(text) {
  return text.split(INLINE).map((piece) => {
    if (piece.length > 2 && piece.startsWith("`") && piece.endsWith("`")) return element("code", piece.slice(1, -1));
    if (piece.length > 4 && piece.startsWith("**") && piece.endsWith("**"))
      return element("strong", ...inline(piece.slice(2, -2)));
    if (piece.length > 2 && piece.startsWith("*") && piece.endsWith("*")) return element("em", piece.slice(1, -1));
    return piece;
  });
}
