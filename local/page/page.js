// The demo page: joins the conversation, the connection and what is on the screen.

import { Connection, FRAME_BYTES } from "./connection.js";
import { Conversation } from "./conversation.js";
import { contentOf, uploadTo } from "./files.js";
import { element, markdown } from "./markdown.js";

const SILENCE_MS = 15_000;
const $ = (id) => document.getElementById(id);
const uuid = () =>
  crypto.randomUUID?.() ??
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) =>
    (+c ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (+c / 4)))).toString(16),
  );

let who = { tenant: localStorage.getItem("baton.tenant") ?? "demo", user: localStorage.getItem("baton.user") ?? "you" };
let token = "";
let conversation = null;
let connection = null;
let known = false; // whether the server knows this conversation
let resuming = false;
let silence = 0;
let drawing = false;
const waiting = new Map(); // message id -> frame, until its run begins; sent again after a reconnect
const drawn = new Map(); // message id -> {node, key}

// Talking to the server

async function fetchToken() {
  const answer = await fetch("/local/token", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(who),
  });
  if (!answer.ok) throw new Error("No token for this tenant and user.");
  token = (await answer.json()).token;
  return token;
}

async function api(method, path, body) {
  const headers = { Authorization: `Bearer ${token || (await fetchToken())}` };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(json.detail ?? json.title ?? answer.statusText), { status: answer.status, ...json });
  return json;
}

function opened() {
  resuming = false;
  for (const frame of waiting.values()) connection.send(frame); // same id: never a second turn
  if (known) resume();
  listThreads();
}

function resume() {
  if (resuming) return;
  resuming = connection.send({ action: "resume", threadId: conversation.threadId, after: conversation.lastSeq ?? 0 });
}

function received(frame) {
  const about = frame.metadata ?? {};
  watchForSilence();
  if (frame.type === "PONG" || frame.code === "token_expired") return; // the connection fetches a new token
  // Only the run itself (or a refusal) ends the waiting: an accepted message may still need its thread attached.
  if (about.messageId) waiting.delete(about.messageId);
  if (about.resume) resuming = false;
  if (frame.type === "RUN_ERROR" && about.action && about.action !== "message") {
    resuming = false;
    // The log is written about once a second, so it may be a moment behind what was seen here.
    if (about.action === "resume" && frame.code === "invalid_sequence") setTimeout(resume, 1500);
    else if (about.action === "resume") {
      conversation.lastSeq = 0; // the server has forgotten this conversation: it will count from the beginning
      loadHistory().catch(() => {});
    }
    return;
  }
  if (conversation.take(frame) === "gap") resume();
  if (frame.type === "RUN_STARTED") known = true;
  if (frame.type === "RUN_FINISHED" || frame.type === "RUN_ERROR") ended(frame);
  draw();
}

function ended(frame) {
  const answer = conversation.messages.findLast((message) => message.role === "assistant");
  $("announce").textContent = frame.type === "RUN_ERROR" ? frame.message : `${answer?.name ?? "Answer"}: ${textOf(answer?.content)}`;
  listThreads();
}

function watchForSilence() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    if (conversation.run && known) resume();
    watchForSilence();
  }, SILENCE_MS);
}

async function send(content, messageId = uuid()) {
  const { threadId } = conversation;
  const frame = { action: "message", threadId, messageId, content };
  conversation.say(messageId, content);
  conversation.find(messageId).failed = null;
  rememberTitle(threadId, content);
  draw(true);
  if (new Blob([JSON.stringify(frame)]).size <= FRAME_BYTES) {
    waiting.set(messageId, frame);
    connection.send(frame);
    return;
  }
  try {
    const answer = await api("POST", "/v1/messages", { sessionId: threadId, message: content, messageId });
    conversation.merge(answer.messages);
    known = true;
    resume();
  } catch (error) {
    const failed = { text: error.message, retryable: error.retryable !== false, sameId: error.status !== 502, askedBy: messageId };
    conversation.find(messageId).failed = failed;
  }
  draw();
}

async function retry(message) {
  const { failed } = message;
  const { content } = conversation.find(failed.askedBy);
  if (failed.sameId) return send(content, failed.askedBy);
  message.failed = { ...failed, retryable: false };
  return send(content);
}

// Conversations

async function loadHistory() {
  const mine = conversation;
  const thread = await api("GET", `/v1/threads/${mine.threadId}`);
  const page = await api("GET", `/v1/threads/${mine.threadId}/messages?limit=100`);
  mine.merge(page.items);
  mine.state = thread.state ?? mine.state;
  // With a run under way its events are wanted from their beginning; those already here are only told again.
  mine.lastSeq = thread.run ? 0 : thread.lastSeq;
  known = true;
  draw(true);
}

async function openConversation(threadId, isNew) {
  sessionStorage.setItem("baton.thread", threadId);
  conversation = new Conversation(threadId);
  known = false;
  resuming = false;
  drawn.clear();
  $("transcript").replaceChildren();
  draw(true);
  if (!isNew) {
    await loadHistory().then(resume, (error) => {
      if (error.status !== 404) $("announce").textContent = error.message;
    });
  }
  listThreads();
  $("text").focus();
}

async function listThreads() {
  const { items } = await api("GET", "/v1/threads?limit=30").catch(() => ({ items: [] }));
  $("threads").replaceChildren(
    ...items.map((thread) => {
      const when = new Date(thread.lastActivityAt ?? thread.createdAt);
      const button = element("button", title(thread.id) ?? "Conversation", element("small", when.toLocaleString()));
      button.type = "button";
      if (thread.id === conversation.threadId) button.setAttribute("aria-current", "true");
      button.onclick = () => {
        menu(false);
        openConversation(thread.id, false);
      };
      return element("li", button);
    }),
  );
}

