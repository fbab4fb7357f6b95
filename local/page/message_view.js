// Messages of the user and of agents: who, what, where it is from, and what went wrong.

import { button, element } from "./elements.js";
import { markdown } from "./markdown.js";

/** `retry(message)` is called when the user asks again. */
export function messageView(message, { retry }) {
  const { role, name, open, sources, cancelled, failed } = message;
  const node = element("article", { className: role });
  const body = element("div", { className: "body", ariaBusy: String(open === true) }, ...bodyOf(message));
  node.append(element("h3", role === "user" ? "You" : (name ?? "Assistant")), body);
  if (sources?.length) node.append(sourcesView(sources));
  if (cancelled) node.append(element("small", "Stopped"));
  if (failed) {
    const again = failed.retryable ? [button("Try again", () => retry(message))] : [];
    node.append(element("p", { className: "failed" }, failed.text, ...again));
  }
  return node;
}

/** The text of a message's content, whatever is attached to it. */
export function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).filter(({ type }) => type === "text").map(({ text }) => text).join("\n");
}

function bodyOf({ role, content }) {
  if (role === "assistant") return [markdown(textOf(content))];
  return typeof content === "string" ? [element("p", content)] : (content ?? []).map(partView);
}

function partView({ type, text, source, metadata }) {
  if (type === "text") return element("p", text);
  const name = metadata?.name ?? source?.value?.split("/").pop() ?? type;
  if (type === "image" && source?.type === "data") {
    return element("img", { src: `data:${source.mimeType};base64,${source.value}`, alt: name });
  }
  return element("span", { className: "chip" }, name);
}

function sourcesView(sources) {
  const seen = new Set();
  const items = [];
  for (const { title, id, kind, agentId, section, page, url } of sources) {
    const place = page ? `page ${page}` : section;
    const name = [title ?? id, place].filter(Boolean).join(", ");
    if (seen.has(`${kind} ${name}`)) continue;
    seen.add(`${kind} ${name}`);
    const from = [kind, agentId, section].filter(Boolean).join(", ");
    // Only addresses of web pages: a document's address comes from whoever uploaded it.
    const shown = /^https?:\/\//.test(url ?? "")
      ? element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, name)
      : name;
    items.push(element("li", { className: "chip", title: from }, shown));
  }
  return element("ul", { className: "sources", ariaLabel: "Sources" }, ...items);
}
