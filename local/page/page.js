// The demo page: joins the conversation, the connection and what is on the screen.

import { CatchingUp } from "./catching_up.js";
import { clearComposer, readComposer } from "./composer.js";
import { Connection, fits } from "./connection.js";
import { Conversation } from "./conversation.js";
import { byId, element, show } from "./elements.js";
import { uploadTo } from "./files.js";
import { textOf } from "./message_view.js";
import { Outbox } from "./outbox.js";
import { showAgents, showAudit } from "./panels.js";
import { Server, about } from "./server.js";
import { drawState } from "./state_view.js";
import { drawThreads, rememberTitle } from "./thread_list.js";
import { Transcript } from "./transcript.js";

const WHO = { tenant: "demo", user: "ada", permissions: "skill:create" }; // until the reader says otherwise
const SILENCE_MS = 15_000;
const LOAD_AGAIN_MS = 1_500;
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
let newsFrom = 0; // events up to this one are told again: nothing to announce
let silence = 0;
let drawing = false;
const outbox = new Outbox();
const posting = new Map(); // message id -> what aborts its request
const catchingUp = new CatchingUp(
  () => connection.send({ action: "resume", threadId: conversation.threadId, after: conversation.lastSeq ?? 0 }),
  () => connection.replace(),
);
const transcript = new Transcript(byId("transcript"), { retry, answer });

// Frames

function opened() {
  for (const frame of outbox.frames) transmit(frame); // same id: never a second turn
  if (isKnown) resume();
  listThreads();
}

function resume() {
  if (connection.isOpen) catchingUp.begin();
}

function received(frame) {
  const metadata = frame.metadata ?? {};
  watchForSilence();
  if (frame.code === "token_expired") return; // the connection fetches a new token
  // Only the run itself (or a refusal) ends the waiting: an accepted message may still need its thread attached.
  if (metadata.messageId) outbox.done(metadata.messageId);
  if (metadata.threadId && metadata.threadId !== conversation.threadId) return;
  if (metadata.resume) {
    catchingUp.promised(metadata.resume.lastSeq);
    newsFrom = metadata.resume.lastSeq;
  }
  if (frame.type === "RUN_ERROR" && metadata.action && metadata.action !== "message") return refused(frame, metadata.action);
  const taken = conversation.take(frame);
  catchingUp.heard(conversation.lastSeq);
  if (taken === "gap") resume();
  for (const { id, settled } of conversation.entries) if (settled) outbox.done(id);
  if (frame.type === "RUN_STARTED") isKnown = true;
  if (!(metadata.seq <= newsFrom)) announce(frame);
  draw();
}

function refused(frame, action) {
  outbox.done(action);
  if (action === "resume") {
    catchingUp.end();
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
      outbox.done(entry.id);
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

/** Of a run whose worker has died nothing is heard, although the connection lives: asking has it taken over. */
function watchForSilence() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    if (conversation.run && isKnown) resume();
    watchForSilence();
  }, SILENCE_MS);
}

// What the user does

function send(content, messageId = uuid()) {
  const { threadId, beganWith } = conversation;
  const frame = { action: "message", threadId, messageId, content, ...(beganWith && { agentId: beganWith }) };
  show("problem");
  conversation.say(messageId, content);
  rememberTitle(conversation);
  draw(true);
  outbox.add(messageId, frame);
  if (fits(frame)) sessionStorage.setItem(LAST_SAID, JSON.stringify({ messageId, content }));
  transmit(frame);
}

function transmit(frame) {
  if (fits(frame)) connection.send(frame);
  else post(frame);
}

