// Talks to Baton by the AG-UI project's own client, and tells what that client made of it.
//
// Argument: the package's name. Standard input: a command a line, with a number; standard output: a line in answer to
// each, with the same number.
//   {"do": "run", "url", "token", "threadId", "content"?, "messageId"?, "answers"?, "results"?, "tools"?, "context"?,
//    "forwardedProps"?}
//     says something, answers what is asked, or brings the results of calls (by the tool's name), with everything that
//     the client has of this conversation
//   {"do": "read", "url", "token"}     takes what a GET streams for one run after the other, as a client that is new
//   {"do": "hear", "stream"}           the same, given the text of the stream
//   {"do": "check", "events"}          what the client's schemas say against each of the events, or null

import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const [, , name] = process.argv;
const { HttpAgent } = await import(name);
const { EventSchemas } = createRequire(import.meta.resolve(name))("@ag-ui/core");

let warnings = [];
console.warn = (...words) => void warnings.push(words.join(" "));

const agents = new Map();

function agentOf({ url, token, threadId }) {
  const headers = { Authorization: `Bearer ${token}` };
  if (!agents.has(threadId)) agents.set(threadId, new HttpAgent({ url, threadId, headers }));
  return agents.get(threadId);
}

function openCalls({ messages }) {
  const answered = new Set(messages.filter(({ role }) => role === "tool").map(({ toolCallId }) => toolCallId));
  return messages.flatMap(({ toolCalls = [] }) => toolCalls).filter(({ id }) => !answered.has(id));
}

async function heard(agent, parameters) {
  const seen = { events: [], errors: [], result: null };
  try {
    const { result } = await agent.runAgent(parameters, {
      onEvent: ({ event }) => void seen.events.push(event),
      onRunErrorEvent: ({ event }) => void seen.errors.push(event.code),
    });
    seen.result = result ?? null;
  } catch (error) {
    seen.errors.push(String(error));
  }
  return { ...seen, messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts };
}

const commands = {
  async run(command) {
    const agent = agentOf(command);
    const { content, messageId = randomUUID(), answers, results = {}, tools, context, forwardedProps } = command;
    if (content !== undefined) agent.addMessage({ id: messageId, role: "user", content });
    for (const { id, function: called } of openCalls(agent)) {
      if (called.name in results)
        agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: id, content: results[called.name] });
    }
    const resume = answers && agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, ...answers }));
    return heard(agent, { forwardedProps, resume, tools, context });
  },
  async read({ url, token }) {
    const headers = { Authorization: `Bearer ${token}` };
    return heard(new HttpAgent({ url, fetch: () => fetch(url, { headers }) }));
  },
  async hear({ stream }) {
    const answer = () => new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    return heard(new HttpAgent({ url: "http://nowhere.test", fetch: async () => answer() }));
  },
  async check({ events }) {
    return events.map((event) => EventSchemas.safeParse(event).error?.message ?? null);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  warnings = [];
  const answer = await commands[command.do](command);
  process.stdout.write(`${JSON.stringify({ number: command.number, answer, warnings })}\n`);
}
