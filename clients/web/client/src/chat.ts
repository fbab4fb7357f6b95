import type { Api } from "./api.ts";
import type { ClientCalls } from "./calls.ts";
import { CatchingUp } from "./catching-up.ts";
import { uuid } from "./clock.ts";
import { Connection, type ConnectionState } from "./connection.ts";
import { Conversation, type Run } from "./conversation.ts";
import { Emitter } from "./emitter.ts";
import { BatonError, NetworkError, type TokenError } from "./errors.ts";
import { contentOf } from "./files.ts";
import { type InterruptItem, type Item, isClientCall, type MessageItem } from "./items.ts";
import type { Offer } from "./offer.ts";
import { fits, Outbox } from "./outbox.ts";
import { Sequence } from "./sequence.ts";
import type { SafeStore } from "./storage.ts";
import { canExclude, type News, Tabs } from "./tabs.ts";
import { identityOf, type TokenSource } from "./token.ts";
import type {
  Agent,
  BatonEvent,
  Branch,
  ClientFrame,
  Content,
  KnownEvent,
  PartFrame,
  Rating,
  ThreadState,
  Workflow,
} from "./wire.ts";

const SILENCE_MS = 15_000;
const LOAD_AGAIN_MS = 2_000;
const PAGE_SIZE = 50;
/** Events that are told again when a conversation is opened: they have what messages lack. */
const RECENT_EVENTS = 300;
/** A number that no conversation has reached: asking for what follows it tells whether there is one. */
const NEVER = 10 ** 12;
const PROBE_MS = 3_000;
const ASKED = "baton:asked:";

/** Everything there is to show of a conversation at one moment. Parts that did not change are the same objects. */
export interface ChatSnapshot {
  readonly threadId: string;
  /** The id that the server gives it, once that is known: not your own one. */
  readonly canonicalId: string | null;
  /** What the conversation is called, once it has a name. */
  readonly title: string | null;
  readonly items: readonly Item[];
  readonly state: ThreadState | null;
  readonly agent: Agent | null;
  readonly workflow: Workflow | null;
  /** Unfinished workflows that can be continued. */
  readonly offers: readonly Workflow[];
  readonly run: Run | null;
  /** An answer is awaited of which nothing shows yet. */
  readonly isWaiting: boolean;
  /** The answer is being stopped. */
  readonly isStopping: boolean;
  readonly isClosed: boolean;
  readonly closedBecause: string | null;
  readonly connection: ConnectionState;
  /** The stored messages are there, as far as they were asked for. */
  readonly isLoaded: boolean;
  /** The server has this conversation. */
  readonly isKnown: boolean;
  readonly hasOlder: boolean;
  readonly isLoadingOlder: boolean;
  /** The alternatives that regenerating and editing have made, as far as they were read. */
  readonly branches: readonly Branch[];
}

export interface ChatEvents {
  /** Something to show has changed; at most once in a task. */
  change: ChatSnapshot;
  /** Every event of the conversation once, in order. */
  event: BatonEvent;
  /** An answer is complete; not those of before. */
  message: MessageItem;
  /** A run waits for somebody; not those of before. */
  interrupt: InterruptItem;
  /** What happens while an answer is awaited, in a sentence: agents are asked, another one takes over, a run failed. */
  activity: { readonly text: string };
  /** A request was refused, or failed. */
  error: BatonError;
  /** The token callback failed; it is called again. */
  tokenerror: TokenError;
  /** The token speaks for somebody else than before: the chat has closed itself. */
  userchange: { readonly threadId: string };
  /** The user has signed out, here or in another tab: the chat has closed itself. */
  logout: null;
  /** The conversation was deleted, here or in another tab. */
  deleted: { readonly threadId: string };
}

export interface ChatOptions {
  readonly threadId: string;
  /** The main agent of a conversation that has not begun. */
  readonly agentId?: string;
  /** Nothing can have been said in it yet. */
  readonly isNew?: boolean;
}

