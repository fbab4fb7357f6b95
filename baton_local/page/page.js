// What a developer needs beside the widget: to be anybody, to choose an agent, and to see what happens.

const byId = (id) => document.getElementById(id);
const chat = byId("chat");
const WHO = { tenant: "demo", user: "ada", permissions: "skill:create" }; // until the reader says otherwise
const MOST_EVENTS = 200;
const READ_MS = 15_000; // what is read, and a token, comes at once or never

let who = {};

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
  if (mine.user !== who.user || mine.tenant !== who.tenant) return;
  for (const { id, name, description, main } of items) {
    if (main) byId("agent").append(Object.assign(element("option", name), { value: id, title: description ?? "" }));
  }
}

byId("agent").onchange = async () => {
  chat.agent = byId("agent").value || undefined;
  await chat.updateComplete;
  chat.newConversation();
};

// What happens

chat.addEventListener("baton-event", ({ detail }) => {
  const { type, metadata, ...rest } = detail;
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
  fetch("/local/about")
    .then((answer) => answer.json())
    .then(({ model, isDemoModel, hasOwnAgents, reload }) => {
      byId("model").textContent = isDemoModel ? "the offline demo model" : model;
      byId("offline").hidden = !isDemoModel;
      byId("proposals").hidden = hasOwnAgents === true; // they are for the agents of `make run`
      const problems = reload?.problems ?? [];
      byId("problems").hidden = problems.length === 0;
      byId("problems").textContent = ["Your last edit is not in use:", ...problems].join("\n");
    })
    .catch(() => {});
}

about();
addEventListener("focus", about); // whoever comes back from the editor sees what is wrong with an edit
customElements.whenDefined("baton-chat").then(begin);
