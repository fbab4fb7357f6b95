import { AWAY_SECONDS, seconds } from "./clock.ts";
import type { TokenError } from "./errors.ts";
import { REFUSED_SECONDS, type TokenSource } from "./token.ts";
import { Upkeep } from "./upkeep.ts";
import type { BatonEvent, ClientFrame, PartFrame } from "./wire.ts";

/** How the connection is. `retryAt` is in milliseconds of `performance.now()`, for a countdown. */
export type ConnectionState =
  | { readonly status: "idle" }
  | { readonly status: "connecting"; readonly attempt: number }
  | { readonly status: "open" }
  | {
      readonly status: "waiting";
      readonly attempt: number;
      readonly retryAt: number;
      /** `token`: there is none; `refused`: the server does not accept it. */
      readonly reason: "network" | "token" | "refused";
    }
  /** Nobody looks, and nothing is awaited: there is a connection again when somebody looks, or something is said. */
  | { readonly status: "resting" }
  /** The page says that nobody is signed in. It is tried again when the page is looked at again, and by `retryNow`. */
  | { readonly status: "signed-out" }
  | { readonly status: "closed" };

export interface ConnectionListener {
  opened(): void;
  received(frame: BatonEvent | PartFrame): void;
  changed(state: ConnectionState): void;
  /** The token could not be fetched; unless nobody is signed in, it is tried again. */
  tokenFailed(error: TokenError): void;
  /** The server has refused the connection. A WebSocket does not say why. */
  refused(): void;
  /** Everything that was sent before the last ping has reached the server. */
  arrived(): void;
  /** What is to come, and from whom: of a run, for what was said, from people; `null` while nothing is awaited. */
  awaited(): Awaited | null;
}

export type Awaited = "run" | "reply" | "people";

const CONNECT_SECONDS = 10;
const FIRST_WAIT_SECONDS = 0.5;
const LONGEST_WAIT_SECONDS = 20;
/** Whoever is said to be offline is asked once more: a server on this machine still answers. */
const OFFLINE_SECONDS = 1;
/**
 * Seconds of silence until a ping asks for an answer, and how long anything may take to be heard after a frame was sent.
 * A run is never silent. While nothing is awaited, nothing is asked: what is sent next finds out.
 */
const PATIENCE = {
  run: { ask: 8, answer: 5 },
  reply: { ask: 4, answer: 10 },
  people: { ask: 60, answer: 10 },
  nothing: { ask: Number.POSITIVE_INFINITY, answer: 10 },
};
/** A connection that was heard of so recently needs no question before something is said. */
const FRESH_SECONDS = 60;
/** A tick that comes so late tells of a page that slept or is throttled, not of a connection that is dead. */
const LATE_TICK_SECONDS = 2.5;
const GRACE_SECONDS = 4;
/** The least age at which a connection is replaced, because the server may ask the next one for the same. */
const SETTLE_SECONDS = 60;
/** The machine has slept, or the page was frozen. Hidden pages, which are woken once a minute, do not count. */
const NAP_SECONDS = 30;

/**
 * One WebSocket that is kept alive: replaced when it falls silent while something is awaited, because a lost network
 * sends no event, or when its token ends; given up when nobody looks.
 */
export class Connection {
  readonly #url: string;
  readonly #tokens: TokenSource;
  readonly #on: ConnectionListener;
  readonly #upkeep = new Upkeep();
  #socket: WebSocket | null = null;
  #attempt: Attempt | null = null;
  #state: ConnectionState = { status: "idle" };
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #ticking: ReturnType<typeof setInterval> | undefined;
  #tickedAt = 0;
  /** Of the clock on the wall, which goes on while the machine sleeps. */
  #tickedTime = 0;
  #heardAt = 0;
  /** When somebody had the conversation before them last, or something was awaited. */
  #wantedAt = 0;
  #isShown = true;
  #answerBy = Number.POSITIVE_INFINITY;
  #hadGrace = false;
  #renewAt = Number.POSITIVE_INFINITY;
  #settledAt = 0;
  #pings = 0;

