import { html, nothing, type TemplateResult } from "lit";
import { type Branch, type FilePart, type MessageItem, previewOf, type Source, textOf } from "#client";
import { showsConsulted } from "../cards.ts";
import { explain } from "../failures.ts";
import { icons } from "../icons.ts";
import { initialOf, pictureOf } from "../people.ts";
import { define, Piece } from "../ui.ts";
import "./actions.ts";
import "./markdown.ts";

/** One message: who, what, what it rests on, and what went wrong. */
export class BatonMessage extends Piece {
  static override properties = {
    ...Piece.properties,
    item: { attribute: false },
    named: { type: Boolean },
    queued: { type: Boolean },
    delivered: { type: Boolean },
    editable: { type: Boolean },
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
  /** People have it, and have not answered yet. */
  declare delivered: boolean;
  /** The conversation can go on from it in another way. */
  declare editable: boolean;
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
      <article class="message ${role}" part="message message-${role}" aria-label=${[this.#author, this.item.author && this.say("person")].filter(Boolean).join(", ")}>
        ${this.named && role === "assistant" ? this.#byline() : nothing}
        ${this.isEdited ? html`<baton-chat-editor .ui=${this.ui} .item=${this.item} @baton-edited=${this.#leave}></baton-chat-editor>` : this.#body()}
        ${this.#passage()} ${this.#sources()} ${this.#marks()} ${this.#waits()} ${this.#failure()}
        ${this.isEdited ? nothing : html`<baton-chat-actions .ui=${this.ui} .item=${this.item} .askedBy=${this.askedBy} ?editable=${this.editable} .versions=${this.versions} @baton-edit=${this.#edit}></baton-chat-actions>`}
      </article>
    `;
  }

  #byline(): TemplateResult {
    const { author } = this.item;
    if (!author) return html`<div class="author" part="author">${this.#author}</div>`;
    const picture = pictureOf(author.avatarUrl);
    return html`<div class="author person" part="author">
      <span class="face" aria-hidden="true">${picture ? html`<img src=${picture} alt="" referrerpolicy="no-referrer" />` : initialOf(author.name)}</span>
      <bdi>${author.name}</bdi><span class="kind">${this.say("person")}</span>
    </div>`;
  }

  #body(): TemplateResult {
    const { role, open, attachments = [] } = this.item;
    const content = role === "assistant" ? this.#answer() : this.#said(); // white space around it would show
    return html`<div class="body" part="body" dir="auto" aria-busy=${open ? "true" : "false"}>${content}${attachments.map((part) => this.#file(part))}</div>`;
  }

  readonly #edit = async (): Promise<void> => {
    await import("./editor.ts").catch(() => {}); // without it, the message stays as it is
    this.isEdited = customElements.get("baton-chat-editor") !== undefined;
  };

  readonly #leave = async (): Promise<void> => {
    this.isEdited = false;
    await this.updateComplete;
    this.querySelector<HTMLElement>("baton-chat-actions [part~=edit-button]")?.focus();
  };

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
    const { sources = [] } = this.item;
    const { consulted = [] } = showsConsulted(this) ? this.item : {};
    if (!sources.length && !consulted.length) return nothing;
    void import("./sources.ts").catch(() => {}); // the next drawing tries again
    return html`<baton-chat-sources .ui=${this.ui} .sources=${sources} .consulted=${consulted}></baton-chat-sources>`;
  }

  #marks(): TemplateResult | typeof nothing {
    const { cancelled, steered, truncated, delivery } = this.item;
    const isSending = delivery === "sending" && !this.queued;
    const marks = [
      steered && this.say("steered"),
      cancelled && this.say("stopped"),
      truncated && this.say("truncated"),
      this.queued && this.say("queued"),
      this.delivered && this.say("delivered"),
      isSending && this.say("sending"),
    ];
    const words = marks.filter((mark) => mark !== false && mark !== undefined);
    return words.length
      ? html`<p class="mark ${isSending ? "late" : ""}">${this.queued ? icons.clock : this.delivered ? icons.check : nothing}${words.join(" ")}</p>`
      : nothing;
  }

  /** A message that was sent while a run was in progress, until it has its turn or has entered the run. */
  #waits(): TemplateResult | typeof nothing {
    const { waits, failed } = this.item;
    if (!waits || failed) return nothing;
    const words = { queued: "waitsForTurn", steered: "waitsToEnter", interrupts: "stopping" } as const;
    return html`<p class="mark" part="waits">${icons.clock}<span>${this.say(words[waits])}</span><button type="button" class="link" part="button withdraw-button" @click=${this.#withdraw}>${this.say("withdraw")}</button></p>`;
  }

  readonly #withdraw = (): void => {
    void this.ui.chat?.withdraw(this.item.id).catch(() => {}); // it is being answered, as its events show
  };

  #failure(): TemplateResult | typeof nothing {
    const { failed } = this.item;
    if (!failed) return nothing;
    const again = html`<button type="button" class="link" part="button retry-button" @click=${this.#retry}>${this.say("retry")}</button>`;
    const goOn = html`<button type="button" class="link" part="button go-on-button" @click=${this.#goOn}>${this.say("goOn")}</button>`;
    const button = failed.canContinue ? goOn : failed.retryable ? again : nothing;
    return html`<p class="failure" part="failure" role=${failed.canContinue ? "alert" : nothing}>${icons.alert}<span>${explain(this.ui.locale, { ...failed, message: failed.text })}</span>${button}</p>`;
  }

  #retry(): void {
    this.ui.chat?.retry(this.item);
  }

  #goOn(): void {
    this.ui.chat?.retry(this.item, { overSpending: true });
    this.dispatchEvent(new CustomEvent("baton-said", { bubbles: true }));
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
