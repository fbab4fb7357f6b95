// The demo page: joins the conversation, the connection and what is on the screen.

import { readComposer } from "./composer.js";
import { Connection, FRAME_BYTES } from "./connection.js";
import { Conversation } from "./conversation.js";
import { byId, element, show } from "./elements.js";
import { uploadTo } from "./files.js";
import { textOf } from "./message_view.js";
import { showAgents, showAudit } from "./panels.js";
import { Server, about } from "./server.js";
import { drawState } from "./state_view.js";
import { drawThreads, rememberTitle } from "./thread_list.js";
import { Transcript } from "./transcript.js";

const WHO = { tenant: "demo", user: "ada", permissions: "skill:create" }; // until the reader says otherwise
const SILENCE_MS = 15_000;
const LAST_SAID = "baton.said";
const RECENT_EVENTS = 500; // told again when a conversation is opened: they have what messages lack
const uuid = () =>
  crypto.randomUUID?.() ??
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) =>
    (+c ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (+c / 4)))).toString(16),
  );

let server = null;
let conversation = null;
let connection = null;
let isKnown = false; // whether the server knows this conversation
let isResuming = false;
let newsFrom = 0; // events up to this one are told again: nothing to announce
let silence = 0;
let drawing = false;
const waiting = new Map(); // id -> frame, until its run begins; sent again after a reconnect
const transcript = new Transcript(byId("transcript"), { retry, answer });

// Frames

function opened() {
  isResuming = false;
  for (const frame of waiting.values()) connection.send(frame); // same id: never a second turn
  if (isKnown) resume();
  listThreads();
}

function resume() {
  if (isResuming) return;
  isResuming = connection.send({ action: "resume", threadId: conversation.threadId, after: conversation.lastSeq ?? 0 });
}

function received(frame) {
  const metadata = frame.metadata ?? {};
  watchForSilence();
  if (frame.type === "PONG" || frame.code === "token_expired") return; // the connection fetches a new token
  // Only the run itself (or a refusal) ends the waiting: an accepted message may still need its thread attached.
  if (metadata.messageId) waiting.delete(metadata.messageId);
  if (metadata.threadId && metadata.threadId !== conversation.threadId) return;
  if (metadata.resume) {
    isResuming = false;
    newsFrom = metadata.resume.lastSeq;
  }
  if (frame.type === "RUN_ERROR" && metadata.action && metadata.action !== "message") return refused(frame, metadata.action);
  if (conversation.take(frame) === "gap") resume();
  for (const { id, settled } of conversation.entries) if (settled) waiting.delete(id);
  if (frame.type === "RUN_STARTED") isKnown = true;
  if (!(metadata.seq <= newsFrom)) announce(frame);
  draw();
}

function refused(frame, action) {
  if (action === "resume") {
    isResuming = false;
    // The log is written about once a second, so it may be a moment behind what was seen here.
    if (frame.code === "invalid_sequence") return void setTimeout(resume, 1500);
    conversation.lastSeq = 0; // the server has forgotten this conversation: it will count from the beginning
    loadHistory().catch(() => {});
    return;
  }
  if (action === "answer") {
    for (const entry of conversation.entries) {
      if (entry.role !== "approval" || entry.settled) continue;
      entry.answer = null;
      waiting.delete(entry.id);
    }
  }
  ready();
  show("problem", frame.message);
  draw();
}

/** Says what has happened to those who cannot see it, and brings the list of conversations up to date. */
function announce(frame) {
  const { type, content, patch = [], outcome, name } = frame;
  if (type === "ACTIVITY_SNAPSHOT" && content.label) byId("announce").textContent = content.label;
  for (const { path, value } of patch) if (/^\/(label|notice)$/.test(path) && value) byId("announce").textContent = value;
  const ends = type === "RUN_FINISHED" || type === "RUN_ERROR";
  if (!ends && !(type === "CUSTOM" && name === "thread_closed")) return;
  ready();
  listThreads();
  if (!ends) return;
  const answer = conversation.last("assistant");
  const asked = outcome?.interrupts?.map(({ message, reason }) => `Approval needed: ${message ?? reason}`).join(" ");
  const words = asked || `${answer?.name ?? "Answer"}: ${textOf(answer?.content)}`;
  byId("announce").textContent = type === "RUN_ERROR" ? frame.message : words;
}

function watchForSilence() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    if (conversation.run && isKnown) resume();
    watchForSilence();
  }, SILENCE_MS);
}

// What the user does

async function send(content, messageId = uuid()) {
  const mine = conversation;
  const { threadId } = mine;
  const frame = { action: "message", threadId, messageId, content };
  show("problem");
  mine.say(messageId, content);
  rememberTitle(mine);
  draw(true);
  if (new Blob([JSON.stringify(frame)]).size <= FRAME_BYTES) {
    waiting.set(messageId, frame);
    sessionStorage.setItem(LAST_SAID, JSON.stringify({ messageId, content }));
    connection.send(frame);
    return;
  }
  try {
    const { messages } = await server.api("POST", "/v1/messages", { sessionId: threadId, message: content, messageId });
    mine.merge(messages);
    isKnown = true;
    resume();
  } catch ({ message: text, retryable, status }) {
    mine.find(messageId).failed = { text, retryable: retryable !== false, sameId: status !== 502, askedBy: messageId };
  }
  draw();
}

function retry(message) {
  const { failed } = message;
  const { content } = conversation.find(failed.askedBy);
  if (failed.sameId) return send(content, failed.askedBy);
  message.failed = { ...failed, retryable: false };
  return send(content);
}