/** What is known of conversations before they are asked for. */
export interface Known {
  has(threadId: string): boolean;
  add(threadId: string): void;
  remove(threadId: string): void;
}

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
  readonly #posting = new Map<string, AbortController>();
  readonly #ending = new AbortController();
  readonly #offer: Offer;
  #calls: ClientCalls | null = null;
  readonly #store: SafeStore;
  readonly #known: Known;
  readonly #forgetUser: () => void;
  readonly #isNew: boolean;
  #stopOffering: (() => void) | null = null;
  #tabs: Tabs | null = null;
  #scope: string | null = null;
  /** The message of this browser's that was said last in the conversation; `null`: another one's. */
  #asked: string | null = null;
  #isProbing = false;
  #user: string | null = null;
  #canonicalId: string | null = null;
  #cursor: string | null = null;
  #isLoaded = false;
  #isKnown = false;
  #missedEvents = false;
  #isLoadingOlder = false;
  #isStopping = false;
  #branches: readonly Branch[] = [];
  #branchingRunId: string | null = null;
  #newsFrom = 0;
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
    this.#store = store;
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
      arrived: () => this.#outbox.arrived(),
      isRunning: () => this.#talk.run !== null,
    });
    this.#catchingUp = new CatchingUp(
      () => this.#connection.send({ action: "resume", threadId, after: this.#sequence.lastSeq }),
      () => this.#connection.replace(),
    );
  }

  get snapshot(): ChatSnapshot {
    this.#snapshot ??= this.#taken();
    return this.#snapshot;
  }

  /** Connects, and loads what was said. */
  start(): void {
    this.#tabs ??= new Tabs((news) => this.#toldByTab(news));
    this.#stopOffering ??= this.#offer.on("change", () => {
      this.#lookForCalls();
      this.#changed();
    });
    this.#connection.start();
    if (this.#isNew) void this.#begun();
    else if (this.#known.has(this.threadId)) void this.#load();
    else this.#probe();
  }

  /** Says something, and returns the message's id. Without a connection it is kept until there is one. */
  send(content: Content, { messageId = uuid() }: { messageId?: string } = {}): string {
    const agent = this.#isKnown || this.#agentId === undefined ? {} : { agentId: this.#agentId };
    const frame: ClientFrame = { action: "message", threadId: this.threadId, messageId, content, ...agent };
    this.#talk.say(messageId, content);
    this.#markAsked(messageId);
    this.#outbox.add(messageId, frame);
    this.#transmit(frame);
    this.#tellSaid(frame);
    this.#changed();
    return messageId;
  }

  /** Asks for another answer to a message of the user's. The one there is stays as an alternative. */
  regenerate(messageId: string): void {
    this.#markAsked(messageId);
    this.#branch({ branch: { from: messageId, regenerate: true } });
  }

  /** Replaces a message of the user's: the conversation goes on from there, in a branch of its own. */
  edit(messageId: string, content: Content): void {
    this.#branch({ content, branch: { from: messageId } });
  }

  /** The alternatives that regenerating and editing have made. */
  async branches(): Promise<readonly Branch[]> {
    return (await this.#api.branches(this.threadId)).items;
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
  retry(item: MessageItem): void {
    const { failed } = item;
    if (!failed) return;
    const asked = this.#talk.find(failed.askedBy);
    if (asked?.role !== "user") return;
    if (failed.sameId) {
      this.send(asked.content, { messageId: asked.id });
      return;
    }
    this.#talk.change(item.id, { failed: { ...failed, retryable: false } });
    this.send(asked.content);
  }

  /** Answers what a run waits for. `payload` fits the interrupt's `responseSchema`. */
  answer(interruptId: string, status: "resolved" | "cancelled", payload?: unknown): void {
    const id = `interrupt:${interruptId}`;
    const data = payload === undefined ? {} : { payload };
    const frame: ClientFrame = { action: "answer", threadId: this.threadId, interruptId, status, ...data };
    this.#talk.change(id, { answer: status });
    this.#markAsked(this.#talk.lastMessage("user")?.id ?? "");
    this.#outbox.add(id, frame);
    this.#connection.send(frame);
    this.#connection.ping();
    this.#changed();
  }

  /** Carries out here what the agent has called of the page's tools, although it was asked in another browser. */
  callHere(interruptId: string): void {
    this.#calls?.begin(interruptId);
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
    this.#wish({ action: "cancel", runId: run.runId });
  }

  /** Leaves the specialist. */
  exit(): void {
    this.#wish({ action: "exit" });
  }

  /** Takes up an unfinished workflow here. */
  continue(workflowId: string): void {
    this.#markAsked(this.#talk.lastMessage("user")?.id ?? "");
    this.#wish({ action: "continue", workflowId });
  }

  /** Closes the conversation; a message reopens it. */
  closeConversation(): void {
    this.#wish({ action: "close" });
  }

  /** Loads the page of messages before those that are there. */
  async loadOlder(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === null || this.#isLoadingOlder) return;
    this.#isLoadingOlder = true;
    this.#changed();
    try {
      const page = await this.#api.messages(this.threadId, { limit: PAGE_SIZE, cursor });
      this.#talk.merge(page.items);
      this.#cursor = page.nextCursor;
    } catch (error) {
      if (!this.#ending.signal.aborted) this.emit("error", error as BatonError);
    } finally {
      this.#isLoadingOlder = false;
      this.#changed();
    }
  }

  /** Tries to connect now instead of waiting longer. */
  retryNow(): void {
    this.#connection.retryNow();
  }

  /** Ends the connection. What was not sent stays kept for the next time. */
  disconnect(): void {
    this.#ending.abort();
    this.#tabs?.close();
    this.#tabs = null;
    this.#stopOffering?.();
    clearTimeout(this.#silence);
    this.#catchingUp.end();
    this.#connection.close();
    for (const posting of this.#posting.values()) posting.abort();
  }

  // What comes

  async #opened(): Promise<void> {
    const identity = identityOf(await this.#tokens.get().catch(() => ""));
    const user = `${identity.tenant}\n${identity.user}`;
    if (this.#user !== null && this.#user !== user) {
      this.disconnect();
      this.emit("userchange", { threadId: this.threadId });
      return;
    }
    if (this.#user === null) {
      this.#user = user;
      this.#takeUp(scopeOf(identity.tenant, identity.user, this.threadId));
    }
    this.#sequence.reconnected();
    for (const frame of this.#outbox.frames) this.#transmit(frame); // same id: never a second turn
    if (this.#isProbing) this.#connection.send({ action: "resume", threadId: this.threadId, after: NEVER });
    if (this.#isLoaded && this.#isKnown) this.#resume();
    this.#changed();
  }

  /** What this browser keeps of the conversation: what was said and not sent, by this page or by another one. */
  #takeUp(scope: string): void {
    this.#scope = scope;
    if (this.#asked !== null) this.#markAsked(this.#asked);
    const kept = this.#outbox.keepUnder(scope);
    for (const { frame } of kept) this.#showSaid(frame);
    for (const { key } of kept) this.#inherit(key);
    this.#lookForCalls();
  }

  #inherit(key: string): void {
    this.#outbox.inherit(key, (frame) => {
      if (frame.action === "answer") {
        this.#talk.change(key, { answer: frame.status } as Partial<Item>);
        this.#connection.send(frame);
      } else this.#transmit(frame);
      this.#changed();
    });
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
      if (news.threadId !== this.threadId && news.threadId !== this.#canonicalId) return;
      this.disconnect();
      this.emit("deleted", { threadId: this.threadId });
      return;
    }
    if (this.#scope === null || news.scope !== this.#scope) return;
    if (news.kind === "begun") {
      if (this.#isKnown) return;
      this.#isKnown = true;
      if (this.#isLoaded) this.#resume();
    } else if (news.kind === "refused") {
      const { messageId, failed } = news;
      this.#talk.change(messageId, { failed, delivery: undefined } as unknown as Partial<Item>);
    } else {
      const id = String(news.frame.messageId);
      const known = this.#talk.find(id);
      if (known && !("failed" in known && known.failed)) return; // its run was heard of first
      this.#showSaid(news.frame);
      this.#inherit(id);
    }
    this.#changed();
  }

  /** What carries calls out is loaded when there is one. */
  #lookForCalls(): void {
    if (this.#calls) this.#calls.look();
    else if (this.#talk.interrupts.some(isClientCall)) void this.#loadCalls().catch(() => {}); // the next event tries again
  }

  async #loadCalls(): Promise<void> {
    const { ClientCalls } = await import("./calls.ts");
    this.#calls ??= new ClientCalls({
      threadId: this.threadId,
      talk: this.#talk,
      offer: this.#offer,
      store: this.#store,
      ended: this.#ending.signal,
      scope: () => this.#scope,
      isAskedHere: () => this.#isAskedHere(),
      isWaitedFor: (id) => this.#isWaitedFor(id),
      isAnswered: (id) => this.#outbox.has(`interrupt:${id}`),
      answer: (id, status, payload) => this.answer(id, status, payload),
      failed: (error) => this.emit("error", error),
      changed: () => this.#changed(),
    });
    this.#calls.look();
  }

  #markAsked(messageId: string): void {
    this.#asked = messageId;
    if (this.#scope !== null) this.#store.set(ASKED + this.#scope, messageId);
  }

  /** Tools run where they were asked for: another device that shows the conversation waits. */
  #isAskedHere(): boolean {
    const last = this.#talk.lastMessage("user")?.id ?? "";
    if (this.#asked === last) return true;
    return canExclude() && this.#scope !== null && this.#store.get(ASKED + this.#scope) === last;
  }

  async #isWaitedFor(interruptId: string): Promise<boolean> {
    while (!this.#ending.signal.aborted) {
      try {
        const { interrupts = [] } = await this.#api.thread(this.threadId);
        return interrupts.some(({ id }) => id === interruptId);
      } catch (error) {
        if (error instanceof BatonError && !error.retryable) return false;
        await new Promise((resolve) => setTimeout(resolve, LOAD_AGAIN_MS));
      }
    }
    return false;
  }

  #resume(): void {
    if (this.#connection.isOpen) this.#catchingUp.begin();
  }

  #received(frame: BatonEvent | PartFrame): void {
    const about = (frame.metadata ?? {}) as NonNullable<BatonEvent["metadata"]>;
    if (about.threadId && this.#canonicalId !== null && about.threadId !== this.#canonicalId) return;
    this.#watchForSilence();
    const isWish = about.messageId !== undefined && this.#outbox.get(about.messageId)?.branch !== undefined;
    // Only the run itself, or a refusal, ends the waiting: an accepted message may still need its thread attached.
    if (about.messageId && (frame.type === "RUN_STARTED" || about.action)) this.#outbox.done(about.messageId);
    if (frame.type === "RUN_ERROR" && about.action && (about.action !== "message" || isWish)) {
      this.#refused(frame as Extract<KnownEvent, { type: "RUN_ERROR" }>, about.action);
      return;
    }
    if (about.threadId && frame.type === "RUN_STARTED") this.#canonicalId = about.threadId;
    // A conversation that begins now has nothing to load, however long the answer to that takes.
    if (frame.type === "RUN_STARTED" && about.seq === 1) this.#isLoaded = true;
    if (!this.#isLoaded && (about.seq !== undefined || frame.type === "PART")) {
      this.#missedEvents = true; // it comes again once the stored messages are there
      return;
    }
    if (about.resume) {
      this.#sequence.promise(about.resume.lastSeq);
      this.#newsFrom = Math.max(this.#newsFrom, about.resume.lastSeq);
    }
    const { events, isGap } = this.#sequence.take(frame);
    for (const event of events) this.#apply(event);
    if (about.resume) this.#dropSettled(about.resume.interrupts ?? []);
    this.#lookForCalls();
    if (frame.type === "RUN_ERROR" && about.messageId) this.#tellRefused(about.messageId);
    if (this.#talk.isCut) void this.#readAgain();
    this.#catchingUp.heard(this.#sequence.isComplete);
    if (isGap) this.#resume();
    this.#changed();
  }

  #apply(event: BatonEvent): void {
    this.#talk.apply(event);
    if (event.type === "RUN_STARTED") {
      if (!this.#isKnown && this.#scope !== null) this.#tabs?.tell({ kind: "begun", scope: this.#scope });
      this.#isKnown = true;
      this.#known.add(this.threadId);
    }
    if (this.#talk.run === null) this.#isStopping = false;
    for (const item of this.#talk.items) {
      if (item.role === "interrupt" && item.settled && this.#outbox.has(item.id)) this.#outbox.done(item.id);
    }
    this.emit("event", event);
    if (this.#hasBranched(event as KnownEvent)) void this.#readBranches();
    const { seq } = event.metadata ?? {};
    if (seq === undefined || seq <= this.#newsFrom) return;
    const known = event as KnownEvent;
    for (const text of sentencesOf(known)) this.emit("activity", { text });
    if (known.type === "TEXT_MESSAGE_END") {
      const item = this.#talk.find(known.messageId);
      if (item?.role === "assistant") this.emit("message", item);
    } else if (known.type === "RUN_FINISHED") {
      for (const { id } of known.outcome?.interrupts ?? []) {
        const item = this.#talk.find(`interrupt:${id}`);
        if (item?.role === "interrupt") this.emit("interrupt", item);
      }
    }
  }

  /** Whether the alternatives are others now; not by events of before, which were told when they were read. */
  #hasBranched(event: KnownEvent): boolean {
    if (this.#talk.isOver(event.metadata ?? {})) return false;
    if (event.type === "RUN_STARTED" && event.metadata?.branch) this.#branchingRunId = event.runId;
    // The list has a branch once its first messages are stored.
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
      return this.#branchingRunId !== null && event.metadata?.runId === this.#branchingRunId;
    }
    return event.type === "CUSTOM" && event.name === "branch_selected";
  }

  /** Alternatives that cannot be read are not offered: the conversation shows without them. */
  async #readBranches(): Promise<void> {
    const branches = await this.branches().catch(() => null);
    if (!branches || this.#ending.signal.aborted) return;
    this.#branches = branches;
    this.#changed();
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
    if (action === "resume" && this.#isProbing) {
      this.#isProbing = false;
      if (event.code === "thread_unavailable") void this.#begun();
      else void this.#load();
      return;
    }
    const error = new BatonError(event.message, {
      code: event.code ?? "refused",
      retryable: event.metadata?.retryable === true,
    });
    if (action === "cancel") this.#isStopping = false;
    if (action === "resume") {
      this.#catchingUp.end();
      // The log is written about once a second, so it may be a moment behind what was seen here.
      if (event.code === "invalid_sequence" || error.retryable) setTimeout(() => this.#resume(), 1500);
      else this.#forgotten();
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
    this.#lookForCalls();
  }

  /** The server has forgotten this conversation: it will count from the beginning. */
  #forgotten(): void {
    this.#sequence.startAfter(0);
    this.#isKnown = false;
    this.#isLoaded = false;
    void this.#begun();
  }

  /**
   * Of a run whose worker has died nothing is heard, although the connection lives: asking has it taken over. A message
   * whose run is not heard of is sent again, under its id.
   */
  #watchForSilence(): void {
    clearTimeout(this.#silence);
    if (this.#ending.signal.aborted) return;
    this.#silence = setTimeout(() => {
      if (this.#talk.run && this.#isKnown) this.#resume();
      else for (const frame of this.#outbox.frames.map(this.#withOffer)) if (fits(frame)) this.#connection.send(frame);
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

  // What goes

  /** The wish has an id, new for each press of the button, so that a repeat is no second wish. */
  #branch(fields: { content?: Content; branch: { from: string; regenerate?: boolean } }): void {
    const messageId = uuid();
    const frame: ClientFrame = { action: "message", threadId: this.threadId, messageId, ...fields };
    this.#outbox.add(messageId, frame);
    this.#transmit(frame);
    this.#changed();
  }

  #transmit(frame: ClientFrame): void {
    const whole = this.#withOffer(frame);
    if (fits(whole)) this.#connection.send(whole);
    else void this.#post(whole);
  }

  /** What the page offers is told as it is when the message goes. */
  readonly #withOffer = (frame: ClientFrame): ClientFrame =>
    frame.action === "message" ? { ...frame, ...this.#offer.fields() } : frame;

  /** Sends a message that no frame can hold. Its answer comes when the turn has ended. */
  async #post(frame: ClientFrame): Promise<void> {
    const messageId = String(frame.messageId);
    this.#posting.get(messageId)?.abort();
    const request = new AbortController();
    this.#posting.set(messageId, request);
    try {
      await this.#api.run(inputOf(frame), request.signal);
      this.#outbox.done(messageId);
      this.#isKnown = true;
      if (this.#isLoaded) this.#resume();
    } catch (error) {
      if (request.signal.aborted || (error instanceof NetworkError && !this.#connection.isOpen)) return; // it is posted again
      this.#outbox.done(messageId);
      const { message: text, retryable, status, code } = error as BatonError;
      const failed = { text, code, retryable, sameId: status !== 502, askedBy: messageId };
      this.#talk.change(messageId, { failed });
      this.#tellRefused(messageId);
    }
    this.#changed();
  }

  /** Sends a wish that the conversation's events will answer. */
  #wish(fields: ClientFrame): void {
    const frame = { threadId: this.threadId, ...fields };
    this.#outbox.wish(frame);
    this.#connection.send(frame);
    this.#connection.ping();
    this.#changed();
  }

  // What was said before

  /** Finds out over the connection whether there is something to load. */
  #probe(): void {
    this.#isProbing = true;
    setTimeout(() => {
      if (!this.#isProbing) return;
      this.#isProbing = false; // there is no connection, or it is slow
      if (!this.#isLoaded) void this.#load();
    }, PROBE_MS);
  }

  /** Nothing was said yet. */
  async #begun(): Promise<void> {
    this.#known.remove(this.threadId);
    this.#talk.drop((item) => item.ordinal !== undefined);
    await this.#offerUnfinished();
    this.#loaded();
  }

  async #load(): Promise<void> {
    const { signal } = this.#ending;
    if (signal.aborted) return;
    try {
      const [thread, page] = await Promise.all([
        this.#api.thread(this.threadId),
        this.#api.messages(this.threadId, { limit: PAGE_SIZE }),
      ]);
      if (this.#isLoaded) return;
      this.#canonicalId = thread.id;
      this.#talk.merge(page.items);
      this.#talk.title = thread.title ?? null;
      this.#talk.state = thread.state ?? this.#talk.state;
      this.#talk.historySeq = thread.lastSeq;
      this.#talk.openRunId = thread.run?.runId ?? null;
      if (thread.run?.status === "running")
        this.#talk.run = { runId: thread.run.runId, messageId: thread.run.messageId };
      this.#cursor = page.nextCursor;
      this.#newsFrom = Math.max(this.#newsFrom, thread.lastSeq);
      // A run under way is no message yet: it is told from its beginning.
      this.#sequence.startAfter(Math.max(0, Math.min(thread.lastSeq, page.lastSeq) - RECENT_EVENTS));
      this.#isKnown = true;
      this.#known.add(this.threadId);
      void this.#readBranches();
    } catch (error) {
      if (signal.aborted || this.#isLoaded) return;
      if (!(error instanceof BatonError) || error.status !== 404) {
        const isRefused =
          error instanceof BatonError && error.status !== undefined && !error.retryable && error.status !== 401;
        if (isRefused) this.emit("error", error);
        else setTimeout(() => void this.#load(), LOAD_AGAIN_MS);
        return;
      }
      return await this.#begun();
    }
    this.#loaded();
  }

  #loaded(): void {
    if (this.#ending.signal.aborted || this.#isLoaded) return;
    this.#isLoaded = true;
    this.#isProbing = false;
    if (this.#isKnown || this.#missedEvents) this.#resume();
    this.#changed();
  }

  /** The conversation goes on in another branch: its newest messages take the place of those that were shown. */
  async #readAgain(): Promise<void> {
    this.#talk.isCut = false;
    try {
      const page = await this.#api.messages(this.threadId, { limit: PAGE_SIZE });
      this.#talk.merge(page.items);
      this.#cursor = page.nextCursor;
    } catch {
      if (!this.#ending.signal.aborted) setTimeout(() => void this.#readAgain(), LOAD_AGAIN_MS);
    }
    this.#changed();
  }

  /** What was left unfinished elsewhere can go on in a conversation that has not begun. */
  async #offerUnfinished(): Promise<void> {
    const { items } = await this.#api.workflows().catch(() => ({ items: [] }));
    this.#talk.unfinished = items;
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
      canonicalId: this.#canonicalId,
      title,
      items,
      state,
      agent: state?.activeAgent ?? null,
      workflow: state?.workflow ?? null,
      offers,
      run,
      isWaiting,
      isStopping: this.#isStopping,
      isClosed: state?.status === "closed",
      closedBecause,
      connection: this.#connection.state,
      isLoaded: this.#isLoaded,
      isKnown: this.#isKnown,
      hasOlder: this.#cursor !== null,
      isLoadingOlder: this.#isLoadingOlder,
      branches: this.#branches,
    };
  }
}

/** A message as AG-UI's run input. The connection tells how it is answered, so the run goes on without this request. */
function inputOf({ threadId, messageId, content, agentId, branch, tools = [], context = [] }: ClientFrame): object {
  const isRegenerated = content === undefined;
  const id = String(messageId);
  return {
    threadId,
    runId: uuid(),
    messages: isRegenerated ? [] : [{ id, role: "user", content }],
    tools,
    context,
    state: {},
    forwardedProps: {
      onDisconnect: "continue",
      ...(agentId !== undefined && { agentId }),
      ...(branch !== undefined && { branch: isRegenerated ? { ...(branch as object), messageId: id } : branch }),
    },
    protocolVersion: "1.0",
  };
}

/** What an event says in the server's words that no message does. */
function sentencesOf(event: KnownEvent): string[] {
  if (event.type === "RUN_ERROR") return [event.message];
  if (event.type === "ACTIVITY_SNAPSHOT") return event.content?.label ? [event.content.label] : [];
  if (event.type !== "ACTIVITY_DELTA") return [];
  const told = (event.patch ?? []).filter(({ path }) => path === "/label" || path === "/notice");
  return told.flatMap(({ value }) => (typeof value === "string" && value ? [value] : []));
}

export const scopeOf = (...names: string[]): string => names.map((name) => encodeURIComponent(name)).join(":");
