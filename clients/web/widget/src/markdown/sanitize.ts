import createPurifier, { type Config } from "dompurify";
import { safeImage, safeLink } from "./nodes.ts";
import { policy } from "./trusted.ts";

const purifier = createPurifier(window);

const TEXT: Config = {
  ALLOWED_TAGS: [
    ...["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "ul", "ol", "li"],
    ...[
      "strong",
      "b",
      "em",
      "i",
      "u",
      "s",
      "del",
      "ins",
      "mark",
      "sub",
      "sup",
      "kbd",
      "small",
      "q",
      "abbr",
      "a",
      "img",
    ],
    ...["table", "thead", "tbody", "tr", "th", "td", "details", "summary", "input", "span"],
  ],
  ALLOWED_ATTR: [
    "href",
    "title",
    "alt",
    "src",
    "start",
    "align",
    "type",
    "checked",
    "disabled",
    "data-language",
    "data-math",
  ],
  ADD_URI_SAFE_ATTR: ["data-language", "data-math", "align", "start", "type"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|data:image\/)/i,
};
const COLOURED: Config = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], ALLOW_DATA_ATTR: false };
const FORMULA: Config = {
  USE_PROFILES: { mathMl: true },
  FORBID_ATTR: ["style", "href", "xlink:href"],
  ALLOW_DATA_ATTR: false,
};

/** HTML of what an agent wrote, without anything that runs, loads from elsewhere or changes the page around it. */
export function sanitized(html: string): DocumentFragment {
  const fragment = clean(html, TEXT);
  for (const image of fragment.querySelectorAll("img")) {
    image.replaceWith(...safeImage(image.getAttribute("src") ?? "", image.alt || image.title));
  }
  for (const link of fragment.querySelectorAll("a:not([target])")) {
    link.replaceWith(...safeLink(link.getAttribute("href") ?? "", [...link.childNodes]));
  }
  for (const input of fragment.querySelectorAll("input")) {
    const isDone = input.type === "checkbox" && input.hasAttribute("checked");
    input.replaceWith(document.createTextNode(isDone ? "☑ " : "☐ "));
  }
  return fragment;
}

/** Highlighted code. */
export const sanitizedCode = (html: string): DocumentFragment => clean(html, COLOURED);

/** A formula as MathML. */
export const sanitizedFormula = (html: string): DocumentFragment => clean(html, FORMULA);

function clean(html: string, config: Config): DocumentFragment {
  const trusted = policy ? { TRUSTED_TYPES_POLICY: policy as unknown as Config["TRUSTED_TYPES_POLICY"] } : {};
  return purifier.sanitize(html, { ...config, ...trusted, RETURN_DOM_FRAGMENT: true }) as DocumentFragment;
}
