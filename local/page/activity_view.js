// What happens between messages: notes, research by other agents, tool calls, and what waits for an approval.

import { button, element } from "./elements.js";
import { askedAgents } from "./events.js";
import { textOf } from "./message_view.js";

const STATES = {
  asked: "asked",
  working: "working…",
  waiting: "waits",
  done: "done",
  failed: "failed",
  late: "took too long",
  stopped: "stopped",
};
const ENDS = { refused: "Call refused: ", failed: "Call failed: " };
const ANSWERS = { resolved: "Approved", cancelled: "Refused", answered: "Answered", passed: "Not answered" };

export const noteView = ({ content, activityType }) =>
  element("p", { className: `note ${activityType ?? ""}`.trim() }, content.label);

export function researchView({ content, agents, open }) {
  const known = agents.map(({ name }) => name);
  const asked = askedAgents({ content }).filter(({ name }) => !known.includes(name));
  const items = [...agents, ...asked].map(({ name, state: told, message }) => {
    const state = !open && (told === "working" || told === "asked") ? "stopped" : told;
    const item = element("li", element("span", { className: "name" }, name), " ", STATES[state]);
    if (message) item.append(`: ${message}`);
    item.dataset.state = state;
    return item;
  });
  const said = content.label ?? "Researching";
  const label = element("p", { className: open ? "label busy" : "label" }, open ? said : said.replace(/[.…\s]+$/, ""));
  const notice = content.notice ? [element("p", { className: "quietly" }, content.notice)] : [];
  return element("section", { className: "research", ariaLabel: "Research" }, label, element("ul", ...items), ...notice);
}

export function toolView({ name, args, result, outcome, open, waits }) {
  const isAsking = waits && result === undefined;
  const state = open ? "Calling " : (ENDS[outcome] ?? (isAsking ? "Wants to call " : "Called "));
  const summary = element("summary", { className: open ? "busy" : "" }, state, element("code", name ?? "a tool"));
  const details = element("details", { className: "tool" }, summary);
  if (args) details.append(labelled("Input", args));
  if (result !== undefined) details.append(labelled("Result", textOf(result)));
  return details;
}

/** `answer(approval, status)` is called with "resolved" or "cancelled". */
export function approvalView(approval, { answer }) {
  const { interrupt, settled } = approval;
  const card = element("section", { className: "approval", ariaLabel: "Approval needed" });
  card.append(element("p", interrupt.message ?? `This needs your approval: ${interrupt.reason}`));
  if (approval.args) card.append(labelled("With", approval.args));
  const expires = new Date(interrupt.expiresAt ?? NaN);
  if (!approval.answer && !Number.isNaN(expires.valueOf())) {
    card.append(element("p", { className: "quietly" }, `Until ${expires.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`));
  }
  if (approval.answer) {
    card.append(element("p", { className: "answer" }, ANSWERS[approval.answer] + (settled ? "" : "…")));
  } else {
    const yes = button("Approve", () => answer(approval, "resolved"));
    card.append(element("p", yes, " ", button("Refuse", () => answer(approval, "cancelled"), "quiet")));
  }
  return card;
}

function labelled(label, text) {
  return element("figure", element("figcaption", label), element("pre", element("code", indented(text))));
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
