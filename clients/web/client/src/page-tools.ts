import type { Api } from "./api.ts";
import type { CallHost, ClientCalls } from "./calls.ts";
import { BatonError } from "./errors.ts";
import { LOAD_AGAIN_MS } from "./history.ts";
import { isClientCall } from "./items.ts";
import { canExclude } from "./tabs.ts";

const ASKED = "baton:asked:";

export type PageToolsHost = Omit<CallHost, "isAskedHere" | "isWaitedFor"> & { readonly api: Api };

/** The calls of the page's tools, where the user has asked for them in this browser. */
export class PageTools {
  readonly #host: PageToolsHost;
  #calls: ClientCalls | null = null;
  /** The message of this browser's that was said last in the conversation; `null`: another one's. */
  #asked: string | null = null;

  constructor(host: PageToolsHost) {
    this.#host = host;
  }

  /** Carries a call out here, although it was asked for in another browser. */
  callHere(interruptId: string): void {
    this.#calls?.begin(interruptId);
  }

  /** It is known now whose conversation it is: what was said before that is kept, too. */
  takeUp(): void {
    if (this.#asked !== null) this.markAsked(this.#asked);
  }

  /** What carries calls out is loaded when there is one. */
  look(): void {
    if (this.#calls) this.#calls.look();
    else if (this.#host.talk.interrupts.some(isClientCall)) void this.#loadCalls().catch(() => {}); // the next event tries again
  }

  async #loadCalls(): Promise<void> {
    const { ClientCalls } = await import("./calls.ts");
    this.#calls ??= new ClientCalls({
      ...this.#host,
      isAskedHere: () => this.#isAskedHere(),
      isWaitedFor: (id) => this.#isWaitedFor(id),
    });
    this.#calls.look();
  }

  markAsked(messageId: string): void {
    this.#asked = messageId;
    const scope = this.#host.scope();
    if (scope !== null) this.#host.store.set(ASKED + scope, messageId);
  }

  /** Tools run where they were asked for: another device that shows the conversation waits. */
  #isAskedHere(): boolean {
    const last = this.#host.talk.lastMessage("user")?.id ?? "";
    if (this.#asked === last) return true;
    const scope = this.#host.scope();
    return canExclude() && scope !== null && this.#host.store.get(ASKED + scope) === last;
  }

  async #isWaitedFor(interruptId: string): Promise<boolean> {
    while (!this.#host.ended.aborted) {
      try {
        const { interrupts = [] } = await this.#host.api.thread(this.#host.threadId);
        return interrupts.some(({ id }) => id === interruptId);
      } catch (error) {
        if (error instanceof BatonError && !error.retryable) return false;
        await new Promise((resolve) => setTimeout(resolve, LOAD_AGAIN_MS));
      }
    }
    return false;
  }
}