  constructor(url: string, tokens: TokenSource, on: ConnectionListener) {
    this.#url = url;
    this.#tokens = tokens;
    this.#on = on;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  start(): void {
    if (this.#state.status !== "idle") return;
    this.#tickedAt = this.#wantedAt = seconds();
    this.#tickedTime = Date.now();
    this.#ticking = setInterval(() => this.#tick(), 1000);
    globalThis.addEventListener?.("online", this.#look);
    globalThis.addEventListener?.("offline", this.#doubt);
    globalThis.addEventListener?.("pageshow", this.#look);
    globalThis.document?.addEventListener("visibilitychange", this.#look);
    void this.#connect();
  }

  /** Sends one frame, which is answered; false if there is no connection. One at rest is opened. */
  send(frame: ClientFrame): boolean {
    if (this.#state.status === "resting") this.retryNow();
    if (!this.transmit(frame)) return false;
    this.#answerBy = Math.min(this.#answerBy, seconds() + this.#patience.answer);
    return true;
  }

  /** Sends one frame that nothing answers; false if there is no connection. */
  transmit(frame: ClientFrame): boolean {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(frame));
    this.#upkeep.used();
    return true;
  }

  /** Asks whether the connection lives; what was sent before has arrived when the answer comes. */
  ping(): void {
    if (this.send({ action: "ping" })) this.#pings += 1;
  }

  /** Something will be said, perhaps: asks whether the connection lives, unless that was heard a moment ago. */
  prepare(): void {
    if (this.#state.status === "resting") this.retryNow();
    else if (this.#answerBy === Number.POSITIVE_INFINITY && seconds() > this.#heardAt + FRESH_SECONDS) this.ping();
  }

  /** Whether a reader has the conversation before them, as far as the page knows. */
  set isShown(isShown: boolean) {
    this.#isShown = isShown;
    if (this.#state.status === "resting") this.#look();
  }

  /** Gives the connection up, whatever state it is in, and opens another: at once, or later if that did not help. */
  replace(reason: "network" | "token" = "network"): void {
    if (this.#state.status === "closed" || this.#state.status === "idle") return;
    this.#drop();
    const longest = Math.min(FIRST_WAIT_SECONDS * 2 ** this.#failures, LONGEST_WAIT_SECONDS);
    const wait = this.#failures === 0 ? 0 : longest * (0.5 + Math.random() / 2);
    this.#failures += 1;
    this.#tell({ status: "waiting", attempt: this.#failures, retryAt: performance.now() + wait * 1000, reason });
    this.#retry = setTimeout(() => void this.#connect(), wait * 1000);
  }

  /** Waits long before the next attempt: the token is not accepted. False if there is a connection. */
  refuse(): boolean {
    if (this.isOpen || (this.#state.status !== "waiting" && this.#state.status !== "connecting")) return false;
    this.#drop();
    this.#failures = Math.max(this.#failures, 1);
    const wait = REFUSED_SECONDS * 1000;
    this.#tell({ status: "waiting", attempt: this.#failures, retryAt: performance.now() + wait, reason: "refused" });
    this.#retry = setTimeout(() => void this.#connect(), wait);
    return true;
  }

  /** Opens another connection beside this one, which goes on until the other one is there. */
  renew(): void {
    this.#renewAt = Number.POSITIVE_INFINITY;
    if (this.isOpen && this.#attempt === null) void this.#connect({ beside: true });
  }

  /** Tries again now instead of waiting longer. */
  retryNow(): void {
    this.#wantedAt = seconds();
    if (["waiting", "resting", "signed-out"].includes(this.#state.status)) void this.#connect();
  }

  close(): void {
    if (this.#state.status === "closed") return;
    clearInterval(this.#ticking);
    globalThis.removeEventListener?.("online", this.#look);
    globalThis.removeEventListener?.("offline", this.#doubt);
    globalThis.removeEventListener?.("pageshow", this.#look);
    globalThis.document?.removeEventListener("visibilitychange", this.#look);
    this.#drop();
    this.#tell({ status: "closed" });
  }

  get #patience() {
    return PATIENCE[this.#on.awaited() ?? "nothing"];
  }

  get #isHidden(): boolean {
    return globalThis.document?.visibilityState === "hidden";
  }

  async #connect({ beside = false } = {}): Promise<void> {
    if (!beside) {
      this.#drop();
      this.#tell({ status: "connecting", attempt: this.#failures + 1 });
    }
    const attempt = new Attempt(seconds() + CONNECT_SECONDS);
    this.#attempt = attempt;
    let token: string;
    try {
      token = await this.#tokens.get({ renew: beside || this.#failures > 0 });
    } catch (error) {
      if (attempt.isOver) return;
      const failure = error as TokenError;
      this.#on.tokenFailed(failure);
      if (failure.code === "signed_out" && !this.isOpen) {
        this.#drop();
        this.#failures ||= 1;
        this.#tell({ status: "signed-out" });
      } else this.#failed(attempt, failure.code === "network_failed" ? "network" : "token");
      return;
    }
    if (attempt.isOver) return;
    try {
      attempt.socket = new WebSocket(this.#url, ["baton.v1", token]);
    } catch {
      this.#failed(attempt, "token"); // characters that no subprotocol may have
      return;
    }
    attempt.socket.onopen = () => this.#opened(attempt);
    attempt.socket.onclose = () => {
      this.#failed(attempt, "network");
      if (!this.isOpen) this.#on.refused();
    };
  }

  #opened(attempt: Attempt): void {
    const socket = attempt.socket;
    if (attempt.isOver || !socket) return;
    attempt.socket = null;
    this.#drop();
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#heard(String(data));
    socket.onclose = () => this.#lost();
    this.#heardAt = seconds();
    this.#renewAt = seconds() + Math.max(this.#tokens.freshSeconds, 1);
    this.#settledAt = seconds() + SETTLE_SECONDS * (1 + Math.random());
    this.#upkeep.begin();
    this.#tokens.accept();
    this.#tell({ status: "open" });
    this.#on.opened();
  }

  #failed(attempt: Attempt, reason: "network" | "token"): void {
    if (attempt !== this.#attempt) return;
    attempt.end();
    this.#attempt = null;
    // The present connection goes on; its renewal is tried again while it lasts.
    if (this.isOpen) this.#renewAt = seconds() + 10;
    else this.replace(reason);
  }

  #lost(): void {
    // Others were cut off with us, by a restart perhaps: not everybody comes back at the same moment.
    if (seconds() > this.#heardAt + CONNECT_SECONDS) this.#failures = 0; // it has served, if only by being there
    this.#failures ||= 1;
    if (this.#on.awaited() === null) this.#upkeep.ended();
    this.replace();
  }

  #heard(data: string): void {
    this.#heardAt = seconds();
    this.#upkeep.used();
    this.#answerBy = Number.POSITIVE_INFINITY;
    this.#hadGrace = false;
    this.#failures = 0;
    for (const frame of framesIn(data)) {
      if (frame.type === "PONG") {
        this.#pings = Math.max(0, this.#pings - 1);
        if (this.#pings === 0) this.#on.arrived();
      } else if ("code" in frame && frame.code === "token_expired") {
        this.#tokens.discard();
      } else if ("name" in frame && frame.type === "CUSTOM" && frame.name === "reconnect") {
        if (seconds() < this.#settledAt) this.#renewAt = Math.min(this.#renewAt, this.#settledAt);
        else this.renew();
      } else this.#on.received(frame);
    }
  }

  #tick(): void {
    const now = seconds();
    const gap = Math.max(now - this.#tickedAt, (Date.now() - this.#tickedTime) / 1000);
    const isLate = gap > LATE_TICK_SECONDS;
    this.#tickedAt = now;
    this.#tickedTime = Date.now();
    if ((this.#isShown && !this.#isHidden) || this.#on.awaited() !== null) this.#wantedAt = now;
    else if (now > this.#wantedAt + AWAY_SECONDS) this.#rest();
    if (this.#attempt && now > this.#attempt.endsAt) {
      if (isLate && !this.#attempt.hadGrace) this.#attempt.prolong(now + GRACE_SECONDS);
      else this.#failed(this.#attempt, "network");
    }
    if (!this.isOpen) return;
    if (now > this.#answerBy) {
      if (!isLate || this.#hadGrace) return this.replace();
      // What was heard meanwhile may wait behind this tick.
      this.#hadGrace = true;
      this.#answerBy = now + GRACE_SECONDS;
      this.ping();
    } else if (this.#answerBy === Number.POSITIVE_INFINITY) {
      const isAsking = now > this.#heardAt + this.#patience.ask || (gap > NAP_SECONDS && !this.#isHidden);
      const due = isAsking ? "ask" : this.#upkeep.due(this.#renewAt);
      if (due === "ask") this.ping();
      else if (due === "replace") this.renew();
      else if (due === "quiet") this.transmit({ action: "ping", quiet: true });
    }
    if (now > this.#renewAt) this.renew();
  }

  #rest(): void {
    if (!["open", "connecting", "waiting"].includes(this.#state.status)) return;
    this.#drop();
    this.#failures = 0;
    this.#tell({ status: "resting" });
  }

  /** Nothing of a socket is waited for: closing one whose network is gone takes as long as the system likes. */
  #drop(): void {
    clearTimeout(this.#retry);
    this.#attempt?.end();
    this.#attempt = null;
    this.#answerBy = Number.POSITIVE_INFINITY;
    this.#renewAt = Number.POSITIVE_INFINITY;
    this.#hadGrace = false;
    this.#pings = 0;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #tell(state: ConnectionState): void {
    this.#state = state;
    this.#on.changed(state);
  }

  readonly #doubt = (): void => {
    if (!this.isOpen) return;
    this.ping();
    this.#answerBy = Math.min(this.#answerBy, seconds() + OFFLINE_SECONDS);
  };

  /** Another network, or a page that is looked at again: what was waited for may never come. */
  readonly #look = (event?: Event): void => {
    if (this.#isHidden || (!this.#isShown && this.#state.status === "resting")) return;
    if (!this.isOpen) this.retryNow();
    else if (event?.type === "online" || this.#on.awaited() !== null) this.ping();
    else this.prepare();
  };
}

/** One attempt to connect: the token, and the handshake. */
class Attempt {
  socket: WebSocket | null = null;
  isOver = false;
  hadGrace = false;
  endsAt: number;

  constructor(endsAt: number) {
    this.endsAt = endsAt;
  }

  prolong(endsAt: number): void {
    this.hadGrace = true;
    this.endsAt = endsAt;
  }

  end(): void {
    this.isOver = true;
    if (!this.socket) return;
    this.socket.onopen = this.socket.onclose = null;
    this.socket.close();
  }
}

/** The events of one frame; what is none is left out. */
function framesIn(data: string): (BatonEvent | PartFrame)[] {
  let frame: unknown;
  try {
    frame = JSON.parse(data);
  } catch {
    return [];
  }
  return [frame].flat().filter(isEvent);
}

export const isEvent = (value: unknown): value is BatonEvent =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
