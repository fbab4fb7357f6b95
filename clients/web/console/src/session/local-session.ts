import { texts } from "../texts.ts";
import type { Session } from "./session.ts";

/** What a token of the local cloud is asked for. */
export interface LocalIdentity {
  readonly tenant: string;
  readonly user: string;
  readonly permissions: string;
  /** The name that users read whom they answer. */
  readonly name?: string | undefined;
  /** The https address of their picture. */
  readonly picture?: string | undefined;
}

const KEY = "baton-console:local";

/** Signs anybody in, as the local cloud allows. The identity is kept for the tab, so that reloading keeps it. */
export class LocalSession implements Session {
  readonly kind = "local";
  readonly isLeaving = false;
  #identity: LocalIdentity | null = null;
  #token: string | null = null;

  get isSignedIn(): boolean {
    return this.#token !== null;
  }

  async begin(): Promise<void> {
    const kept = sessionStorage.getItem(KEY);
    if (kept) await this.signIn(JSON.parse(kept) as LocalIdentity).catch(() => sessionStorage.removeItem(KEY));
  }

  /** Rejects with what the local cloud says against the identity. */
  async signIn(identity: LocalIdentity): Promise<void> {
    const answer = await fetch("/local/token", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(identity),
    });
    const body = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
    if (!answer.ok || typeof body.token !== "string")
      throw new Error(String(body.detail ?? body.title ?? answer.statusText));
    this.#identity = identity;
    this.#token = body.token;
    sessionStorage.setItem(KEY, JSON.stringify(identity));
  }

  token(): Promise<string> {
    return this.#token === null ? Promise.reject(new Error(texts.nobody)) : Promise.resolve(this.#token);
  }

  async renew(): Promise<boolean> {
    if (this.#identity === null) return false;
    await this.signIn(this.#identity);
    return true;
  }

  expire(): void {
    this.#identity = null;
    this.#token = null;
    sessionStorage.removeItem(KEY);
  }

  signOut(): Promise<void> {
    this.expire();
    return Promise.resolve();
  }
}
