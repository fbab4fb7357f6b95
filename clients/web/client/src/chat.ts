import { Alternatives } from "./alternatives.ts";
import type { Api } from "./api.ts";
import { CatchingUp } from "./catching-up.ts";
import { uuid } from "./clock.ts";
import { type Awaited, Connection } from "./connection.ts";
import { Conversation } from "./conversation.ts";
import { Emitter } from "./emitter.ts";
import { BatonError, TokenError } from "./errors.ts";
import { contentOf } from "./files.ts";
import { History, type Known, LOAD_AGAIN_MS } from "./history.ts";
import { type Item, isClientCall, type MessageItem } from "./items.ts";
import type { Offer } from "./offer.ts";
import { fits, Outbox } from "./outbox.ts";
import { Outgoing } from "./outgoing.ts";
import { PageTools } from "./page-tools.ts";
import { People } from "./people.ts";
import { sentencesOf } from "./sentences.ts";
import { Sequence } from "./sequence.ts";
import type { ChatEvents, ChatOptions, ChatSnapshot } from "./snapshot.ts";
import type { SafeStore } from "./storage.ts";
import { type News, Tabs } from "./tabs.ts";
import type { Refusal } from "./time-zone.ts";
import { identityOf, type TokenSource } from "./token.ts";
import type {
  BackgroundTask,
  BatonEvent,
  Branch,
  ClientFrame,
  Content,
  FilePart,
  KnownEvent,
  PartFrame,
  Rating,
  ThreadUpdate,
} from "./wire.ts";

const SILENCE_MS = 15_000;
const CHECK_MS = 5_000;
/** A number that no conversation has reached: asking for what follows it tells whether there is one. */
const NEVER = 10 ** 12;

interface Services {
  readonly api: Api;
  readonly socketUrl: string;
  readonly tokens: TokenSource;
  readonly store: SafeStore;
  readonly offer: Offer;
  readonly known: Known;
  /** Forgets what this page keeps of its user. */
  readonly forget: () => void;
}

export interface SendOptions {
  readonly messageId?: string;
  /** What becomes of it while a run is in progress: it waits, enters the run, or stops it. By default the agent decides. */
  readonly whileBusy?: "queue" | "steer" | "interrupt";
  /** The user wants an answer although a spending limit is reached. */
  readonly overSpending?: boolean;
}

/** One conversation, kept complete and current over whatever the network does. */
export class Chat extends Emitter<ChatEvents> {
  readonly threadId: string;
  readonly #agentId: string | undefined;
  readonly #api: Api;
  readonly #tokens: TokenSource;
  readonly #connection: Connection;
  readonly #outbox: Outbox;
  readonly #talk = new Conversation();
  readonly #sequence = new Sequence();
  readonly #catchingUp: CatchingUp;
  readonly #history: History;
  readonly #outgoing: Outgoing;
  readonly #pageTools: PageTools;
  readonly #alternatives: Alternatives;
  readonly #people: People;
  readonly #ending = new AbortController();
  readonly #offer: Offer;
  readonly #known: Known;
  readonly #forgetUser: () => void;
  readonly #isNew: boolean;
  #stopOffering: (() => void) | null = null;
  #tabs: Tabs | null = null;
  #scope: string | null = null;
  #user: string | null = null;
  #isStopping = false;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #snapshot: ChatSnapshot | null = null;
  #isTelling = false;

