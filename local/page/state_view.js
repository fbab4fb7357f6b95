// The conversation's state around the transcript: who answers, how far a workflow is, whether it is closed.

import { arrange, button, byId, element, show } from "./elements.js";

/** `on` has `resume(workflow, button)`; `isKnown`: the server has this conversation. */
export function drawState({ state, run, offers }, isKnown, on) {
  const { activeAgent, workflow, status } = state ?? {};
  const isClosed = status === "closed";
  drawAgent(activeAgent);
  drawStep(workflow);
  byId("now").hidden = !activeAgent;
  byId("exit").hidden = !(workflow ? workflow.canExit : activeAgent && !activeAgent.isMain) || isClosed;
  byId("close").hidden = !isKnown || isClosed;
  byId("stop").hidden = !run;
  show("closed", isClosed && "This conversation is closed. Write a message to reopen it.");
  drawOffers(offers, on);
}

function drawAgent(agent) {
  const badge = byId("agent");
  const picture = agent?.avatarUrl ? [element("img", { src: agent.avatarUrl, alt: "" })] : [];
  badge.replaceChildren(...picture, agent?.name ?? "");
  badge.title = agent?.description ?? "";
  badge.classList.toggle("specialist", agent?.isMain === false);
}

function drawStep(workflow) {
  show("step", workflow && `Step ${workflow.step} of ${workflow.steps}: ${workflow.label ?? workflow.state}`);
  byId("step").title = workflow?.name ?? "";
  byId("progress").hidden = !workflow;
  if (workflow) Object.assign(byId("progress"), { max: workflow.steps, value: workflow.step });
}

function drawOffers(workflows, { resume }) {
  const offers = byId("offers");
  const key = JSON.stringify(workflows);
  if (offers.dataset.key === key) return;
  offers.dataset.key = key;
  arrange(
    offers,
    workflows.map((workflow) => {
      const { name, label, step, steps } = workflow;
      const where = [step && `Step ${step} of ${steps}`, label].filter(Boolean).join(": ");
      const offer = button(`Continue: ${name}`, () => resume(workflow, offer), "quiet");
      offer.append(element("small", where));
      return element("li", offer);
    }),
  );
}
