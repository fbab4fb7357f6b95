// One WebSocket that is kept alive: it is replaced when it falls silent, which a lost network never tells, and every
// connection fetches a new token.

const CONNECT_MS = 10_000; // for the token and the handshake
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 15_000;
const NAP_MS = 2_000; // a timer that is later than that: the page slept, or is woken seldom
const FRAME_BYTES = 28_000;

/** Whether a connection can carry the frame. */
export const fits = (frame) => new Blob([JSON.stringify(frame)]).size <= FRAME_BYTES;

/** After so long without a frame a ping is sent; after so long the connection counts as lost. A run is never silent. */
const RUNNING = { ping: 10_000, lost: 15_000 };
const RESTING = { ping: 20_000, lost: 30_000 };

export class Connection {
  #socket = null;
  #attempt = new AbortController(); // to connect: ends what an earlier one still waits for
  #failures = 0; // since something was last heard
  #retry = 0; // timer of the next attempt, or of the end of the present one
  #check = 0; // timer of the next look at the silence
  #heardAt = 0;
  #answerBy = Infinity; // something was sent: anything must be heard until then
  #isSpared = false; // a nap kept the page from reading the answer, which got more time once
  #unanswered = 0; // pings without their PONG
  #closed = false;

  /**
   * `token(signal)` fetches a token until it is aborted. `on` has `open()`, `frame(object)`, `status(state, words)`, `isRunning()`, and `arrived()`,
   * which is called when everything that was sent has reached the server.
   */
  constructor(token, on) {
    this.token = token;
    this.on = on;
    addEventListener("online", this.#renew);
    document.addEventListener("visibilitychange", this.#seen);
    this.#connect();
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Sends one frame; false if there is no connection. */
  send(frame) {
    if (!this.isOpen) return false;
    this.#socket.send(JSON.stringify(frame));
    const { ping, lost } = this.#patience;
    this.#answerBy = Math.min(this.#answerBy, performance.now() + lost - ping);
    this.#watch();
    return true;
  }

  /** Asks whether the connection is alive, and has `on.arrived()` called when what was sent before has arrived. */
  ping() {
    if (this.send({ action: "ping" })) this.#unanswered += 1;
  }

  /** Gives the connection up, whatever state it is in, and opens another: at once, or later if that did not help. */
  replace() {
    if (this.#closed) return;
    this.#drop();
    const wait = this.#failures ? Math.min(FIRST_WAIT_MS * 2 ** this.#failures, MAX_WAIT_MS) : 0;
    this.#failures += 1;
    this.on.status("lost", "No connection. Trying again…");
    this.#retry = setTimeout(() => this.#connect(), wait * (0.5 + Math.random() / 2));
  }

  close() {
    this.#closed = true;
    this.#drop();
    removeEventListener("online", this.#renew);
    document.removeEventListener("visibilitychange", this.#seen);
  }

  get #patience() {
    return this.on.isRunning() ? RUNNING : RESTING;
  }

  async #connect() {
    this.#drop();
    const { signal } = (this.#attempt = new AbortController());
    this.#retry = setTimeout(() => this.replace(), CONNECT_MS);
    this.on.status("connecting", this.#failures ? "Reconnecting…" : "Connecting…");
    try {
      const token = await this.token(signal);
      if (!signal.aborted) this.#open(token);
    } catch {
      if (!signal.aborted) this.replace();
    }
  }

  #open(token) {
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, ["baton.v1", token]);
    this.#socket = socket;
    socket.onopen = () => {
      clearTimeout(this.#retry);
      this.#heardAt = performance.now();
      this.on.status("open", "Connected");
      this.on.open();
      this.ping();
    };
    socket.onmessage = ({ data }) => this.#heard(JSON.parse(data));
    socket.onclose = () => {
      // Others were cut off with us, by a restart perhaps: not everybody comes back at the same moment.
      this.#failures ||= 1;
      this.replace();
    };
  }

  #heard(frames) {
    this.#heardAt = performance.now();
    this.#answerBy = Infinity;
    this.#isSpared = false;
    this.#failures = 0;
    for (const frame of Array.isArray(frames) ? frames : [frames]) {
      if (frame.type !== "PONG") this.on.frame(frame);
      else if (this.#unanswered > 0 && --this.#unanswered === 0) this.on.arrived();
    }
    this.#watch();
  }

  /** Waits for the answer that is due, or until it is time to ask: also a hidden page, whose timers are late, asks first. */
  #watch() {
    clearTimeout(this.#check);
    if (!this.isOpen) return;
    const isAsked = this.#answerBy < Infinity;
    const due = isAsked ? this.#answerBy : this.#heardAt + this.#patience.ping;
    this.#check = setTimeout(() => (isAsked ? this.#missed() : this.ping()), due - performance.now());
  }

  /** No answer has come in time. After a nap it may be here, unread: it gets as much time again, once. */
  #missed() {
    const now = performance.now();
    if (this.#isSpared || now < this.#answerBy + NAP_MS) return this.replace();
    const { ping, lost } = this.#patience;
    this.#isSpared = true;
    this.#answerBy = now + lost - ping;
    this.#watch();
  }

  /** Nothing of the socket is waited for: closing one whose network is gone takes as long as the system likes. */
  #drop() {
    clearTimeout(this.#retry);
    clearTimeout(this.#check);
    this.#attempt.abort();
    this.#answerBy = Infinity;
    this.#isSpared = false;
    this.#unanswered = 0;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** Another network, or a page that is looked at again: what was waited for may never come. */
  #renew = () => {
    if (!this.isOpen) this.#connect();
    else if (performance.now() >= this.#answerBy) this.#missed();
    else this.ping();
  };

  #seen = () => {
    if (!document.hidden) this.#renew();
  };
}
