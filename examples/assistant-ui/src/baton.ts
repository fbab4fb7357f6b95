// What the page knows of Baton: tokens, the conversation's history, and an AG-UI agent that goes on after a reload.

import { HttpAgent, type Message, type RunAgentInput } from "@ag-ui/client";

export type Interrupt = { id: string; reason: string; toolCallId?: string; message?: string };
type Thread = { run: { runId: string } | null; interrupts: Interrupt[]; state: unknown; lastSeq: number };
export type Stored = { messages: Message[]; interrupts: Interrupt[]; state?: unknown; running: boolean };

const { baton = "", token: tokenUrl = "" } = document.body.dataset;
let token = { value: "", expires: 0 };

/** A token of the user who is signed in. Your own server gives it; here it is the local cloud's POST /local/token. */
async function bearer(): Promise<string> {
  if (Date.now() > token.expires - 60_000) {
    const query = new URLSearchParams(location.search);
    const who = { tenant: query.get("tenant") ?? "demo", user: "ada", permissions: ["skill:create"] };
    const answer = await fetch(tokenUrl, { method: "POST", body: JSON.stringify(who) });
    if (!answer.ok) throw new Error("There is no token. Are you signed in?");
    const { token: value } = (await answer.json()) as { token: string };
    const claims = JSON.parse(atob((value.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
    token = { value, expires: claims.exp * 1000 };
  }
  return `Bearer ${token.value}`;
}

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), Authorization: await bearer() };
  return fetch(`${baton}/v1${path}`, { ...init, headers });
}

/** An AG-UI agent of one conversation, which says what the buttons mean and can follow a run that it has not begun. */
export class BatonAgent extends HttpAgent {
  /** The messages of the last run that came to its end: what "regenerate" and "edit" refer to. */
  private shown: { id: string; role: string }[] = [];
  /** The number of the event after which the next run is followed, instead of being begun. */
  private followAfter: number | null = null;
  private readonly agentId_: string | null;

  constructor(threadId: string, agentId: string | null = null) {
    const path = `/threads/${encodeURIComponent(threadId)}`;
    const open = (_url: string, init: RequestInit): Promise<Response> => {
      const after = this.followAfter;
      this.followAfter = null;
      if (after === null) return call("/runs", init);
      return call(`${path}/events?after=${after}`, init.signal ? { signal: init.signal } : {});
    };
    super({ url: `${baton}/v1/runs`, threadId, fetch: open });
    this.agentId_ = agentId;
    this.subscribe({ onRunFinishedEvent: ({ messages }) => this.hasShown(messages) });
  }

  /** Read what is stored. If a run is in progress, its question comes along, and the next run of this agent follows it. */
  async load(): Promise<Stored> {
    const path = `/threads/${encodeURIComponent(this.threadId)}`;
    // Messages first: a run that the thread names afterwards is in none of them, or its events follow `lastSeq`.
    const read = await call(`${path}/messages?limit=100&roles=user,assistant,tool`);
    if (read.status === 404) return { messages: [], interrupts: [], running: false }; // nothing has been said yet
    const known = await call(path);
    if (!known.ok || !read.ok) throw new Error("The conversation cannot be read.");
    const { run, interrupts, state, lastSeq: now } = (await known.json()) as Thread;
    const { items, lastSeq } = (await read.json()) as { items: Message[]; lastSeq: number };
    if (!run && lastSeq < now) return this.load(); // an answer was stored in between
    const question = run && (await this.questionAfter(lastSeq));
    if (question) items.push(question);
    if (run) this.followAfter = lastSeq;
    else this.hasShown(items);
    return { messages: items, interrupts, state, running: run !== null };
  }

  /** The button "stop". Closing the page does not stop the run, because it is followed when the page is opened again. */
  override abortRun(): void {
    void call(`/threads/${encodeURIComponent(this.threadId)}/cancel`, { method: "POST" });
    super.abortRun();
  }

  protected override requestInit(input: RunAgentInput): RequestInit {
    const branch = input.resume ? null : branchOf(input.messages, this.shown);
    const agentId = this.agentId_ === null ? {} : { agentId: this.agentId_ };
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const own = { ...agentId, timeZone, onDisconnect: "continue", ...(branch && { branch }) };
    const forwardedProps = { ...input.forwardedProps, ...own };
    return super.requestInit({ ...input, forwardedProps });
  }

  private hasShown(messages: readonly Message[]): void {
    const said = messages.filter(({ role }) => role === "user" || role === "assistant");
    this.shown = said.map(({ id, role }) => ({ id, role }));
  }

  /** What was asked in the run in progress: it is no stored message yet, and stands in RUN_STARTED. */
  private async questionAfter(seq: number): Promise<Message | null> {
    const reading = new AbortController();
    const path = `/threads/${encodeURIComponent(this.threadId)}/events?after=${seq}`;
    const answer = await call(path, { signal: reading.signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      text += part.value;
      const line = /^data: (.*"RUN_STARTED".*)\n/m.exec(text);
      if (!line) continue;
      reading.abort();
      const { input } = JSON.parse(line[1] ?? "{}") as { input?: { messages?: Message[] } };
      return input?.messages?.[0] ?? null;
    }
    return null;
  }
}

function branchOf(messages: readonly Message[], shown: readonly { id: string; role: string }[]) {
  const said = messages.filter(({ role }) => role === "user" || role === "assistant");
  const last = said.at(-1);
  if (last?.role !== "user" || messages.at(-1)?.role === "tool") return null;
  const placeOf = (id: string): number => shown.findIndex((message) => message.id === id);
  const answer = placeOf(last.id) < 0 ? null : shown[placeOf(last.id) + 1];
  if (answer) return { from: last.id, regenerate: true, messageId: `instead-of-${answer.id}` };
  const before = said.at(-2);
  if (placeOf(last.id) >= 0 || (before && placeOf(before.id) < 0)) return null;
  const replaced = shown[before ? placeOf(before.id) + 1 : 0];
  return replaced?.role === "user" ? { from: replaced.id } : null;
}
