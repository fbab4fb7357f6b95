import type { Api } from "./api.ts";
import type { Conversation } from "./conversation.ts";
import type { BatonEvent, Branch, KnownEvent } from "./wire.ts";

export interface AlternativesHost {
  readonly threadId: string;
  readonly api: Api;
  readonly talk: Conversation;
  readonly ended: AbortSignal;
  readonly changed: () => void;
}

/** The branches that regenerating and editing have made, read again when there are others. */
export class Alternatives {
  readonly #host: AlternativesHost;
  #branchingRunId: string | null = null;
  /** As far as they were read. */
  shown: readonly Branch[] = [];

  constructor(host: AlternativesHost) {
    this.#host = host;
  }

  async all(): Promise<readonly Branch[]> {
    return (await this.#host.api.branches(this.#host.threadId)).items;
  }

  heard(event: BatonEvent): void {
    if (this.#isAboutBranches(event as KnownEvent)) void this.read();
  }

  /** Whether the alternatives are others now; not by events of before, which were told when they were read. */
  #isAboutBranches(event: KnownEvent): boolean {
    if (this.#host.talk.isOver(event.metadata ?? {})) return false;
    if (event.type === "RUN_STARTED" && event.metadata?.branch) this.#branchingRunId = event.runId;
    // The list has a branch once its first messages are stored.
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
      return this.#branchingRunId !== null && event.metadata?.runId === this.#branchingRunId;
    }
    return event.type === "CUSTOM" && event.name === "branch_selected";
  }

  /** Alternatives that cannot be read are not offered: the conversation shows without them. */
  async read(): Promise<void> {
    const branches = await this.all().catch(() => null);
    if (!branches || this.#host.ended.aborted) return;
    this.shown = branches;
    this.#host.changed();
  }
}
