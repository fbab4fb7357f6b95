import katex from "katex";
import { sanitizedFormula } from "./sanitize.ts";

/** Draws the formulas below `root` as MathML, which needs neither fonts nor styles; one that is wrong stays text. */
export function drawFormulas(root: ParentNode): void {
  for (const place of root.querySelectorAll<HTMLElement>("[data-math]")) {
    const displayMode = place.getAttribute("data-math") === "display";
    place.removeAttribute("data-math");
    try {
      const options = { displayMode, output: "mathml", throwOnError: true, trust: false, maxExpand: 200 } as const;
      place.replaceChildren(sanitizedFormula(katex.renderToString(place.textContent ?? "", options)));
    } catch {
      // It stays as it was written.
    }
  }
}
