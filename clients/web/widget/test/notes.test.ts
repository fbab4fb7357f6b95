import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item, NoteItem } from "../../client/src/items.ts";
import { actorOf, isShownNote } from "../src/notes.ts";

const note = (fields: Partial<NoteItem>): Item => ({ id: "n-1", role: "note", kind: "event", open: false, ...fields });
const said = (content: string, runId = "run-2"): Item => ({
  id: "m-1",
  role: "assistant",
  content,
  open: false,
  runId,
});
const task = note({ reason: "task", label: "researcher", runId: "run-2" });

test("a return is shown once: by the next answer, if that describes it", () => {
  const back = note({ kind: "return", label: "You are talking to Assistant again." });
  assert.equal(isShownNote([back, said("You are talking to Assistant again.")], 0), false);
  assert.equal(isShownNote([back, said("Anna has left. You are talking to Assistant again.")], 0), false);
  const silent = said("Support has not answered for some time, so you are talking to Assistant again.");
  assert.equal(isShownNote([back, { ...silent, isOfDesk: true } as Item], 0), false);
  assert.equal(isShownNote([back, said("Hello again.")], 0), true);
  assert.equal(isShownNote([note({ kind: "event", label: "Water", runId: "run-2" }), said("Water it.")], 0), true);
  assert.equal(isShownNote([back], 0), true);
});

test("work in the background has the name that the user has read", () => {
  const agents = [{ id: "asked:researcher", name: "Researcher", progress: "done" as const }];
  const research: Item = { id: "r-1", role: "research", content: {}, agents, open: false, runId: "run-1" };
  assert.equal(actorOf([research, task, said("Done.")], 1), "Researcher");
  const call = { id: "c-1", role: "tool", callId: "c", name: "researcher", label: "Look it up", args: "", open: false };
  assert.equal(actorOf([call as Item, task, said("Done.")], 1), "Look it up");
  assert.equal(actorOf([task, said("Done.")], 0), undefined);
});

test("a run that begins by itself and stays silent shows nothing", () => {
  assert.equal(isShownNote([task], 0), false);
  assert.equal(isShownNote([task, said("Done.")], 0), true);
});
