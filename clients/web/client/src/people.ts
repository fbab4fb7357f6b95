import type { Api } from "./api.ts";
import { seconds } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { Conversation } from "./conversation.ts";
import type { Offer } from "./offer.ts";
import type { Agent, BatonEvent, KnownEvent, ListedAgent, OfferedDesk, Person } from "./wire.ts";

/** The shortest pause between two notices to people that the user is writing. */
const TYPING_SECONDS = 3;
/** Who waits at a desk for so long without a word does something else. */
const PATIENCE_SECONDS = 3600;
/** A person who has written nothing for so long is not writing any more. */
const SILENT_MS = 6_000;

export interface PeopleHost {
  readonly threadId: string;
  /** The main agent that the page names for a conversation that has not begun. */
  readonly agentId: string | undefined;
  readonly api: Api;
  readonly talk: Conversation;
  readonly connection: Connection;
  readonly offer: Offer;
  readonly ended: AbortSignal;
  /** The server has the conversation now. */
  readonly posted: () => void;
  readonly changed: () => void;
}

/** The people who answer instead of an agent: which of them can be asked for, and who is writing. */
export class People {
  /** The person who is writing just now. */
  typing: Person | null = null;
  readonly #host: PeopleHost;
  #agents: readonly ListedAgent[] = [];
  #status: string | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #heardAt = Number.NEGATIVE_INFINITY;

  constructor(host: PeopleHost) {
    this.#host = host;
  }

  /** The main agent, or the one that the conversation will begin with. */
  get main(): Agent | null {
    const { talk, agentId } = this.#host;
    const { activeAgent } = talk.state ?? {};
    if (activeAgent?.isMain) return activeAgent;
    const id = talk.mainId ?? agentId;
    return this.#agents.find((agent) => (id ? agent.id === id : agent.isDefault)) ?? null;
  }

  /** The desks that can be asked for: none while a specialist or a person is active. */
  get desks(): readonly OfferedDesk[] {
    const { activeAgent, status } = this.#host.talk.state ?? {};
    const main = this.#agents.find(({ id }) => id === this.main?.id);
    // A conversation that has not begun is asked for at the default agent's desks.
    const isAsked = activeAgent ? activeAgent.isMain === true && status !== "closed" : main?.isDefault === true;
    return isAsked ? (main?.desks ?? NONE) : NONE;
  }

  /** When the desk opens that the conversation waits at; `null` if it is open. */
  get opensAt(): string | null {
    const { desk } = this.#host.talk.state ?? {};
    if (desk?.status !== "waiting") return null;
    const own = this.#agents.flatMap(({ desks }) => desks ?? []).find(({ id }) => id === desk.agentId);
    return own?.opensAt ?? null;
  }

  /** Whether people have the conversation, and something has happened in it not long ago. */
  get areAwaited(): boolean {
    return this.#host.talk.state?.desk != null && seconds() - this.#heardAt < PATIENCE_SECONDS;
  }

  /** What cannot be read is not offered: the conversation goes on without it. */
  async read(): Promise<void> {
    const { items } = await this.#host.api.agents().catch(() => ({ items: this.#agents }));
    if (this.#host.ended.aborted) return;
    this.#agents = items;
    this.#host.changed();
  }

  async ask(deskId?: string): Promise<void> {
    await this.#host.api.askForDesk(this.#host.threadId, deskId, this.#host.offer.locale);
    this.#host.posted();
  }

  heard(event: BatonEvent): void {
    const { desk } = this.#host.talk.state ?? {};
    const known = event as KnownEvent;
    this.#heardAt = seconds();
    if (desk?.status !== this.#status) {
      this.#status = desk?.status;
      void this.read(); // when a desk opens is another time by now
    }
    if (known.type === "CUSTOM" && known.name === "typing") this.#show(known.value.who, desk?.person ?? null);
    else if (this.typing && (known.metadata?.author || !desk?.person)) this.#show(null, null);
  }

  /** Notify people at a desk that the user is writing; an agent is not notified. */
  typed(): void {
    const { talk, connection, threadId } = this.#host;
    if (!talk.state?.desk || seconds() - this.#toldAt < TYPING_SECONDS) return;
    this.#toldAt = seconds();
    connection.transmit({ action: "typing", threadId });
  }

  /** What was written is sent: the next word is news again. */
  sent(): void {
    this.#toldAt = Number.NEGATIVE_INFINITY;
  }

  end(): void {
    clearTimeout(this.#silence);
  }

  #show(who: unknown, person: Person | null): void {
    if (who !== "person" && who !== null) return;
    clearTimeout(this.#silence);
    this.typing = person;
    if (person) {
      this.#silence = setTimeout(() => {
        this.typing = null;
        this.#host.changed();
      }, SILENT_MS);
    }
  }
}

const NONE: readonly OfferedDesk[] = [];
