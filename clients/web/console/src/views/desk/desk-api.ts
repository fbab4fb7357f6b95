import type { ConsoleApi } from "../../api/console-api.ts";
import type { Source } from "../../api/shapes.ts";
import type { UploadTarget } from "../documents/documents-api.ts";

/** A person of a desk. */
export interface Author {
  readonly id: string;
  readonly name: string;
}

/** A conversation at a desk. */
export interface DeskItem {
  readonly threadId: string;
  readonly deskId: string;
  readonly status: "waiting" | "active";
  /** Since when it waits, or has been with its person. */
  readonly since: string;
  readonly userId: string;
  readonly userName: string | null;
  readonly title: string | null;
  readonly locale: string | null;
  readonly timeZone: string | null;
  readonly lastMessage: string;
  readonly unread: number;
  readonly unansweredSince: string | null;
  readonly person: Author | null;
  readonly lastSeq: number;
  readonly typing: boolean;
}

export interface Desk {
  readonly id: string;
  readonly name: string;
  readonly isOpen: boolean;
}

export interface Note {
  readonly id: string;
  readonly text: string;
  readonly author: Author;
  readonly createdAt: string;
}

/** What people need to answer a conversation. */
export interface DeskCase {
  readonly item: DeskItem;
  readonly reason: string;
  readonly summary: string;
  readonly notes: readonly Note[];
  readonly desks: readonly Desk[];
}

export interface Draft {
  readonly text: string;
  readonly sources: readonly Source[];
}

/** A part of a message that refers to a file. */
export type FilePart = Readonly<Record<string, unknown>>;

const DRAFT_MS = 90_000;

/** What a person does with one conversation. */
export class DeskActions {
  readonly #api: ConsoleApi;
  readonly #id: string;

  constructor(api: ConsoleApi, threadId: string) {
    this.#api = api;
    this.#id = threadId;
  }

  read(signal: AbortSignal): Promise<DeskCase> {
    return this.#api.get<DeskCase>(["threads", this.#id, "desk"], {}, signal);
  }

  take(): Promise<DeskItem> {
    return this.#post<DeskItem>(["threads", this.#id, "desk", "take"], {});
  }

  reply(messageId: string, text: string, files: readonly FilePart[]): Promise<unknown> {
    const content = files.length ? [...(text ? [{ type: "text", text }] : []), ...files] : text;
    return this.#post(["threads", this.#id, "desk", "messages"], { messageId, content });
  }

  note(messageId: string, text: string): Promise<unknown> {
    return this.#post(["threads", this.#id, "desk", "notes"], { messageId, text });
  }

  typing(): Promise<unknown> {
    return this.#post(["threads", this.#id, "desk", "typing"], {});
  }

  draft(kind: "reply" | "summary", instruction: string): Promise<Draft> {
    const body = { kind, ...(instruction && { instruction }) };
    return this.#post<Draft>(["threads", this.#id, "desk", "draft"], body, DRAFT_MS);
  }

  handBack(note: string): Promise<unknown> {
    return this.#post(["threads", this.#id, "desk", "return"], { note });
  }

  transfer(deskId: string, note: string): Promise<unknown> {
    return this.#post(["threads", this.#id, "desk", "transfer"], { deskId, note });
  }

  close(): Promise<unknown> {
    return this.#post(["threads", this.#id, "close"], {});
  }

  /** Uploads a file and returns the part for a message. */
  async upload(file: File): Promise<FilePart> {
    const described = { name: file.name, contentType: file.type, size: file.size };
    const path = ["threads", this.#id, "files"];
    const { upload, part } = await this.#post<{ upload: UploadTarget; part: FilePart }>(path, described);
    const headers = Object.entries(upload.headers).filter(([name]) => name.toLowerCase() !== "content-length");
    const sent = await fetch(upload.url, { method: upload.method, headers: Object.fromEntries(headers), body: file });
    if (!sent.ok) throw new Error(`The file could not be stored: HTTP ${sent.status}.`);
    return part;
  }

  async #post<T>(path: readonly string[], body: unknown, timeoutMs?: number): Promise<T> {
    const options = { method: "POST", body, ...(timeoutMs && { timeoutMs }) } as const;
    return (await this.#api.request<T>(path, options)).value;
  }
}