function answer(approval, status) {
  const frame = { action: "answer", threadId: conversation.threadId, interruptId: approval.interrupt.id, status };
  approval.answer = status;
  waiting.set(approval.id, frame);
  connection.send(frame);
  draw();
  byId("text").focus();
}

/** Sends a wish that the conversation's events will answer; the button rests until they do. */
function wish(control, frame) {
  show("problem");
  if (!connection.send({ threadId: conversation.threadId, ...frame })) return show("problem", "There is no connection just now.");
  if (control) control.disabled = true;
}

function ready() {
  for (const id of ["stop", "close", "exit"]) byId(id).disabled = false;
  for (const offer of byId("offers").querySelectorAll("button")) offer.disabled = false;
}

// Conversations

async function loadHistory() {
  const mine = conversation;
  const thread = await server.api("GET", `/v1/threads/${mine.threadId}`);
  const page = await server.api("GET", `/v1/threads/${mine.threadId}/messages?limit=100&roles=user,assistant,tool`);
  mine.merge(page.items);
  mine.state = thread.state ?? mine.state;
  mine.historySeq = thread.lastSeq;
  mine.openRunId = thread.run?.runId ?? null;
  if (thread.run?.status === "running") mine.run = { runId: thread.run.runId, messageId: thread.run.messageId };
  sayAgain(mine, thread.run);
  // With a run under way its events are wanted from their beginning; those already here are only told again.
  mine.lastSeq = thread.run ? 0 : Math.max(0, thread.lastSeq - RECENT_EVENTS);
  isKnown = true;
  rememberTitle(mine);
  draw(true);
}

/** What a run under way answers is not among the messages yet: the browser has kept it. */
function sayAgain(mine, run) {
  const { messageId, content } = JSON.parse(sessionStorage.getItem(LAST_SAID) ?? "{}");
  if (run && run.messageId === messageId && !mine.find(messageId)) mine.say(messageId, content);
}

async function openConversation(threadId, isNew) {
  sessionStorage.setItem("baton.thread", threadId);
  conversation = new Conversation(threadId);
  isKnown = false;
  isResuming = false;
  newsFrom = 0;
  transcript.clear();
  ready();
  show("problem");
  menu(false);
  draw(true);
  if (isNew || !(await isThere())) offerUnfinished();
  listThreads();
  byId("text").focus();
}

/** Loads the conversation; false if the server has none. */
async function isThere() {
  try {
    await loadHistory();
    resume();
  } catch ({ status, message }) {
    if (status === 404) return false;
    show("problem", message);
  }
  return true;
}

/** What was left unfinished elsewhere can go on in a conversation that has not begun. */
async function offerUnfinished() {
  const mine = conversation;
  const { items } = await server.api("GET", "/v1/workflows").catch(() => ({ items: [] }));
  mine.unfinished = items;
  draw();
}

async function listThreads() {
  const { items } = await server.api("GET", "/v1/threads?limit=30").catch(() => ({ items: [] }));
  drawThreads(items, conversation.threadId, (threadId) => openConversation(threadId, false));
}

function start() {
  const who = {};
  for (const [name, usual] of Object.entries(WHO)) {
    who[name] = byId(name).value = localStorage.getItem(`baton.${name}`) ?? usual;
  }
  connection?.close();
  waiting.clear();
  server = new Server(who);
  byId("who").replaceChildren(element("strong", who.user), " of tenant ", element("strong", who.tenant));
  connection = new Connection(() => server.token(), {
    open: opened,
    frame: received,
    status(state, words) {
      byId("status").dataset.state = state;
      byId("status").textContent = words;
    },
  });
  const kept = sessionStorage.getItem("baton.thread");
  openConversation(kept ?? uuid(), kept === null);
}

async function sayWhoAnswers() {
  const { model, isDemoModel } = await about();
  byId("model").textContent = isDemoModel ? "the offline demo model" : model;
  byId("model").title = model;
  byId("offline").hidden = !isDemoModel;
}

// The screen

function draw(toEnd = false) {
  const atEnd = toEnd || transcript.isAtEnd;
  if (drawing) return void (drawing.toEnd ||= atEnd);
  drawing = { toEnd: atEnd };
  requestAnimationFrame(() => {
    drawState(conversation, isKnown, {
      resume: ({ id }, offer) => wish(offer, { action: "continue", workflowId: id }),
    });
    byId("welcome").hidden = conversation.entries.length > 0;
    transcript.draw(conversation, drawing.toEnd);
    drawing = false;
  });
}

function menu(open) {
  byId("menu").ariaExpanded = String(open);
  document.body.classList.toggle("menu", open);
}

readComposer(send, (file, contentType) => {
  return uploadTo((...request) => server.api(...request), conversation.threadId, file, contentType);
});
byId("stop").onclick = () => wish(byId("stop"), { action: "cancel", runId: conversation.run.runId });
byId("close").onclick = () => wish(byId("close"), { action: "close" });
byId("exit").onclick = () => wish(byId("exit"), { action: "exit" });
byId("new").onclick = () => openConversation(uuid(), true);
byId("menu").onclick = () => menu(byId("menu").ariaExpanded !== "true");
byId("agents").onclick = () => showAgents(server);
byId("audit").onclick = () => showAudit(server);
byId("settings").onsubmit = (event) => {
  event.preventDefault();
  for (const name of Object.keys(WHO)) localStorage.setItem(`baton.${name}`, byId(name).value.trim());
  sessionStorage.removeItem("baton.thread");
  start();
};
addEventListener("keydown", (event) => event.key === "Escape" && menu(false));
for (const suggestion of document.querySelectorAll("[data-try]")) suggestion.onclick = () => send(suggestion.textContent);
sayWhoAnswers().catch(() => {});
start();
