// What each event of a turn changes in a conversation. Events that change nothing on the screen are not listed.

import { patched } from "./json_patch.js";

/** Event type -> change(conversation, event, metadata of the event). */
export const CHANGES = {
  RUN_STARTED(talk, event, about) {
    if (!talk.isOver(about)) talk.run = { runId: event.runId, messageId: about.messageId };
    talk.drop((entry) => entry.runId === event.runId && entry.role !== "user" && entry.attempt < about.attempt);
    if (!about.replayed) settleApprovals(talk, event);
    for (const said of event.input?.messages ?? []) {
      if (said.role !== "user" || about.replayed) continue;
      const isStored = talk.find(said.id)?.ordinal != null;
      talk.put(isStored ? { id: said.id } : { ...said, failed: null }, { ...about, runId: event.runId });
    }
  },

  RUN_FINISHED(talk, event, about) {
    const { type, interrupts } = event.outcome ?? {};
    endRun(talk, event.runId);
    if (type === "cancelled") {
      const answer = talk.last("assistant", event.runId);
      if (answer) answer.cancelled = true;
      else talk.put(note(`stopped:${event.runId}`, "Stopped."), about);
    }
    for (const interrupt of interrupts ?? []) {
      const call = talk.find(`tool:${interrupt.toolCallId}`);
      if (call) call.waits = true;
      talk.put({ id: `interrupt:${interrupt.id}`, role: "approval", interrupt, args: call?.args, answer: null, settled: false }, about);
    }
  },

  RUN_ERROR(talk, event, about) {
    const asked = talk.find(about.messageId ?? talk.run?.messageId) ?? talk.last("user", about.runId ?? undefined);
    // A refused request (it names its action) has no outcome: the same id may be sent again. A run that failed has one.
    const failed = { text: event.message, retryable: about.retryable === true, sameId: about.action != null };
    const begun = about.runId && talk.last("assistant", about.runId);
    if (asked) (begun || asked).failed = { ...failed, askedBy: asked.id };
    else talk.put(note(`error:${about.requestId}`, event.message), about);
    if (!about.action) endRun(talk, about.runId);
  },

  STATE_SNAPSHOT(talk, { snapshot }, about) {
    if (talk.isOver(about)) return; // what was loaded is newer
    // Inside a run the conversation goes on, even if the snapshot still tells how it stood before the run.
    talk.state = about.runId ? { ...snapshot, status: "active" } : snapshot;
  },

  STATE_DELTA(talk, event, about) {
    if (talk.state && !talk.isOver(about)) talk.state = patched(talk.state, event.delta ?? []);
  },

  MESSAGES_SNAPSHOT(talk, event, about) {
    talk.merge(event.messages ?? []);
    talk.historySeq = 0;
    if (!about.replayed && about.seq == null) talk.lastSeq = null;
  },

  TEXT_MESSAGE_START(talk, event, about) {
    const known = talk.find(event.messageId);
    if (known?.ordinal != null) talk.put({ id: known.id }, about); // it is stored, and so complete
    else talk.put({ id: event.messageId, role: "assistant", name: event.name, content: "", open: true }, about);
  },

  TEXT_MESSAGE_CONTENT(talk, event, about) {
    const { messageId: id, delta } = event;
    const message = talk.find(id);
    if (!message) talk.put({ id, role: "assistant", content: delta, open: true }, about);
    else if (message.open) message.content += delta;
  },

  TEXT_MESSAGE_END(talk, event, about) {
    const message = talk.find(event.messageId);
    if (message) Object.assign(message, { open: false, sources: about.sources });
  },

  TOOL_CALL_START(talk, { toolCallId, toolCallName }, about) {
    talk.put({ id: `tool:${toolCallId}`, role: "tool", name: toolCallName, args: "", open: true }, about);
  },

  TOOL_CALL_ARGS(talk, { toolCallId, delta }) {
    const call = talk.find(`tool:${toolCallId}`);
    if (call?.open) call.args += delta;
  },

  TOOL_CALL_RESULT(talk, { toolCallId, content }, { outcome }) {
    const call = talk.find(`tool:${toolCallId}`);
    if (call) Object.assign(call, { result: content, outcome, open: false });
  },

  ACTIVITY_SNAPSHOT(talk, { messageId: id, activityType, content, replace }, about) {
    const known = talk.find(id);
    if (known && replace === false) return;
    if (activityType === "research") {
      const research = talk.put({ id, role: "research", content, agents: known?.agents ?? [] }, about);
      research.open = isUnderWay(research);
    } else if (content.label) talk.put({ id, role: "note", activityType, content }, about);
  },

  ACTIVITY_DELTA(talk, { messageId, patch }) {
    const activity = talk.find(messageId);
    if (!activity) return;
    activity.content = patched(activity.content, patch);
    if (activity.role === "research" && talk.run) activity.open = isUnderWay(activity);
  },

  SUBAGENT_STARTED(talk, { subagentRunId, name }, about) {
    const research =
      talk.last("research", about.runId) ??
      talk.put({ id: `research:${about.runId}`, role: "research", content: { label: "Researching" }, agents: [] }, about);
    setAgent(research, { id: subagentRunId, name, state: "working" });
  },

  SUBAGENT_FINISHED(talk, { subagentRunId: id, outcome }) {
    setAgent(researchOf(talk, id), { id, state: outcome?.type === "suspended" ? "waiting" : "done" });
  },

  SUBAGENT_ERROR(talk, { subagentRunId: id, message, code }) {
    const stopped = code === "cancelled";
    setAgent(researchOf(talk, id), { id, state: stopped ? "stopped" : "failed", message: stopped ? null : message });
  },

  CUSTOM(talk, { name, value }, about) {
    if (name !== "thread_closed") return;
    if (talk.state && !talk.isOver(about)) talk.state = { ...talk.state, status: "closed" };
    talk.closedBecause = value.reason;
    if (about.seq != null) talk.put(note(`closed:${about.seq}`, CLOSED[value.reason] ?? "Conversation closed."), about);
  },
};

