// Two looks behind the scenes, as dialogs: who may be talked to, and what was written down.

import { byId, element } from "./elements.js";
import { calmDate } from "./dates.js";

export async function showAgents(server) {
  await panel("Agents", async () => {
    const { items } = await server.api("GET", "/v1/agents");
    const list = items.map(({ id, name, description, main }) => [
      element("dt", name, " ", element("code", id), main ? " · conversations begin here" : ""),
      element("dd", description),
    ]);
    return element("dl", ...list.flat());
  });
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
  byId("panel-body").replaceChildren(await content().catch((problem) => element("p", problem.message)));
}
