// Making and arranging DOM nodes. Text stays text: nothing here parses HTML.

export const byId = (id) => document.getElementById(id);

/** An element with its children; an object in front of them holds properties, such as `className` or `onclick`. */
export function element(tag, ...children) {
  const made = document.createElement(tag);
  const [first] = children;
  if (first && typeof first === "object" && !(first instanceof Node)) Object.assign(made, children.shift());
  made.append(...children);
  return made;
}

export const button = (text, onclick, className = "") => element("button", { type: "button", className, onclick }, text);

/** Makes `nodes` the children of `box`. Those already in their place are not touched: they keep focus and selection. */
export function arrange(box, nodes) {
  nodes.forEach((node, index) => {
    if (box.childNodes[index] !== node) box.insertBefore(node, box.childNodes[index] ?? null);
  });
  while (box.childNodes.length > nodes.length) box.lastChild.remove();
}

/** Shows `text` in the element, or hides the element if there is none. */
export function show(id, text) {
  byId(id).textContent = text ?? "";
  byId(id).hidden = !text;
}