const CLOSED = {
  UserClosed: "You ended the conversation.",
  AgentClosed: "The assistant ended the conversation.",
  Timeout: "The conversation was closed because nothing was said for a while.",
};

const note = (id, label) => ({ id, role: "note", content: { label }, open: false });

const STATES = { working: "working", completed: "done", failed: "failed", timed_out: "late", cancelled: "stopped" };

/** The agents that research waits for, as its content tells: `{name, state}`. */
export const askedAgents = ({ content }) =>
  (content.agents ?? []).map(({ id, name, status }) => ({ name: name ?? id, state: STATES[status] ?? "asked" }));

function isUnderWay(research) {
  const started = research.agents.map(({ name }) => name);
  const awaited = askedAgents(research).filter(({ name }) => !started.includes(name));
  return [...research.agents, ...awaited].some(({ state }) => state === "working" || state === "asked");
}

const researchOf = (talk, subagentRunId) =>
  talk.entries.find(({ role, agents }) => role === "research" && agents.some(({ id }) => id === subagentRunId));

function setAgent(research, agent) {
  if (!research) return;
  const known = research.agents.find(({ id }) => id === agent.id);
  if (known) Object.assign(known, agent);
  else research.agents.push(agent);
  research.open = isUnderWay(research);
}

/** Nothing of the run goes on any more, however it ended. */
function endRun(talk, runId) {
  for (const entry of talk.entries) {
    if (entry.runId !== runId && entry.runId != null) continue;
    entry.open = false;
    for (const agent of entry.agents ?? []) if (agent.state === "working") agent.state = "stopped";
  }
  talk.run = null;
}

/** The next run answers what the one before asked for, or gives it up. */
function settleApprovals(talk, { runId, parentRunId, input }) {
  for (const entry of talk.entries) {
    if (entry.role !== "approval" || entry.settled || entry.runId === runId) continue;
    const given = input?.resume?.find(({ interruptId }) => interruptId === entry.interrupt.id);
    const otherwise = parentRunId === entry.runId ? (entry.answer ?? "answered") : "passed";
    Object.assign(entry, { settled: true, answer: given?.status ?? otherwise });
    const call = talk.find(`tool:${entry.interrupt.toolCallId}`);
    if (call && entry.answer === "passed") call.outcome = "refused"; // the conversation goes on without it
  }
}
