import katex from "katex";
import { sanitizedFormula } from "./sanitize.ts";

/** Draws formulas as MathML, which needs neither fonts nor styles; one that is wrong stays text. */
export function drawFormulas(places: Iterable<HTMLElement>): void {
  for (const place of places) {
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
