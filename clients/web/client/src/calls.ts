import { bytesOf } from "./clock.ts";
import type { Conversation } from "./conversation.ts";
import { BatonError } from "./errors.ts";
import { type InterruptAnswer, type InterruptItem, isClientCall, type ToolItem } from "./items.ts";
import type { ClientCall, ClientTool, Offer } from "./offer.ts";
import type { SafeStore } from "./storage.ts";
import { alone } from "./tabs.ts";

/** An answer travels in one frame, which has room for little else. */
const LARGEST_RESULT_BYTES = 24 * 1024;
const LONGEST_REASON = 1000;
const MARK = "baton:call:";

export interface CallHost {
  readonly threadId: string;
  readonly talk: Conversation;
  readonly offer: Offer;
  readonly store: SafeStore;
  readonly ended: AbortSignal;
  /** The user's conversation; `null` until it is known whose it is. */
  readonly scope: () => string | null;
  /** Whether what is being answered was said in this browser. */
  readonly isAskedHere: () => boolean;
  /** Whether the server still waits for the call. */
  readonly isWaitedFor: (id: string) => Promise<boolean>;
  /** Whether there is an answer on its way, by this page or one before it. */
  readonly isAnswered: (id: string) => boolean;
  readonly answer: (id: string, status: "resolved" | "cancelled", payload?: unknown) => void;
  readonly failed: (error: BatonError) => void;
  readonly changed: () => void;
}

/** Carries out what an agent calls of the page's own tools: each call in one tab, and again if that one has died. */
export class ClientCalls {
  readonly #host: CallHost;
  readonly #begun = new Map<string, AbortController>();

  constructor(host: CallHost) {
    this.#host = host;
  }

  /** Looks at the calls that wait: begins what is for this page, gives up what is settled. */
  look(): void {
    const { talk, offer } = this.#host;
    for (const [id, begun] of this.#begun) {
      if (!isOpen(this.#item(id))) {
        this.#begun.delete(id);
        begun.abort();
      }
    }
    if (this.#host.scope() === null) return;
    for (const item of talk.interrupts) {
      const { id, interrupt, answer } = item;
      if (!isClientCall(item) || answer !== null || this.#begun.has(interrupt.id)) continue;
      if (this.#host.isAnswered(interrupt.id)) continue;
      const isOffered = offer.tool(toolNameOf(interrupt)) !== undefined;
      if (isOffered && this.#host.isAskedHere()) this.begin(interrupt.id);
      else this.#show(id, isOffered ? "offered" : "elsewhere");
    }
  }

  /** Carries the call out here, if no other tab does. */
  begin(interruptId: string): void {
    const scope = this.#host.scope();
    if (scope === null || this.#begun.has(interruptId)) return;
    const begun = new AbortController();
    this.#begun.set(interruptId, begun);
    this.#show(`interrupt:${interruptId}`, "elsewhere");
    const signal = AbortSignal.any([begun.signal, this.#host.ended]);
    const name = `${MARK}${scope}:${interruptId}`;
    void alone(name, signal, (waited) => this.#make(interruptId, name, signal, waited));
  }

  async #make(interruptId: string, mark: string, signal: AbortSignal, waited: boolean): Promise<void> {
    const { offer, store, threadId } = this.#host;
    // The other tab may have had an answer that is not heard of here yet.
    if (waited && !(await this.#host.isWaitedFor(interruptId))) return;
    const item = this.#item(interruptId);
    const tool = offer.tool(item && toolNameOf(item.interrupt));
    if (signal.aborted || !item || !isOpen(item) || item.answer !== null) return;
    if (!tool) {
      this.#begun.delete(interruptId); // it was taken back meanwhile
      return this.look();
    }
    this.#show(item.id, "running");
    const isRepeated = store.get(mark) !== null;
    store.set(mark, String(Date.now()));
    const call = { id: item.interrupt.toolCallId ?? interruptId, threadId, isRepeated, signal };
    const made = await Promise.race([outcomeOf(tool, this.#argumentsOf(item), call), aborted(signal)]);
    if (made === null || signal.aborted) {
      if (!this.#host.ended.aborted) store.remove(mark);
      return;
    }
    if (made.error) this.#host.failed(made.error);
    this.#host.answer(interruptId, made.status, made.payload);
    await aborted(signal); // the server has the answer, or this page ends
    if (!this.#host.ended.aborted) store.remove(mark);
  }

  #item(interruptId: string): InterruptItem | undefined {
    const item = this.#host.talk.find(`interrupt:${interruptId}`);
    return item?.role === "interrupt" ? item : undefined;
  }

  #argumentsOf({ interrupt, args }: InterruptItem): string {
    const call = this.#host.talk.find(`tool:${interrupt.toolCallId}`) as ToolItem | undefined;
    return call?.args ?? args ?? "";
  }

  #show(id: string, call: NonNullable<InterruptItem["call"]>): void {
    const item = this.#host.talk.find(id);
    if (item?.role !== "interrupt" || item.call === call) return;
    this.#host.talk.change(id, { call });
    this.#host.changed();
  }
}

const isOpen = (item: InterruptItem | undefined): boolean => item !== undefined && !item.settled;

export function toolNameOf({ metadata }: InterruptItem["interrupt"]): string | undefined {
  return typeof metadata?.toolName === "string" ? metadata.toolName : undefined;
}

const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener("abort", () => resolve(null));
  });

interface Made {
  readonly status: Extract<InterruptAnswer, "resolved" | "cancelled">;
  readonly payload: unknown;
  readonly error?: BatonError;
}

/** What the page's function gives, or why it gives nothing. */
async function outcomeOf(tool: ClientTool, given: string, call: ClientCall): Promise<Made> {
  try {
    const args: unknown = JSON.parse(given.trim() || "{}");
    if (typeof args !== "object" || args === null || Array.isArray(args))
      throw new TypeError("The arguments are no object.");
    const result = (await tool.run(args as Record<string, unknown>, call)) ?? null;
    const payload = JSON.parse(JSON.stringify(result) ?? "null") as unknown;
    const size = bytesOf(payload);
    if (size > LARGEST_RESULT_BYTES)
      throw new RangeError(`The result has ${size} bytes; ${LARGEST_RESULT_BYTES} are possible.`);
    return { status: "resolved", payload };
  } catch (cause) {
    const reason = (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(
      0,
      LONGEST_REASON,
    );
    const message = `${tool.name} failed: ${reason}`;
    return {
      status: "cancelled",
      payload: { reason },
      error: new BatonError(message, { code: "client_tool_failed", retryable: false, cause }),
    };
  }
}