// Lists of threads carry no titles; this browser remembers how its own began.
const title = (threadId) => localStorage.getItem(`baton.title.${threadId}`);
function rememberTitle(threadId, content) {
  if (!title(threadId)) localStorage.setItem(`baton.title.${threadId}`, textOf(content).slice(0, 60) || "Files");
}

function start() {
  connection?.close();
  waiting.clear();
  token = "";
  connection = new Connection(fetchToken, {
    open: opened,
    frame: received,
    status(state, words) {
      $("status").dataset.state = state;
      $("status").textContent = words;
    },
  });
  const kept = sessionStorage.getItem("baton.thread");
  openConversation(kept ?? uuid(), kept === null);
}

// The screen

function draw(toEnd = false) {
  const box = $("transcript");
  const atEnd = toEnd || box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  if (drawing) return void (drawing.toEnd ||= atEnd);
  drawing = { toEnd: atEnd };
  requestAnimationFrame(() => {
    const { activeAgent, workflow } = conversation.state ?? {};
    show("agent", activeAgent?.name);
    show("step", workflow && `${workflow.label ?? workflow.name} · Step ${workflow.step} of ${workflow.steps}`);
    $("welcome").hidden = conversation.messages.length > 0;
    box.replaceChildren(...conversation.messages.map(drawMessage));
    const last = conversation.messages.at(-1);
    if (last?.role === "user" && !last.failed) box.append(typing());
    if (drawing.toEnd) box.scrollTop = box.scrollHeight;
    drawing = false;
  });
}

function drawMessage(message) {
  const key = JSON.stringify([message.content, message.open, message.failed, message.name, message.cancelled]);
  const before = drawn.get(message.id);
  if (before?.key === key) return before.node;
  const node = element("article");
  node.className = message.role;
  if (message.role === "note") node.append(message.content);
  else {
    const name = element("h3", message.role === "user" ? "You" : (message.name ?? "Assistant"));
    const body = element("div", ...bodyOf(message));
    body.className = "body";
    body.setAttribute("aria-busy", String(message.open === true));
    node.append(name, body);
  }
  if (message.cancelled) node.append(element("small", "Stopped"));
  if (message.failed) node.append(drawFailure(message));
  drawn.set(message.id, { node, key });
  return node;
}

function drawFailure(message) {
  const line = element("p", message.failed.text);
  line.className = "failed";
  if (message.failed.retryable) {
    const again = element("button", "Try again");
    again.type = "button";
    again.onclick = () => retry(message);
    line.append(again);
  }
  return line;
}

function bodyOf({ role, content }) {
  if (role === "assistant") return [markdown(textOf(content))];
  if (typeof content === "string") return [element("p", content)];
  return content.map((part) => {
    if (part.type === "text") return element("p", part.text);
    const name = part.metadata?.name ?? part.source?.value?.split("/").pop() ?? part.type;
    if (part.type === "image" && part.source?.type === "data") {
      const image = element("img");
      image.src = `data:${part.source.mimeType};base64,${part.source.value}`;
      image.alt = name;
      return image;
    }
    const chip = element("span", name);
    chip.className = "chip";
    return chip;
  });
}

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
}

function typing() {
  const dots = element("div", element("i"), element("i"), element("i"));
  dots.className = "typing";
  dots.setAttribute("aria-hidden", "true");
  return dots;
}

function show(id, text) {
  $(id).textContent = text ?? "";
  $(id).hidden = !text;
}

function menu(open = $("menu").getAttribute("aria-expanded") !== "true") {
  $("menu").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("menu", open);
}

function drawAttached() {
  $("attached").replaceChildren(...Array.from($("files").files, (file) => element("li", file.name)));
}

function fitText() {
  $("text").style.height = "auto";
  $("text").style.height = `${Math.min($("text").scrollHeight, 200)}px`;
}

$("composer").onsubmit = async (event) => {
  event.preventDefault();
  const text = $("text").value.trim();
  const files = [...$("files").files];
  if (!text && !files.length) return;
  $("send").disabled = true;
  try {
    const { threadId } = conversation;
    const content = await contentOf(text, files, (file, type) => uploadTo(api, threadId, file, type));
    $("composer").reset();
    drawAttached();
    fitText();
    send(content);
  } catch (error) {
    $("announce").textContent = error.message;
    $("attached").replaceChildren(element("li", error.message));
  } finally {
    $("send").disabled = false;
    $("text").focus();
  }
};
$("text").oninput = fitText;
$("text").onkeydown = (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("composer").requestSubmit();
};
$("files").onchange = drawAttached;
$("new").onclick = () => {
  menu(false);
  openConversation(uuid(), true);
};
$("menu").onclick = () => menu();
$("settings").onsubmit = (event) => {
  event.preventDefault();
  who = { tenant: $("tenant").value, user: $("user").value };
  localStorage.setItem("baton.tenant", who.tenant);
  localStorage.setItem("baton.user", who.user);
  sessionStorage.removeItem("baton.thread");
  menu(false);
  start();
};
addEventListener("keydown", (event) => event.key === "Escape" && menu(false));
for (const button of document.querySelectorAll("[data-try]")) button.onclick = () => send(button.textContent);
$("tenant").value = who.tenant;
$("user").value = who.user;
start();
