import type { Token, Tokens } from "marked";

type Child = Node | string;

/** Elements that change the meaning of nothing: text made of these needs no parser of HTML, and no sanitiser. */
const INLINE: Readonly<Record<string, string>> = { strong: "strong", em: "em", del: "del" };
const ENTITY = /&(?:#\d+|#x[\da-f]+|\w+);/i;

/** Whether `nodesOf` can show the token: not, where it has HTML of its own or characters written as entities. */
export function isPlain(token: Token): boolean {
  if (token.type === "html" || token.type === "tag") return false;
  const { tokens, items, header, rows, text } = token as Partial<Tokens.Generic>;
  // A cell of a table has a `header`, too, which tells whether it stands in the head.
  const inner = [tokens, items, header, rows?.flat()].filter(Array.isArray).flat() as Token[];
  const isText = inner.length === 0 && token.type !== "code" && token.type !== "codespan" && !isFormula(token);
  if (isText && typeof text === "string" && ENTITY.test(text)) return false;
  return inner.every(isPlain);
}

/** What a token of Markdown looks like, made node by node: text stays text, whatever it holds. */
export function nodesOf(token: Token): Child[] {
  const inline = () => childrenOf(token);
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "paragraph":
      return [element("p", inline())];
    case "heading":
      return [element(`h${(token as Tokens.Heading).depth}`, inline())];
    case "blockquote":
      return [element("blockquote", inline())];
    case "hr":
      return [element("hr", [])];
    case "br":
      return [element("br", [])];
    case "list":
      return [listOf(token as Tokens.List)];
    case "table":
      return [tableOf(token as Tokens.Table)];
    case "code":
      return [codeOf(token as Tokens.Code)];
    case "codespan":
      return [element("code", [(token as Tokens.Codespan).text])];
    case "checkbox":
      return [(token as Tokens.Checkbox).checked ? "☑ " : "☐ "];
    case "link":
      return linkOf(token as Tokens.Link);
    case "image":
      return imageOf(token as Tokens.Image);
    case "formulaBlock":
      return [element("p", [formulaOf(token)])];
    case "formula":
    case "formulaInline":
      return [formulaOf(token)];
    default: {
      const name = INLINE[token.type];
      if (name) return [element(name, inline())];
      if ("tokens" in token && token.tokens?.length) return inline();
      return "text" in token ? [String(token.text)] : [token.raw];
    }
  }
}

/** A link that opens another window and tells it nothing; what could run something is text. */
export function safeLink(address: string, children: Child[]): Child[] {
  if (!/^(?:https?:|mailto:|tel:)/i.test(address)) return children;
  const link = element("a", children) as HTMLAnchorElement;
  Object.assign(link, { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
  return [link];
}

/** An image of another server would tell it who reads this and when: it is a link until somebody follows it. */
export function safeImage(address: string, name: string): Child[] {
  if (/^data:image\/(png|jpeg|gif|webp|avif);/i.test(address)) {
    return [Object.assign(document.createElement("img"), { src: address, alt: name })];
  }
  const shown = safeLink(address, [name || address]);
  for (const link of shown) if (link instanceof Element) link.setAttribute("data-image", "");
  return shown;
}

function element(name: string, children: Child[]): HTMLElement {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

const childrenOf = (token: Token): Child[] => ((token as Tokens.Generic).tokens ?? []).flatMap(nodesOf);

function listOf({ ordered, start, items, loose }: Tokens.List): HTMLElement {
  const list = element(
    ordered ? "ol" : "ul",
    items.map((item) =>
      element(
        "li",
        item.tokens.flatMap((token) =>
          loose && token.type === "text" ? [element("p", childrenOf(token))] : nodesOf(token),
        ),
      ),
    ),
  );
  if (ordered && typeof start === "number" && start !== 1) list.setAttribute("start", String(start));
  return list;
}

function tableOf({ header, rows }: Tokens.Table): HTMLElement {
  const cells = (row: Tokens.TableCell[], name: string) =>
    row.map((cell) => {
      const made = element(name, cell.tokens.flatMap(nodesOf));
      if (cell.align) made.setAttribute("align", cell.align);
      return made;
    });
  const head = element("thead", [element("tr", cells(header, "th"))]);
  const body = element(
    "tbody",
    rows.map((row) => element("tr", cells(row, "td"))),
  );
  return element("table", [head, body]);
}

function codeOf({ text, lang }: Tokens.Code): HTMLElement {
  const pre = element("pre", [element("code", [text])]);
  const language = (lang ?? "").trim().split(/\s+/)[0];
  if (language) pre.setAttribute("data-language", language);
  return pre;
}

function linkOf(token: Tokens.Link): Child[] {
  const shown = safeLink(token.href, childrenOf(token));
  if (token.title) for (const link of shown) if (link instanceof HTMLElement) link.title = token.title;
  return shown;
}

const imageOf = ({ href, text, title }: Tokens.Image): Child[] => safeImage(href, text || title || "");

/** Cells of tables have no type. */
const isFormula = ({ type }: Partial<Token>): boolean => type?.startsWith("formula") === true;

function formulaOf(token: Token): HTMLElement {
  const place = element("span", [String((token as Tokens.Generic).text)]);
  place.setAttribute("data-math", token.type === "formula" ? "inline" : "display");
  return place;
}
