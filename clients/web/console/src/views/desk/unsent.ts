import type { FilePart } from "./desk-api.ts";

/** What a person sends: to the user, or a note for people. */
export interface Content {
  readonly isNote: boolean;
  readonly text: string;
  readonly files: readonly FilePart[];
}

/** What a person has written and not sent, or not successfully. */
export interface Unsent {
  /** For the user, and for people. */
  readonly reply: string;
  readonly note: string;
  readonly isNote: boolean;
  /** The last attempt. Sent again, it is the same message, which the server stores once. */
  readonly attempt: { readonly messageId: string; readonly content: Content } | null;
}

const EMPTY: Unsent = { reply: "", note: "", isNote: false, attempt: null };

/** What somebody has written in a field since they sent what it held. */
export function restOf(text: string, sent: string): string {
  const written = text.trimStart();
  return written.startsWith(sent) ? written.slice(sent.length).trimStart() : text;
}

/** Keeps unsent texts by conversation for the tab, so that a reload loses nothing. */
export class UnsentTexts {
  readonly #storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  readonly #prefix: string;

  constructor(storage: Pick<Storage, "getItem" | "setItem" | "removeItem">, tenantId: string, userId: string) {
    this.#storage = storage;
    this.#prefix = `baton-console:desk:${JSON.stringify([tenantId, userId])}:`;
  }

  read(threadId: string): Unsent {
    try {
      const kept = JSON.parse(this.#storage.getItem(this.#prefix + threadId) ?? "null") as Partial<Unsent> | null;
      return { ...EMPTY, ...kept };
    } catch {
      return EMPTY;
    }
  }

  change(threadId: string, change: Partial<Unsent>): Unsent {
    const unsent = { ...this.read(threadId), ...change };
    const isEmpty = !unsent.reply && !unsent.note && !unsent.isNote && !unsent.attempt;
    try {
      if (isEmpty) this.#storage.removeItem(this.#prefix + threadId);
      else this.#storage.setItem(this.#prefix + threadId, JSON.stringify(unsent));
    } catch {
      // The storage is full or forbidden: the page still has the text.
    }
    return unsent;
  }

  /** Returns the id of what is sent: that of the last attempt if it was the same. */
  attempt(threadId: string, content: Content): string {
    const { attempt } = this.read(threadId);
    if (attempt && JSON.stringify(attempt.content) === JSON.stringify(content)) return attempt.messageId;
    const messageId = crypto.randomUUID();
    this.change(threadId, { attempt: { messageId, content } });
    return messageId;
  }

  /** Takes out what has arrived, unless that is done. The field is for the user again, unless a further note is begun. */
  settle(threadId: string, messageId: string): Unsent {
    const unsent = this.read(threadId);
    const { attempt, reply, note, isNote } = unsent;
    if (attempt?.messageId !== messageId) return unsent;
    const { text } = attempt.content;
    if (!attempt.content.isNote) return this.change(threadId, { reply: restOf(reply, text), attempt: null });
    const rest = restOf(note, text);
    return this.change(threadId, { note: rest, isNote: isNote && rest !== "", attempt: null });
  }
}
