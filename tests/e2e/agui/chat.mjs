// Chats with Baton by the AG-UI project's own client, and prints what that client made of it.
//
// Standard input: {"url", "token", "threadId", "texts"}; standard output: {"messages", "runs", "state"}. An object in
// place of a text is the answer to every interrupt that the client holds for open.

import { HttpAgent } from "@ag-ui/client";
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

const { url, token, threadId, texts } = JSON.parse(await text(process.stdin));
const agent = new HttpAgent({ url, threadId, headers: { Authorization: `Bearer ${token}` } });

const runs = [];
for (const content of texts) {
  const isAnswer = typeof content === "object";
  if (!isAnswer) agent.addMessage({ id: randomUUID(), role: "user", content });
  const resume = isAnswer ? agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, ...content })) : undefined;
  const seen = { events: [], errors: [] };
  const { newMessages } = await agent.runAgent(
    { resume },
    {
      onEvent: ({ event }) => void seen.events.push(event.type),
      onRunFailed: ({ error }) => void seen.errors.push(String(error)),
      onRunErrorEvent: ({ event }) => void seen.errors.push(event.code),
    },
  );
  runs.push({ ...seen, newMessages, interrupts: agent.pendingInterrupts });
}
process.stdout.write(JSON.stringify({ messages: agent.messages, runs, state: agent.state }));
