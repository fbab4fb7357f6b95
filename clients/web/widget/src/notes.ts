import { type Item, type MessageItem, textOf } from "#client";

/** Whether the run that began by itself says or asks something: it may stay silent. */
const hasAnswer = (items: readonly Item[], { runId }: Item): boolean =>
  items.some((item) => item.runId === runId && (item.role === "assistant" || item.role === "interrupt"));

/** Whether a note says something that the answer after it does not say. */
export function isShownNote(items: readonly Item[], index: number): boolean {
  const [note, next] = [items[index], items[index + 1]];
  if (note?.role !== "note") return false;
  if (note.kind === "event" && !hasAnswer(items, note)) return false;
  if (note.kind !== "return" || next?.role !== "assistant") return true;
  return !next.isOfDesk && !textOf(next.content).includes(note.label ?? ""); // sentences about desks say why, too
}

/** The name of the specialist to whom a note hands over, once it has answered, or of the agent whose task has ended. */
export function actorOf(items: readonly Item[], index: number): string | undefined {
  const note = items[index];
  if (note?.role === "note" && note.reason === "task") {
    for (const item of items) {
      const agent = item.role === "research" && item.agents.find(({ id }) => id === `asked:${note.label}`);
      if (agent) return agent.name;
      if (item.role === "tool" && item.name === note.label && item.label) return item.label;
    }
  }
  if (note?.role !== "note" || note.kind !== "handoff") return;
  const isAnswer = (item: Item): item is MessageItem => item.role === "assistant" && item.agentId === note.to;
  return items.slice(index).find(isAnswer)?.name;
}
