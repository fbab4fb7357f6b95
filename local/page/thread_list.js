// The list of conversations, and what they are called.

import { button, byId, element } from "./elements.js";
import { calmDate, fullDate } from "./dates.js";
import { textOf } from "./message_view.js";

const TITLE_LETTERS = 60;
const key = (threadId) => `baton.title.${threadId}`;

/** Lists of threads carry no titles: the browser keeps the first words of each conversation that it has seen begin. */
export function rememberTitle({ threadId, entries }) {
  const first = entries.find(({ role }) => role === "user");
  const isComplete = first?.ordinal === 0 || entries.every(({ ordinal }) => ordinal == null);
  if (first && isComplete && !localStorage.getItem(key(threadId))) localStorage.setItem(key(threadId), titleOf(first.content));
}

/** Draws the list; `open(threadId)` is called for the one chosen. */
export function drawThreads(threads, current, open) {
  const box = byId("threads");
  const focused = document.activeElement?.dataset.thread;
  box.replaceChildren(
    ...threads.map((thread) => {
      const entry = button("", () => open(thread.id));
      const begun = new Date(thread.createdAt);
      const last = new Date(thread.lastActivityAt ?? thread.createdAt);
      const title = localStorage.getItem(key(thread.id)) ?? fullDate(begun);
      const when = element("time", { dateTime: last.toISOString(), title: last.toLocaleString() }, calmDate(last));
      entry.append(title, element("small", when, thread.status === "closed" ? " · closed" : ""));
      entry.dataset.thread = thread.id;
      if (thread.id === current) entry.ariaCurrent = "true";
      return element("li", entry);
    }),
  );
  if (focused) box.querySelector(`[data-thread="${CSS.escape(focused)}"]`)?.focus();
}

function titleOf(content) {
  const text = textOf(content).replace(/\s+/g, " ").trim();
  if (text.length <= TITLE_LETTERS) return text || "Files";
  return `${text.slice(0, TITLE_LETTERS).replace(/\s+\S*$/, "")}…`;
}
