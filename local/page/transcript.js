// The entries of a conversation on the screen. What did not change is left alone, so that focus and selection stay.

import { approvalView, noteView, researchView, toolView } from "./activity_view.js";
import { arrange, element } from "./elements.js";
import { messageView } from "./message_view.js";

const VIEWS = {
  user: messageView,
  assistant: messageView,
  note: noteView,
  research: researchView,
  tool: toolView,
  approval: approvalView,
};
const NEAR_THE_END = 80; // pixels

export class Transcript {
  #drawn = new Map(); // entry id -> {key, node}
  #typing = typing();

  /** `on` has `retry(message)` and `answer(approval, status)`. */
  constructor(box, on) {
    this.box = box;
    this.on = on;
  }

  get isAtEnd() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < NEAR_THE_END;
  }

  clear() {
    this.#drawn.clear();
    this.box.replaceChildren();
  }

  draw({ entries, isWaiting }, toEnd) {
    const nodes = entries.map((entry) => this.#nodeOf(entry));
    arrange(this.box, isWaiting ? [...nodes, this.#typing] : nodes);
    if (toEnd) this.box.scrollTop = this.box.scrollHeight;
  }

  #nodeOf(entry) {
    const key = JSON.stringify(entry);
    const before = this.#drawn.get(entry.id);
    if (before?.key === key) return before.node;
    const node = VIEWS[entry.role](entry, this.on);
    if (before?.node.open) node.open = true; // a tool call that the reader has opened
    this.#drawn.set(entry.id, { key, node });
    return node;
  }
}

function typing() {
  const dots = element("div", { className: "typing", ariaHidden: "true" });
  dots.append(element("i"), element("i"), element("i"));
  return dots;
}
