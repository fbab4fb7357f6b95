// One WebSocket that is kept alive: reconnects with back-off, pings when idle, and fetches a new token each time.

const IDLE_PING_MS = 5 * 60_000;
const LONGEST_WAIT_MS = 15_000;
export const FRAME_BYTES = 28_000;

export class Connection {
  #socket = null;
  #attempt = 0;
  #timer = 0;
  #closed = false;

  /** `token()` fetches a token; `on` has `open()`, `frame(object)` and `status(state, words)`. */
  constructor(token, on) {
    this.token = token;
    this.on = on;
    this.ping = setInterval(() => this.send({ action: "ping" }), IDLE_PING_MS);
    addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
    this.#connect();
  }

  /** Sends one frame; false if there is no connection. */
  send(frame) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  close() {
    this.#closed = true;
    clearInterval(this.ping);
    clearTimeout(this.#timer);
    removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#socket?.close();
  }

  #hurry = () => {
    if (!document.hidden && this.#timer) this.#connect();
  };

  async #connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.on.status("connecting", this.#attempt ? "Reconnecting…" : "Connecting…");
    try {
      const token = await this.token();
      if (this.#closed) return;
      const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, ["baton.v1", token]);
      this.#socket = socket;
      socket.onopen = () => {
        this.#attempt = 0;
        this.on.status("open", "Connected");
        this.on.open();
      };
      socket.onmessage = ({ data }) => this.on.frame(JSON.parse(data));
      socket.onclose = () => this.#again();
    } catch {
      this.#again();
    }
  }

  #again() {
    if (this.#closed) return;
    const wait = Math.min(500 * 2 ** this.#attempt++, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
    this.on.status("lost", "No connection. Trying again…");
    this.#timer = setTimeout(() => this.#connect(), wait);
  }
}