/** Sends a message that no frame can hold. Its answer comes when the turn has ended. */
async function post({ threadId, messageId, content, agentId }) {
  posting.get(messageId)?.abort();
  const request = new AbortController();
  posting.set(messageId, request);
  const body = { sessionId: threadId, message: content, messageId, agentId };
  try {
    const { messages } = await server.api("POST", "/v1/messages", body, request.signal);
    outbox.done(messageId);
    if (conversation.threadId !== threadId) return;
    conversation.merge(messages);
    isKnown = true;
    resume();
  } catch ({ message: text, retryable, status }) {
    if (request.signal.aborted || (status === undefined && !connection.isOpen)) return; // it will be posted again
    outbox.done(messageId);
    if (conversation.threadId !== threadId) return;
    const failed = { text, retryable: retryable !== false, sameId: status !== 502, askedBy: messageId };
    conversation.find(messageId).failed = failed;
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
  outbox.add(approval.id, frame);
  connection.send(frame);
  connection.ping();
  draw();
  byId("text").focus();
}

/** Sends a wish that the conversation's events will answer; the button rests until they do. */
function wish(control, frame) {
  const whole = { threadId: conversation.threadId, ...frame };
  show("problem");
  outbox.wish(whole);
  connection.send(whole);
  connection.ping();
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

/** `agent` is who a new conversation begins with, if not the usual one. */
async function openConversation(threadId, isNew, agent) {
  sessionStorage.setItem("baton.thread", threadId);
  conversation = new Conversation(threadId);
  if (agent) Object.assign(conversation, { beganWith: agent.id, state: { activeAgent: { ...agent, isMain: true } } });
  isKnown = false;
  catchingUp.end();
  newsFrom = 0;
  transcript.clear();
  ready();
  show("problem");
  byId("announce").replaceChildren(); // else it would still tell the answer of another conversation
  menu(false);
  draw(true);
  for (const frame of outbox.messagesTo(threadId)) conversation.say(frame.messageId, frame.content);
  if (isNew || !(await isThere())) offerUnfinished();
  listThreads();
  byId("text").focus();
}

/** Loads the conversation, as soon as there is an answer; false if the server has none. */
async function isThere() {
  const mine = conversation;
  try {
    await loadHistory();
    resume();
  } catch ({ status, message }) {
    if (status === 404) return false;
    if (status === undefined) setTimeout(() => conversation === mine && isThere(), LOAD_AGAIN_MS);
    else show("problem", message);
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
  const mine = server;
  const { items } = await mine.api("GET", "/v1/threads?limit=30").catch(() => ({ items: [] }));
  if (server !== mine) return; // they are somebody else's by now
  drawThreads(items, conversation.threadId, (threadId) => openConversation(threadId, false));
}

function start() {
  const who = {};
  for (const [name, usual] of Object.entries(WHO)) {
    who[name] = byId(name).value = localStorage.getItem(`baton.${name}`) ?? usual;
  }
  connection?.close();
  server = new Server(who);
  byId("who").replaceChildren(element("strong", who.user), " of tenant ", element("strong", who.tenant));
  connection = new Connection((signal) => server.token(signal), {
    open: opened,
    frame: received,
    arrived: () => outbox.arrived(),
    isRunning: () => conversation?.run != null,
    status(state, words) {
      catchingUp.end(); // the next connection begins anew
      byId("status").dataset.state = state;
      byId("status").textContent = words;
    },
  });
  const kept = sessionStorage.getItem("baton.thread");
  openConversation(kept ?? uuid(), kept === null);
}

/** Takes away what the person who leaves has said, written and been shown; `openConversation` does the rest. */
function leaveNothing() {
  for (const name of ["baton.thread", LAST_SAID]) sessionStorage.removeItem(name);
  outbox.clear();
  for (const request of posting.values()) request.abort();
  posting.clear();
  clearComposer();
  byId("threads").replaceChildren();
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
byId("agents").onclick = () => showAgents(server, (agent) => openConversation(uuid(), true, agent));
byId("audit").onclick = () => showAudit(server);
byId("settings").onsubmit = (event) => {
  event.preventDefault();
  for (const name of Object.keys(WHO)) localStorage.setItem(`baton.${name}`, byId(name).value.trim());
  leaveNothing();
  start();
};
addEventListener("keydown", (event) => event.key === "Escape" && menu(false));
for (const suggestion of document.querySelectorAll("[data-try]")) suggestion.onclick = () => send(suggestion.textContent);
sayWhoAnswers().catch(() => {});
start();
