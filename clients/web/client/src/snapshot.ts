import type { ConnectionState } from "./connection.ts";
import type { Run } from "./conversation.ts";
import type { BatonError, TokenError } from "./errors.ts";
import type { InterruptItem, Item, MessageItem } from "./items.ts";
import type {
  Agent,
  BatonEvent,
  Branch,
  Desk,
  OfferedDesk,
  Person,
  ThreadState,
  ThreadUpdate,
  Workflow,
} from "./wire.ts";

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
  /** The main agent: the one that the next conversation begins with, while nothing was said; `null` until it is known. */
  readonly main: Agent | null;
  /** Where people answer instead of an agent; `null` where none do. */
  readonly desk: Desk | null;
  /** When the desk opens that the conversation waits at; `null` if it is open. */
  readonly deskOpensAt: string | null;
  /** The desks that the user may ask for now. */
  readonly desks: readonly OfferedDesk[];
  /** The person who is writing just now. */
  readonly typing: Person | null;
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
  /** Something was said, or read, in a conversation of the user's that does not show; or this one was read elsewhere. */
  thread: ThreadUpdate;
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
