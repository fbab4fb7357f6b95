import type { Block } from "./blocks.ts";
import { htmlOf } from "./html.ts";
import { sanitized } from "./sanitize.ts";

/** A block with HTML, without what could harm the page. */
export const harmless = (block: Block): DocumentFragment => sanitized(htmlOf(block));
