import createPurifier, { type Config } from "dompurify";
import { policy } from "./trusted.ts";

const purifier = createPurifier(window);
const SHOWN_INLINE = /^data:image\/(png|jpeg|gif|webp|avif);/i;

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
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const image of fragment.querySelectorAll("img"))
    if (!SHOWN_INLINE.test(image.src)) image.replaceWith(linkTo(image));
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

/** An image of another server would tell it who reads this and when: it is a link until somebody follows it. */
function linkTo(image: HTMLImageElement): Node {
  const name = image.alt || image.title || image.getAttribute("src") || "";
  if (!/^https?:/i.test(image.getAttribute("src") ?? "")) return document.createTextNode(name);
  const link = document.createElement("a");
  Object.assign(link, { href: image.src, target: "_blank", rel: "noopener noreferrer nofollow", textContent: name });
  link.setAttribute("data-image", "");
  return link;
}
