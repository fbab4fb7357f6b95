import { base } from "./base.ts";
import { composer } from "./composer.ts";
import { frame } from "./frame.ts";
import { items } from "./items.ts";
import { markdown } from "./markdown.ts";

/** The widget's style sheets. They are adopted, so that a strict Content Security Policy has nothing to allow. */
export const styles = [base, frame, items, markdown, composer];
