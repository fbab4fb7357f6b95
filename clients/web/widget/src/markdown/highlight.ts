import highlighter from "highlight.js/lib/common";
import { highlightColours } from "../styles/highlight.ts";
import { adopt } from "../ui.ts";
import { sanitizedCode } from "./sanitize.ts";

const LONGEST = 50_000; // characters: what is longer stays plain

/** Colours the code of a block in place, where its language is known. */
export function highlight(code: HTMLElement, language: string): void {
  const text = code.textContent ?? "";
  if (!highlighter.getLanguage(language) || text.length > LONGEST) return;
  adopt(highlightColours, code);
  code.replaceChildren(sanitizedCode(highlighter.highlight(text, { language, ignoreIllegals: true }).value));
}
