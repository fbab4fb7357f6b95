// What a developer needs beside the widget: to be anybody, to choose an agent, and to see what happens.

const byId = (id) => document.getElementById(id);
const chat = byId("chat");
const WHO = { tenant: "demo", user: "ada", permissions: "skill:create" }; // until the reader says otherwise
const MOST_EVENTS = 200;
const MOST_SUGGESTIONS = 4;
const READ_MS = 15_000; // what is read, and a token, comes at once or never

let who = {};
let agents = [];
let facts = {}; // of this local cloud

// Who

function begin() {
  for (const [name, usual] of Object.entries(WHO)) {
    who[name] = byId(name).value = storage()?.getItem(`demo.${name}`) ?? usual;
  }
  const { user, tenant } = who;
  byId("who").replaceChildren(element("strong", user), " of tenant ", element("strong", tenant));
  forgetWhatHappened();
  chat.endpoint = location.origin;
  chat.agent = undefined;
  chat.token = (signal) => tokenOf({ ...who, user, tenant }, signal);
  listAgents().catch(() => {});
}

async function tokenOf(claims, signal = AbortSignal.timeout(READ_MS)) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(claims), signal };
  const answer = await fetch("/local/token", request);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.detail ?? body.title ?? answer.statusText);
  return body.token;
}

byId("settings").onsubmit = (event) => {
  event.preventDefault();
  for (const name of Object.keys(WHO)) storage()?.setItem(`demo.${name}`, byId(name).value.trim());
  chat.logout(); // nothing of the person who leaves stays in the page
  begin();
};

function storage() {
  try {
    return localStorage;
  } catch {
    return null; // a sandboxed frame has none
  }
}

// Agents

async function listAgents() {
  const mine = { ...who };
  const { items } = await read("/v1/agents", mine);
  const isOther = () => mine.user !== who.user || mine.tenant !== who.tenant;
  if (isOther()) return;
  agents = items;
  showAgent();
  for (const { id, name, description, main } of items) {
    if (main) byId("agent").append(Object.assign(element("option", name), { value: id, title: description ?? "" }));
  }
  await told;
  if (!facts.hasOwnAgents) return;
  const whole = await read("/v1/agents", { ...mine, permissions: `${mine.permissions} agent:write` }); // definitions
  if (isOther()) return;
  agents = whole.items;
  showAgent();
}

/** The agent with which a conversation begins: its name stands over an empty one, with what can be said to it. */
function showAgent() {
  const mains = agents.filter(({ main }) => main);
  const id = byId("agent").value || facts.agent;
  const agent = mains.find((each) => each.id === id) ?? (mains.length === 1 ? mains[0] : undefined);
  chat.heading = agent?.name ?? "";
  const ids = (agent?.handoffs ?? []).map((handoff) => handoff.agent ?? handoff);
  const phrases = agents.filter(({ id }) => ids.includes(id)).flatMap(({ triggers = [] }) => triggers.slice(0, 1));
  const texts = ["What can you do?", ...phrases.filter((phrase) => typeof phrase === "string").map(asSentence)];
  byId("suggestions").replaceChildren(...texts.slice(0, MOST_SUGGESTIONS).map(suggestion));
  byId("suggestions").hidden = !facts.hasOwnAgents || !agent;
}

const asSentence = (phrase) => phrase[0].toUpperCase() + phrase.slice(1);

function suggestion(text) {
  const button = Object.assign(element("button", text), { type: "button" });
  button.onclick = () => chat.send(text);
  return button;
}

byId("agent").onchange = async () => {
  chat.agent = byId("agent").value || undefined;
  showAgent();
  await chat.updateComplete;
  chat.newConversation();
};

// What happens

chat.addEventListener("baton-event", ({ detail }) => {
  const { type, metadata, ...rest } = detail;
  if (type === "TOOL_CALL_RESULT" && metadata?.outcome === "failed") about();
  const line = element("li", element("code", type), ` ${JSON.stringify(rest).slice(0, 500)}`);
  line.title = JSON.stringify(metadata);
  byId("events").append(line);
  if (byId("events").childElementCount > MOST_EVENTS) byId("events").firstElementChild.remove();
});

chat.addEventListener("baton-change", ({ detail }) => {
  const text = JSON.stringify(detail.state, null, 2) ?? "";
  if (byId("state").textContent !== text) byId("state").textContent = text;
});

byId("audit").ontoggle = async () => {
  if (!byId("audit").open) return;
  byId("records").replaceChildren("…");
  const permissions = `${who.permissions} audit:read`;
  const lines = await read("/v1/audit?limit=50", { ...who, permissions }).then(
    ({ items }) => items.map(recorded),
    ({ message }) => [element("li", message)],
  );
  const none = "Nothing was written down yet: ends, cancellations and denials are.";
  byId("records").replaceChildren(...(lines.length ? lines : [element("li", none)]));
};

function recorded({ timestamp, userId, action, outcome, threadId }) {
  const when = Object.assign(element("time", new Date(timestamp).toLocaleString()), { dateTime: timestamp });
  const line = element("li", when, " ", element("code", action), ` ${outcome}, ${userId}`);
  line.title = threadId ? `Conversation ${threadId}` : "";
  return line;
}

async function read(path, claims) {
  const headers = { Authorization: `Bearer ${await tokenOf(claims)}` };
  const answer = await fetch(path, { headers, signal: AbortSignal.timeout(READ_MS) });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? body.title ?? answer.statusText);
  return body;
}

function forgetWhatHappened() {
  agents = [];
  showAgent();
  for (const id of ["events", "records", "state"]) byId(id).replaceChildren();
  byId("audit").open = false;
  byId("agent").length = 1;
}

// The page

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

function menu(isOpen) {
  byId("menu").ariaExpanded = String(isOpen);
  document.body.classList.toggle("menu", isOpen);
}

byId("menu").onclick = () => menu(byId("menu").ariaExpanded !== "true");
addEventListener("keydown", ({ key }) => key === "Escape" && menu(false));
for (const words of document.querySelectorAll("[data-try]")) words.onclick = () => chat.send(words.textContent);

function about() {
  return fetch("/local/about")
    .then((answer) => answer.json())
    .then((told) => {
      facts = told;
      const { model, isDemoModel, hasOwnAgents, project, reload, toolFailures = [] } = told;
      if (project) byId("project").textContent = document.title = project;
      showAgent();
      byId("failures").hidden = toolFailures.length === 0;
      const texts = toolFailures.map(({ at, text }) => `${new Date(at).toLocaleTimeString()} ${text}`);
      byId("failure").textContent = texts.join("\n\n");
      byId("model").textContent = isDemoModel ? "the offline demo model" : model;
      byId("offline").hidden = !isDemoModel;
      byId("proposals").hidden = hasOwnAgents === true; // they are for the agents of `make run`
      const problems = reload?.problems ?? [];
      byId("problems").hidden = problems.length === 0;
      byId("problems").textContent = ["Your last edit is not in use:", ...problems].join("\n");
    })
    .catch(() => {});
}

const told = about();
addEventListener("focus", about); // whoever comes back from the editor sees what is wrong with an edit
customElements.whenDefined("baton-chat").then(begin);
