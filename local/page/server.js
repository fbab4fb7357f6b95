// Talking HTTP to the local cloud: tokens for whoever the page says, and the API.

const READ_MS = 15_000; // what is read, and a token, comes at once or never

export class Server {
  #token = null;

  /** `who` is `{tenant, user, permissions}`, the last as one string with spaces. */
  constructor(who) {
    this.who = who;
  }

  /** Fetches a new token; the API's requests use it from now on. */
  async token(signal) {
    this.#token = await this.#signed("", signal);
    return this.#token;
  }

  /** What the server answers as JSON; an Error with `status` and the problem's fields if it refuses. `signal` aborts. */
  async api(method, path, body, signal) {
    return request(method, path, { token: this.#token ?? (await this.token()), body, signal });
  }

  /** The tenant's audit records, newest first: they take a token that may read them. */
  async audit() {
    return request("GET", "/v1/audit?limit=50", { token: await this.#signed(" audit:read") });
  }

  async #signed(more, signal = AbortSignal.timeout(READ_MS)) {
    const { permissions = "" } = this.who;
    const body = { ...this.who, permissions: permissions + more };
    return (await request("POST", "/local/token", { body, signal })).token;
  }
}

export const about = () => request("GET", "/local/about", {});

async function request(method, path, { token, body, signal }) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  if (method === "GET") signal = AbortSignal.timeout(READ_MS);
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
  if (answer.ok) return answer.json(); // fails where the connection was lost in the middle of it
  const json = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(json.detail ?? json.title ?? answer.statusText), { status: answer.status, ...json });
}
