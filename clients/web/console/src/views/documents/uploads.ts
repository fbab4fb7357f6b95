import type { ConsoleApi } from "../../api/console-api.ts";
import { isAborted, Problem, problemOf } from "../../api/problem.ts";
import { announce, type Document, type UploadTarget } from "./documents-api.ts";
import { documentTexts as say } from "./texts.ts";

export const MOST_BYTES = 50 * 1024 * 1024;
const AT_ONCE = 3;
const MOST_FILES = 500;
const BY_ENDING: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  html: "text/html",
  htm: "text/html",
  xhtml: "application/xhtml+xml",
  md: "text/markdown",
  markdown: "text/markdown",
  txt: "text/plain",
  csv: "text/csv",
};

export type UploadState = keyof typeof say.states;

/** A file on its way. */
export interface FileUpload {
  readonly id: number;
  readonly name: string;
  readonly state: UploadState;
  /** Percent of the file that was sent. */
  readonly sent: number;
  readonly message: string;
}

/** How a file is uploaded. */
export interface UploadOptions {
  /** The document that it is a new version of. */
  readonly documentId?: string;
  readonly requiredPermission?: string;
}

/** The media type of a file by its name: browsers do not know all of them. Null: it is none that is taken in. */
export const typeOf = (name: string): string | null => BY_ENDING[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? null;

/** Sends bytes to an address, and tells how far it is. */
export type Send = (
  target: UploadTarget,
  file: Blob,
  tell: (sent: number) => void,
  signal: AbortSignal,
) => Promise<void>;

/** Uploads files, a few at a time. */
export class Uploads {
  readonly #api: ConsoleApi;
  readonly #agentId: string;
  readonly #signal: AbortSignal;
  readonly #changed: () => void;
  readonly #arrived: (document: Document) => void;
  readonly #send: Send;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;
  #next = 1;
  #all: readonly FileUpload[] = [];

  constructor(
    api: ConsoleApi,
    agentId: string,
    signal: AbortSignal,
    { changed, arrived, send = put }: { changed: () => void; arrived: (document: Document) => void; send?: Send },
  ) {
    this.#api = api;
    this.#agentId = agentId;
    this.#signal = signal;
    this.#changed = changed;
    this.#arrived = arrived;
    this.#send = send;
  }

  get all(): readonly FileUpload[] {
    return this.#all;
  }

  /** Puts files into the queue. */
  add(files: Iterable<File>, options: UploadOptions = {}): void {
    for (const file of [...files].slice(0, MOST_FILES)) {
      const id = this.#next++;
      const added: FileUpload = { id, name: file.name, state: "waiting", sent: 0, message: "" };
      this.#all = [...this.#all, added].slice(-MOST_FILES);
      const refusal = refusalOf(file);
      if (refusal) this.#set(id, { state: "failed", message: refusal });
      else this.#waiting.push(() => this.#upload(id, file, options));
    }
    this.#changed();
    this.#begin();
  }

  #begin(): void {
    while (this.#running < AT_ONCE && !this.#signal.aborted) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#running += 1;
      void next().finally(() => {
        this.#running -= 1;
        this.#begin();
      });
    }
  }

  async #upload(id: number, file: File, options: UploadOptions): Promise<void> {
    try {
      this.#set(id, { state: "hashing" });
      const sha256 = await sha256Of(file);
      const described = { name: file.name, contentType: typeOf(file.name) ?? "", size: file.size, sha256, ...options };
      const { document, upload } = await announce(this.#api, this.#agentId, described, this.#signal);
      if (upload) {
        this.#set(id, { state: "sending" });
        await this.#send(upload, file, (sent) => this.#set(id, { sent }), this.#signal);
      }
      this.#set(id, { state: upload ? "sent" : "known", sent: 100 });
      this.#arrived(document);
    } catch (error) {
      if (!isAborted(error)) this.#set(id, { state: "failed", message: problemOf(error).message });
    }
  }

  #set(id: number, change: Partial<FileUpload>): void {
    this.#all = this.#all.map((each) => (each.id === id ? { ...each, ...change } : each));
    this.#changed();
  }
}

function refusalOf(file: File): string {
  if (typeOf(file.name) === null) return say.unsupported;
  if (file.size === 0) return say.empty;
  return file.size > MOST_BYTES ? say.tooLarge(MOST_BYTES / 1024 / 1024) : "";
}

async function sha256Of(file: Blob): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `fetch` cannot tell how much it has sent. */
function put(target: UploadTarget, file: Blob, tell: (sent: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(target.method, target.url);
    for (const [name, value] of Object.entries(target.headers)) {
      if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total }) => tell(total ? Math.floor((100 * loaded) / total) : 0);
    request.onload = () => {
      if (request.status < 300) resolve();
      else reject(new Problem(request.status, {}, `The file could not be stored: HTTP ${request.status}.`));
    };
    request.onerror = () => reject(new Problem(0, {}, "The file could not be sent."));
    request.onabort = () => reject(new DOMException("Aborted", "AbortError"));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
