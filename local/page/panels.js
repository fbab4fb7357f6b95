// Two looks behind the scenes, as dialogs: who may be talked to, and what was written down.

import { button, byId, element } from "./elements.js";
import { calmDate } from "./dates.js";

/** `begin(agent)` is called for the one that a conversation shall begin with. */
export async function showAgents(server, begin) {
  await panel("Agents", async () => {
    const { items } = await server.api("GET", "/v1/agents");
    const list = items.map((agent) => [
      element("dt", agent.name, " ", element("code", agent.id), agent.main ? " · conversations begin here" : ""),
      element("dd", agent.description, ...(agent.main ? [beginning(agent, begin)] : [])),
    ]);
    return element("dl", ...list.flat());
  });
}

function beginning(agent, begin) {
  const offer = button("New conversation", () => {
    byId("panel").close();
    begin(agent);
  }, "quiet");
  offer.ariaLabel = `New conversation with ${agent.name}`;
  return element("p", offer);
}

export async function showAudit(server) {
  await panel("Audit", async () => {
    const { items } = await server.audit();
    if (!items.length) return element("p", "Nothing was written down yet: ends, cancellations and denials are.");
    const list = items.map(({ timestamp, userId, action, outcome, threadId }) => {
      const when = element("time", { dateTime: timestamp, title: timestamp }, calmDate(new Date(timestamp)));
      return element("li", { title: threadId ? `Conversation ${threadId}` : "" }, when, " ", element("code", action), ` ${outcome}, ${userId}`);
    });
    return element("ul", ...list);
  });
}

async function panel(title, content) {
  byId("panel-title").textContent = title;
  byId("panel-body").replaceChildren("…");
  byId("panel").showModal();
  byId("panel").onclose = () => byId("panel-body").replaceChildren();
  const shown = await content().catch((problem) => element("p", problem.message));
  if (byId("panel").open) byId("panel-body").replaceChildren(shown);
}