  constructor(
    { threadId, agentId, isNew = false }: ChatOptions,
    { api, socketUrl, tokens, store, offer, known, forget }: Services,
  ) {
    super();
    this.threadId = threadId;
    this.#agentId = agentId;
    this.#isNew = isNew;
    this.#api = api;
    this.#tokens = tokens;
    this.#offer = offer;
    this.#known = known;
    this.#forgetUser = forget;
    this.#outbox = new Outbox(store, this.#ending.signal);
    this.#connection = new Connection(socketUrl, tokens, {
      opened: () => void this.#opened(),
      received: (frame) => this.#received(frame),
      changed: () => {
        this.#catchingUp.end(); // the next connection begins anew
        this.#changed();
      },
      tokenFailed: (error) => this.emit("tokenerror", error),
      refused: () => void this.#checkToken(),
      arrived: () => this.#outbox.arrived(),
      awaited: () => this.#awaited,
    });
    this.#catchingUp = new CatchingUp(
      () => this.#connection.send({ action: "resume", threadId, after: this.#sequence.lastSeq }),
      () => this.#connection.replace(),
    );
    const ended = this.#ending.signal;
    const common = { threadId, api, talk: this.#talk, ended, changed: () => this.#changed() };
    const failed = (error: BatonError) => this.emit("error", error);
    this.#alternatives = new Alternatives(common);
    this.#people = new People({
      ...common,
      agentId,
      connection: this.#connection,
      offer,
      posted: () => this.#isKnownNow(),
    });
    this.#history = new History({
      ...common,
      sequence: this.#sequence,
      known,
      loaded: () => void this.#alternatives.read(),
      resume: () => this.#resume(),
      failed,
    });
    this.#outgoing = new Outgoing({
      ...common,
      connection: this.#connection,
      outbox: this.#outbox,
      offer,
      posted: () => this.#isKnownNow(),
      refused: (messageId) => this.#tellRefused(messageId),
    });
    this.#pageTools = new PageTools({
      ...common,
      offer,
      store,
      scope: () => this.#scope,
      isAnswered: (id) => this.#outbox.has(`interrupt:${id}`),
      answer: (id, status, payload) => this.answer(id, status, payload),
      failed,
    });
  }

  get snapshot(): ChatSnapshot {
    this.#snapshot ??= this.#taken();
    return this.#snapshot;
  }

  /** Connects, and loads what was said. A chat that was disconnected stays so: make another one. */
  start(): void {
    if (this.#ending.signal.aborted) return;
    this.#tabs ??= new Tabs((news) => this.#toldByTab(news));
    this.#stopOffering ??= this.#offer.on("change", () => {
      this.#pageTools.look();
      this.#changed();
    });
    this.#connection.start();
    if (this.#isNew) void this.#history.begun();
    else if (this.#known.has(this.threadId)) void this.#history.load();
    else this.#history.probe();
  }

  /** Says something, and returns the message's id. Without a connection it is kept until there is one. */
  send(content: Content, { messageId = uuid(), whileBusy, overSpending = false }: SendOptions = {}): string {
    const agent = this.#history.isKnown || this.#agentId === undefined ? {} : { agentId: this.#agentId };
    const busy = whileBusy === undefined ? {} : { whileBusy };
    const spending = overSpending ? { overSpending } : {};
    const said = { messageId, content, ...agent, ...busy, ...spending };
    const frame: ClientFrame = { action: "message", threadId: this.threadId, ...said };
    this.#people.sent();
    this.#talk.say(messageId, content);
    this.#pageTools.markAsked(messageId);
    this.#outbox.add(messageId, frame);
    this.#outgoing.transmit(frame);
    this.#tellSaid(frame);
    this.#changed();
    return messageId;
  }

  /** Withdraws a message that waits while a run is in progress. Rejects if it is being answered. */
  async withdraw(messageId: string): Promise<void> {
    await this.#tellingErrors(this.#api.withdraw(this.threadId, messageId));
    if (this.#scope !== null) this.#tabs?.tell({ kind: "withdrawn", scope: this.#scope, messageId });
    this.#withdrawn(messageId);
    this.#changed();
  }

  #withdrawn(messageId: string): void {
    this.#outbox.done(messageId);
    this.#talk.drop(({ id }) => id === messageId);
  }

  /** Asks for another answer to a message of the user's. The one there is stays as an alternative. */
  regenerate(messageId: string): void {
    this.#pageTools.markAsked(messageId);
    this.#outgoing.branch({ branch: { from: messageId, regenerate: true } });
  }

  /** Replaces a message of the user's: the conversation goes on from there, in a branch of its own. */
  edit(messageId: string, content: Content): void {
    this.#pageTools.markAsked(this.#outgoing.branch({ content, branch: { from: messageId } }));
  }

  /** The alternatives that regenerating and editing have made. */
  async branches(): Promise<readonly Branch[]> {
    return await this.#alternatives.all();
  }

  /** Goes on in another branch; all who watch are told. */
  async selectBranch(branchId: string): Promise<void> {
    await this.#tellingErrors(this.#api.selectBranch(this.threadId, branchId));
  }

  /** Uploads what is too large for a message, and sends the text with the files. */
  async sendFiles(text: string, files: readonly File[], signal?: AbortSignal): Promise<string> {
    return this.send(await contentOf(this.#api, this.threadId, text, files, signal));
  }

  /** Says again what failed: under its id if it was refused, as a new message if its answer failed. */
  retry(item: MessageItem, { overSpending = false }: Pick<SendOptions, "overSpending"> = {}): void {
    const { failed } = item;
    if (!failed) return;
    const asked = this.#talk.find(failed.askedBy);
    if (asked?.role !== "user") return;
    if (failed.sameId) {
      this.send(asked.content, { messageId: asked.id, overSpending });
      return;
    }
    this.#talk.change(item.id, { failed: { ...failed, retryable: false, canContinue: false } });
    this.send(asked.content, { overSpending });
  }

  /** Answers what a run waits for. `payload` fits the interrupt's `responseSchema`. */
  answer(interruptId: string, status: "resolved" | "cancelled", payload?: unknown): void {
    const id = `interrupt:${interruptId}`;
    const data = payload === undefined ? {} : { payload };
    const frame: ClientFrame = { action: "answer", threadId: this.threadId, interruptId, status, ...data };
    this.#talk.change(id, { answer: status });
    this.#pageTools.markAsked(this.#talk.lastMessage("user")?.id ?? "");
    this.#outbox.add(id, frame);
    this.#connection.send(frame);
    this.#connection.ping();
    this.#changed();
  }

  /** Carries out here what the agent has called of the page's tools, although it was asked in another browser. */
  callHere(interruptId: string): void {
    this.#pageTools.callHere(interruptId);
  }

  /** Gives the conversation another name. */
  async rename(title: string): Promise<void> {
    this.#talk.title = (await this.#tellingErrors(this.#api.rename(this.threadId, title))).title ?? title;
    this.#changed();
  }

  /** Tells what the user thinks of an answer; `none` takes it back. */
  async feedback(messageId: string, rating: Rating, comment?: string): Promise<void> {
    const kept = this.#api.feedback(this.threadId, messageId, rating, comment);
    const { feedback } = await this.#tellingErrors(kept);
    this.#talk.change(messageId, { feedback } as Partial<MessageItem>);
    this.#changed();
  }

  /** Stops the answer: asked again over every new connection until it has arrived. */
  stop(): void {
    const { run } = this.#talk;
    if (!run) return;
    this.#isStopping = true;
    this.#outgoing.wish({ action: "cancel", runId: run.runId });
  }

  /** Leaves the specialist. */
  exit(): void {
    this.#outgoing.wish({ action: "exit" });
  }

  /** Asks for a person: at the main agent's first desk, unless another one is named. */
  async askForPerson(deskId?: string): Promise<void> {
    await this.#tellingErrors(this.#people.ask(deskId));
  }

  /** The user is writing: a person who answers is notified, every few seconds at most. */
  typed(): void {
    this.#connection.prepare();
    this.#people.typed();
  }

  /** Takes up an unfinished workflow here. */
  continue(workflowId: string): void {
    this.#pageTools.markAsked(this.#talk.lastMessage("user")?.id ?? "");
    this.#outgoing.wish({ action: "continue", workflowId });
  }

  /** Closes the conversation; a message reopens it. */
  closeConversation(): void {
    this.#outgoing.wish({ action: "close" });
  }

  /** Loads the page of messages before those that are there. */
  async loadOlder(): Promise<void> {
    await this.#history.loadOlder();
  }

  /** Reads the tasks in the background, and shows which of the agents that work on them have ended. */
  async background(): Promise<readonly BackgroundTask[]> {
    const { readTasks } = await import("./tasks.ts");
    const tasks = await readTasks(this.#api, this.threadId, this.#talk);
    this.#changed();
    return tasks;
  }

  /** Tries to connect now instead of waiting longer. */
  retryNow(): void {
    this.#connection.retryNow();
  }

  /** Whether a reader has the conversation before them; at first they have. Unseen and unused, it rests after minutes. */
  set isShown(isShown: boolean) {
    this.#connection.isShown = isShown;
  }

  get #awaited(): Awaited | null {
    if (this.#talk.run) return "run";
    if (this.#outbox.keys.length) return "reply";
    return this.#people.areAwaited ? "people" : null;
  }

  /** Ends the connection. What was not sent stays kept for the next time. */
  disconnect(): void {
    this.#ending.abort();
    this.#tabs?.close();
    this.#tabs = null;
    this.#stopOffering?.();
    clearTimeout(this.#silence);
    this.#catchingUp.end();
    this.#people.end();
    this.#connection.close();
    this.#outgoing.end();
  }

  // What comes

  async #opened(): Promise<void> {
    const identity = identityOf(await this.#tokens.get().catch(() => ""));
    if (this.#ending.signal.aborted) return;
    const user = `${identity.tenant}\n${identity.user}`;
    if (this.#user !== null && this.#user !== user) {
      this.disconnect();
      this.emit("userchange", { threadId: this.threadId });
      return;
    }
    const wasHere = this.#user !== null;
    if (this.#user === null) {
      this.#user = user;
      this.#takeUp(scopeOf(identity.tenant, identity.user, this.threadId));
    }
    this.#sequence.reconnected();
    this.#outgoing.again();
    if (this.#history.isProbing) this.#connection.send({ action: "resume", threadId: this.threadId, after: NEVER });
    if (this.#history.isLoaded && this.#history.isKnown) this.#resume();
    if (this.#history.isStuck) void this.#history.load();
    if (!wasHere) void this.#people.read();
    this.#changed();
  }

  /** A handshake that fails does not say why: a request does. */
  async #checkToken(): Promise<void> {
    try {
      await this.#api.request("/v1/agents", { timeout: CHECK_MS });
    } catch (error) {
      const refusal = error as BatonError;
      if (refusal.status !== 401 || !this.#connection.refuse()) return;
      this.emit("tokenerror", TokenError.refused(refusal));
    }
  }

  /** What this browser keeps of the conversation: what was said and not sent, by this page or by another one. */
  #takeUp(scope: string): void {
    this.#scope = scope;
    this.#pageTools.takeUp();
    const kept = this.#outbox.keepUnder(scope);
    for (const { frame } of kept) this.#showSaid(frame);
    for (const { key } of kept) this.#outgoing.inherit(key);
    this.#pageTools.look();
  }

  #showSaid({ action, branch, messageId, content }: ClientFrame): void {
    if (action === "message" && branch === undefined) this.#talk.say(String(messageId), content as Content);
  }

  #tellSaid(frame: ClientFrame): void {
    if (this.#scope !== null && fits(frame)) this.#tabs?.tell({ kind: "said", scope: this.#scope, frame });
  }

  #toldByTab(news: News): void {
    if (news.kind === "logout") {
      this.disconnect();
      this.#scope = null;
      this.#outbox.forget();
      this.#forgetUser();
      this.emit("logout", null);
      return;
    }
    if (news.kind === "deleted") {
      if (news.threadId !== this.threadId && news.threadId !== this.#history.canonicalId) return;
      this.disconnect();
      for (const key of this.#outbox.keys) this.#outbox.done(key);
      this.emit("deleted", { threadId: this.threadId });
      return;
    }
    if (this.#scope === null || news.scope !== this.#scope) return;
    if (news.kind === "begun") {
      if (this.#history.isKnown) return;
      this.#isKnownNow();
    } else if (news.kind === "withdrawn") {
      this.#withdrawn(news.messageId);
    } else if (news.kind === "refused") {
      const { messageId, failed } = news;
      if (this.#talk.find(messageId)?.role !== "user") return;
      this.#talk.change(messageId, { failed, delivery: undefined } as unknown as Partial<Item>);
    } else {
      const id = String(news.frame.messageId);
      const known = this.#talk.find(id);
      if (known && !("failed" in known && known.failed)) return; // its run was heard of first
      this.#showSaid(news.frame);
      this.#outgoing.inherit(id);
    }
    this.#changed();
  }

  /** The server has the conversation, of which no event was heard here yet. */
  #isKnownNow(): void {
    this.#history.isKnown = true;
    if (this.#history.isLoaded) this.#resume();
  }

  #resume(): void {
    if (this.#connection.isOpen) this.#catchingUp.begin();
  }

  #received(frame: BatonEvent | PartFrame): void {
    const about = (frame.metadata ?? {}) as NonNullable<BatonEvent["metadata"]>;
    const { name, value } = frame as { name?: string; value?: unknown };
    if (name === "thread_updated") return this.emit("thread", value as ThreadUpdate);
    if (about.threadId && this.#history.canonicalId !== null && about.threadId !== this.#history.canonicalId) return;
    this.#watchForSilence();
    const isWish = about.messageId !== undefined && this.#outbox.get(about.messageId)?.branch !== undefined;
    if (frame.type === "RUN_ERROR" && about.action === "message" && this.#outgoing.goesWithoutZone(frame as Refusal))
      return;
    // Only the run itself, or a refusal, ends the waiting: an accepted message may still need its thread attached.
    if (about.messageId && (frame.type === "RUN_STARTED" || about.action)) this.#outbox.done(about.messageId);
    if (frame.type === "RUN_ERROR" && about.action && (about.action !== "message" || isWish)) {
      this.#refused(frame as Extract<KnownEvent, { type: "RUN_ERROR" }>, about.action);
      return;
    }
    if (about.threadId && (frame.type === "RUN_STARTED" || about.resume)) this.#history.canonicalId = about.threadId;
    // A conversation that begins now has nothing to load, however long the answer to that takes.
    if (frame.type === "RUN_STARTED" && about.seq === 1) this.#history.isLoaded = true;
    if (!this.#history.isLoaded && (about.seq !== undefined || frame.type === "PART")) {
      this.#history.missedEvents = true; // it comes again once the stored messages are there
      return;
    }
    if (about.resume) {
      this.#sequence.promise(about.resume.lastSeq);
      this.#history.newsFrom = Math.max(this.#history.newsFrom, about.resume.lastSeq);
    }
    const { events, isGap } = this.#sequence.take(frame);
    for (const event of events) this.#apply(event);
    if (about.resume) this.#dropSettled(about.resume.interrupts ?? []);
    this.#pageTools.look();
    if (frame.type === "RUN_ERROR" && about.messageId) this.#tellRefused(about.messageId);
    if (this.#talk.isCut) void this.#history.readAgain();
    this.#catchingUp.heard(this.#sequence.isComplete);
    if (isGap) this.#resume();
    this.#changed();
  }

  #apply(event: BatonEvent): void {
    this.#talk.apply(event);
    if (event.type === "RUN_STARTED") {
      if (!this.#history.isKnown && this.#scope !== null) this.#tabs?.tell({ kind: "begun", scope: this.#scope });
      this.#history.isKnown = true;
      this.#known.add(this.threadId);
    }
    const custom = event as Extract<KnownEvent, { type: "CUSTOM" }>;
    if (custom.type === "CUSTOM" && custom.name === "message_steered")
      this.#outbox.done(String(custom.value.messageId));
    if (this.#talk.run === null) this.#isStopping = false;
    for (const item of this.#talk.items) {
      if (item.role === "interrupt" && item.settled && this.#outbox.has(item.id)) this.#outbox.done(item.id);
    }
    this.#people.heard(event);
    this.emit("event", event);
    this.#alternatives.heard(event);
    const { seq } = event.metadata ?? {};
    if (seq === undefined || seq <= this.#history.newsFrom) return;
    const known = event as KnownEvent;
    for (const text of sentencesOf(known)) this.emit("activity", { text });
    if (known.type === "TEXT_MESSAGE_END") {
      const item = this.#talk.find(known.messageId);
      if (item?.role === "assistant") this.emit("message", item);
    } else if (known.type === "RUN_FINISHED") {
      if (this.#hasUploads(known.runId)) void this.#history.readAgain(); // with where they can be downloaded
      for (const { id } of known.outcome?.interrupts ?? []) {
        const item = this.#talk.find(`interrupt:${id}`);
        if (item?.role === "interrupt") this.emit("interrupt", item);
      }
    }
  }

  #hasUploads(runId: string): boolean {
    const isUpload = ({ source }: FilePart) => source?.type === "file";
    return this.#talk.items.some(
      (item) => item.role === "assistant" && item.runId === runId && item.attachments?.some(isUpload),
    );
  }

  /** Answers that are kept, of what nobody waits for any more. */
  #dropSettled(waiting: readonly { readonly id: string }[]): void {
    for (const { action, interruptId } of this.#outbox.frames) {
      const isOpen = action !== "answer" || waiting.some(({ id }) => id === interruptId);
      if (!isOpen) this.#outbox.done(`interrupt:${interruptId}`);
    }
  }

  #tellRefused(messageId: string): void {
    const item = this.#talk.find(messageId);
    if (this.#scope === null || item?.role !== "user" || !item.failed?.sameId) return;
    this.#tabs?.tell({ kind: "refused", scope: this.#scope, messageId, failed: item.failed });
  }

  #refused(event: Extract<KnownEvent, { type: "RUN_ERROR" }>, action: string): void {
    this.#outbox.done(action);
    if (action === "typing") return; // nobody misses it
    if (action === "resume" && this.#history.isProbing) {
      this.#history.isProbing = false;
      if (event.code === "thread_unavailable") void this.#history.begun();
      else void this.#history.load();
      return;
    }
    const error = new BatonError(event.message, {
      code: event.code ?? "refused",
      retryable: event.metadata?.retryable === true,
      retryAfter: event.metadata?.retryAfter,
      resetsAt: event.metadata?.resetsAt,
      canContinue: event.metadata?.canContinue === true,
    });
    if (action === "cancel") this.#isStopping = false;
    if (action === "resume") {
      this.#catchingUp.end();
      // The log is written every second or two, so it may be a moment behind what was seen here.
      if (event.code === "invalid_sequence" || error.retryable) setTimeout(() => this.#resume(), 1500);
      else this.#history.forgotten();
      return;
    }
    if (action === "answer") this.#answerRefused(event, error.retryable);
    this.emit("error", error);
    this.#changed();
  }

  /** What was answered is asked again. The result of a tool is sent again, or the agent is told why it was refused. */
  #answerRefused({ code, message: reason }: { code?: string; message: string }, isRetryable: boolean): void {
    for (const item of this.#talk.interrupts) {
      if (item.answer === null) continue;
      const frame = this.#outbox.get(item.id);
      if (isClientCall(item) && isRetryable && frame) {
        setTimeout(() => this.#connection.send(frame), LOAD_AGAIN_MS);
        continue;
      }
      this.#outbox.done(item.id);
      if (!isClientCall(item)) this.#talk.change(item.id, { answer: null });
      else if (code === "interrupt_unavailable" || item.answer === "cancelled")
        this.#talk.change(item.id, { settled: true });
      else this.answer(item.interrupt.id, "cancelled", { reason });
    }
    this.#pageTools.look();
  }

  /**
   * Of a run whose worker has died nothing is heard, although the connection lives: asking has it taken over. A message
   * whose run is not heard of is sent again, under its id.
   */
  #watchForSilence(): void {
    clearTimeout(this.#silence);
    if (this.#ending.signal.aborted) return;
    this.#silence = setTimeout(() => {
      if (this.#talk.run && this.#history.isKnown) this.#resume();
      else this.#outgoing.nudge();
      this.#watchForSilence();
    }, SILENCE_MS);
  }

  async #tellingErrors<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      this.emit("error", error as BatonError);
      throw error;
    }
  }

  #changed(): void {
    this.#snapshot = null;
    if (this.#isTelling) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      this.emit("change", this.snapshot);
    });
  }

  #taken(): ChatSnapshot {
    const { title, items, state, run, offers, isWaiting, closedBecause } = this.#talk;
    return {
      threadId: this.threadId,
      canonicalId: this.#history.canonicalId,
      title,
      items,
      state,
      agent: state?.activeAgent ?? null,
      main: this.#people.main,
      desk: state?.desk ?? null,
      deskOpensAt: this.#people.opensAt,
      desks: this.#people.desks,
      typing: this.#people.typing,
      workflow: state?.workflow ?? null,
      offers,
      run,
      isWaiting,
      isStopping: this.#isStopping,
      isClosed: state?.status === "closed",
      closedBecause,
      connection: this.#connection.state,
      isLoaded: this.#history.isLoaded,
      isKnown: this.#history.isKnown,
      hasOlder: this.#history.hasOlder,
      isLoadingOlder: this.#history.isLoadingOlder,
      branches: this.#alternatives.shown,
    };
  }
}

export const scopeOf = (...names: string[]): string => names.map((name) => encodeURIComponent(name)).join(":");
