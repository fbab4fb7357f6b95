import { html, nothing, type TemplateResult } from "lit";
import { type Branch, type FilePart, type MessageItem, previewOf, type Source, textOf } from "#client";
import { icons } from "../icons.ts";
import { isComposing } from "../keys.ts";
import { submit } from "../submission.ts";
import { define, isIdle, Piece } from "../ui.ts";
import "./actions.ts";
import "./markdown.ts";

/** One message: who, what, what it rests on, and what went wrong. */
export class BatonMessage extends Piece {
  static override properties = {
    ...Piece.properties,
    item: { attribute: false },
    named: { type: Boolean },
    queued: { type: Boolean },
    askedBy: { attribute: false },
    versions: { attribute: false },
    isEdited: { state: true },
    passage: { state: true },
  };
  declare item: MessageItem;
  /** Whether its author stands above it: not, where the message before is by the same. */
  declare named: boolean;
  /** It waits for a connection. */
  declare queued: boolean;
  declare askedBy: string | null;
  declare versions: readonly Branch[];
  declare isEdited: boolean;
  /** The passage that is shown, and the citation that shows it. */
  declare passage: { readonly source: Source; readonly at: HTMLButtonElement } | null;

  constructor() {
    super();
    this.isEdited = false;
    this.passage = null;
  }

  protected override render(): TemplateResult {
    const { role } = this.item;
    return html`
      <article class="message ${role}" part="message message-${role}" aria-label=${this.#author}>
        ${this.named && role === "assistant" ? html`<div class="author" part="author">${this.#author}</div>` : nothing}
        ${this.isEdited ? this.#editor() : this.#body()}
        ${this.#passage()} ${this.#sources()} ${this.#marks()} ${this.#failure()}
        ${this.isEdited ? nothing : html`<baton-chat-actions .ui=${this.ui} .item=${this.item} .askedBy=${this.askedBy} .versions=${this.versions} @baton-edit=${this.#edit}></baton-chat-actions>`}
      </article>
    `;
  }

  #body(): TemplateResult {
    const { role, open } = this.item;
    return html`<div class="body" part="body" dir="auto" aria-busy=${open ? "true" : "false"}>${role === "assistant" ? this.#answer() : this.#said()}</div>`;
  }

  #editor(): TemplateResult {
    return html`<form class="editor" @submit=${this.#save} @keydown=${this.#keyed}>
      <textarea part="input" rows="3" dir="auto" aria-label=${this.say("edit")} .value=${textOf(this.item.content)}></textarea>
      <p class="buttons">
        <button type="button" class="secondary small" part="button cancel-button" @click=${this.#leave}>${this.say("cancel")}</button>
        <button type="submit" class="primary small when-idle" part="button save-button">${this.say("save")}</button>
      </p>
    </form>`;
  }

  readonly #edit = async (): Promise<void> => {
    this.isEdited = true;
    await this.updateComplete;
    this.querySelector("textarea")?.focus();
  };

  readonly #leave = async (): Promise<void> => {
    this.isEdited = false;
    await this.updateComplete;
    this.querySelector<HTMLElement>("baton-chat-actions [part~=edit-button]")?.focus();
  };

  #save(event: Event): void {
    event.preventDefault();
    const text = this.querySelector("textarea")?.value.trim() ?? "";
    if (!text || !isIdle(this.ui.chat?.snapshot)) return;
    if (text !== textOf(this.item.content)) this.ui.chat?.edit(this.item.id, text);
    void this.#leave();
  }

  #keyed(event: KeyboardEvent): void {
    if (isComposing(event) || (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey))) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") void this.#leave();
    else submit(event.currentTarget as HTMLFormElement);
  }

  get #author(): string {
    return this.item.role === "user" ? this.say("you") : (this.item.name ?? this.say("assistant"));
  }

  #answer(): TemplateResult {
    const { content, open, sources } = this.item;
    return html`<baton-chat-markdown class="markdown" .ui=${this.ui} .text=${textOf(content)} .complete=${!open} .sources=${sources} @click=${this.#cited}></baton-chat-markdown>`;
  }

  readonly #cited = async (event: Event): Promise<void> => {
    const at = (event.target as Element).closest<HTMLButtonElement>(".citation button");
    const source = this.item.sources?.find(({ number }) => String(number) === at?.dataset.number);
    if (!at || !source || this.passage?.at === at) return;
    await import("./passage.ts");
    this.passage = { source, at };
  };

  #passage(): TemplateResult | typeof nothing {
    if (!this.passage) return nothing;
    const { source, at } = this.passage;
    return html`<baton-chat-passage .ui=${this.ui} .source=${source} .at=${at} @baton-hide=${this.#hidden}></baton-chat-passage>`;
  }

  readonly #hidden = (): void => {
    this.passage = null;
  };

  #said(): TemplateResult | TemplateResult[] {
    const { content } = this.item;
    if (typeof content === "string") return html`<p>${content}</p>`;
    return content.map((part) => (part.type === "text" ? html`<p>${part.text}</p>` : this.#file(part)));
  }

  #file(part: FilePart): TemplateResult {
    const { type, source, metadata } = part;
    const name = metadata?.name ?? (source?.type === "url" ? source.value : type);
    const address = addressOfFile(source, metadata?.downloadUrl) ?? previewOf(part) ?? null;
    if (type === "image" && address && source?.type !== "url") {
      return html`<a class="picture" href=${address} target="_blank" rel="noopener noreferrer" download=${name}><img src=${address} alt=${name} loading="lazy" /></a>`;
    }
    const label = html`${icons.file}<span>${name}</span>`;
    if (!address) return html`<span class="file" part="file">${label}</span>`;
    return html`<a class="file" part="file" href=${address} target="_blank" rel="noopener noreferrer" download=${name}>${label}</a>`;
  }

  #sources(): TemplateResult | typeof nothing {
    const { sources = [], consulted = [] } = this.item;
    if (!sources.length && !consulted.length) return nothing;
    void import("./sources.ts").catch(() => {}); // the next drawing tries again
    return html`<baton-chat-sources .ui=${this.ui} .sources=${sources} .consulted=${consulted}></baton-chat-sources>`;
  }

  #marks(): TemplateResult | typeof nothing {
    const { cancelled, truncated } = this.item;
    const marks = [
      cancelled && this.say("stopped"),
      truncated && this.say("truncated"),
      this.queued && this.say("queued"),
    ];
    const words = marks.filter((mark) => mark !== false && mark !== undefined);
    return words.length ? html`<p class="mark">${this.queued ? icons.clock : nothing}${words.join(" ")}</p>` : nothing;
  }

  #failure(): TemplateResult | typeof nothing {
    const { failed } = this.item;
    if (!failed) return nothing;
    const again = html`<button type="button" class="link" part="button retry-button" @click=${this.#retry}>${this.say("retry")}</button>`;
    return html`<p class="failure" part="failure">${icons.alert}<span>${failed.text}</span>${failed.retryable ? again : nothing}</p>`;
  }

  #retry(): void {
    this.ui.chat?.retry(this.item);
  }
}

function addressOfFile(source: FilePart["source"], downloadUrl: string | null | undefined): string | null {
  if (downloadUrl && /^https?:/i.test(downloadUrl)) return downloadUrl;
  if (source?.type === "data" && /^[\w.+-]+\/[\w.+-]+$/.test(source.mimeType ?? "")) {
    return `data:${source.mimeType};base64,${source.value}`;
  }
  return source?.type === "url" && /^https?:/i.test(source.value) ? source.value : null;
}

define("baton-chat-message", BatonMessage);
