import type { ConsoleApi, Page } from "../../api/console-api.ts";
import { Problem } from "../../api/problem.ts";
import type { Message, Task, ToolCall, Turn } from "../../api/shapes.ts";

const PAGE = 100;
/** Pages of one list that are looked through. */
const MAX_PAGES = 100;

/** Everything on record of one run. */
export interface Run {
  readonly threadId: string;
  readonly turn: Turn;
  readonly messages: readonly Message[];
  readonly calls: readonly ToolCall[];
  readonly tasks: readonly Task[];
}

/** Reads a run, given as `thread/run`. Rejects with `Problem`, also when there is no such run. */
export async function readRun(api: ConsoleApi, place: string, signal: AbortSignal): Promise<Run> {
  const [threadId = "", runId = ""] = place.split("/", 2);
  const [turns, messages, calls, tasks] = await Promise.all([
    ofRun<Turn>(api, ["threads", threadId, "turns"], {}, runId, (each) => each.runId, signal),
    ofRun<Message>(
      api,
      ["threads", threadId, "messages"],
      { roles: "user,assistant,tool" },
      runId,
      (each) => each.metadata.runId,
      signal,
    ),
    ofRun<ToolCall>(api, ["threads", threadId, "tool-calls"], {}, runId, (each) => each.runId, signal),
    ofRun<Task>(api, ["threads", threadId, "tasks"], {}, runId, (each) => each.runId, signal),
  ]);
  const [turn] = turns;
  if (!turn) throw new Problem(404, {}, "There is no such run in this conversation.");
  const inOrder = [...messages].sort((one, other) => one.metadata.ordinal - other.metadata.ordinal);
  const called = [...calls].sort((one, other) => Date.parse(one.calledAt) - Date.parse(other.calledAt));
  return { threadId, turn, messages: inOrder, calls: called, tasks };
}

/** Reads the records of a run from a list that is newest first: on until they have come, and have ended. */
async function ofRun<T>(
  api: ConsoleApi,
  path: readonly string[],
  parameters: Readonly<Record<string, string>>,
  runId: string,
  runOf: (record: T) => string | null,
  signal: AbortSignal,
): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: Page<T> = await api.page<T>(path, { limit: PAGE, cursor, ...parameters }, signal);
    const some = page.items.filter((each) => runOf(each) === runId);
    found.push(...some);
    cursor = page.nextCursor;
    if (cursor === null || (found.length && some.length < page.items.length)) break;
  }
  return found;
}
