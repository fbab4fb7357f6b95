import type { Api } from "./api.ts";
import type { Conversation } from "./conversation.ts";
import type { AgentProgress, AskedAgent, ResearchItem } from "./items.ts";
import type { BackgroundTask } from "./wire.ts";

const ENDS: Readonly<Partial<Record<BackgroundTask["status"], AgentProgress>>> = {
  completed: "done",
  failed: "failed",
  cancelled: "stopped",
  expired: "late",
};

/** Reads the tasks in the background of a conversation, and ends the agents that have worked on them. */
export async function readTasks(api: Api, threadId: string, talk: Conversation): Promise<readonly BackgroundTask[]> {
  const { items } = await api.background(threadId);
  talk.changeAll((item) => {
    if (item.role !== "research") return null;
    const agents = item.agents.map((agent) => withEnd(talk, item, agent, items));
    return agents.some((agent, at) => agent !== item.agents[at]) ? { agents } : null;
  });
  return items;
}

/** An agent that was asked several times has ended with the last of its tasks. */
function withEnd(
  talk: Conversation,
  { runId }: ResearchItem,
  agent: AskedAgent,
  tasks: readonly BackgroundTask[],
): AskedAgent {
  const results = talk.items.flatMap((item) =>
    item.role === "tool" && item.runId === runId ? [item.result ?? ""] : [],
  );
  const own = tasks.filter(
    ({ name, taskId }) => agent.id === `asked:${name}` && results.some((result) => result.includes(taskId)),
  );
  const isOpen = own.some(({ status }) => ENDS[status] === undefined);
  const progress = isOpen ? "background" : own[0] && ENDS[own[0].status];
  return progress === undefined || progress === agent.progress ? agent : { ...agent, progress, wasInBackground: true };
}
