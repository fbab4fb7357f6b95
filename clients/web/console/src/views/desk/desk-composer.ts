import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isComposing } from "../../../../widget/src/keys.ts";
import { submit } from "../../../../widget/src/submission.ts";
import { problemOf } from "../../api/problem.ts";
import { base } from "../../styles/base.ts";
import type { ViewContext } from "../view.ts";
import { DeskActions, type Draft, type FilePart } from "./desk-api.ts";
import { words } from "./texts.ts";
import { type Unsent, UnsentTexts } from "./unsent.ts";

const TYPING_MS = 3_000;
const MAX_NOTE = 4_000;

interface Attached {
  readonly name: string;
  readonly part: FilePart;
}

/** Writes to the user, or a note for people. What is not sent stays, also when the page is loaded again. */
export class DeskComposer extends LitElement {
  static override properties = {
    context: { attribute: false },
    threadId: {},
    isMine: { type: Boolean },
    arrived: { attribute: false },
    unsent: { state: true },
    files: { state: true },
    busy: { state: true },
    draft: { state: true },
  };
  static override styles = [
    base,
    css`
      form { display: grid; gap: 8px; border-block-start: 1px solid var(--border); padding-block-start: 10px; }
      form.note textarea { background: color-mix(in srgb, var(--warning) 12%, var(--raised)); }
      fieldset { border: 0; padding: 0; margin: 0; display: flex; flex-wrap: wrap; gap: 4px 14px; }
      fieldset label { flex-direction: row; align-items: center; gap: 6px; color: var(--text); font-size: 14px; }
      textarea { inline-size: 100%; min-block-size: 76px; max-block-size: 40vh; resize: vertical; }
      .actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
      .actions .primary { margin-inline-start: auto; }
      .files { display: flex; flex-wrap: wrap; gap: 6px; }
      .files span { border: 1px solid var(--border); border-radius: 8px; padding: 2px 8px; overflow-wrap: anywhere; }
      .summary { white-space: pre-wrap; border: 1px solid var(--border); border-radius: var(--radius); padding: 10px 14px; background: var(--surface); }
      @media (max-width: 760px) { .hint { display: none; } }
    `,
  ];
  declare context: ViewContext;
  declare threadId: string;
  /** Whether the person has taken the conversation; otherwise they can only leave notes. */
  declare isMine: boolean;
  /** Ids of the messages and notes that are shown: an attempt among them has arrived, even if its answer was lost. */
  declare arrived: ReadonlySet<string>;
  protected declare unsent: Unsent;
  protected declare files: readonly Attached[];
  protected declare busy: "send" | "reply" | "summary" | "file" | null;
  protected declare draft: { readonly kind: "reply" | "summary"; readonly value: Draft } | null;
  #texts: UnsentTexts | null = null;
  #typedAt = 0;

  constructor() {
    super();
    this.files = [];
    this.busy = null;
    this.draft = null;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const { tenantId, userId } = this.context.person;
    this.#texts ??= new UnsentTexts(sessionStorage, tenantId, userId);
    if (changed.has("threadId")) {
      this.unsent = this.#texts.read(this.threadId);
      this.files = [];
      this.draft = null;
    }
    const { attempt } = this.#texts.read(this.threadId);
    if (attempt && this.arrived.has(attempt.messageId)) this.#settle(this.threadId, attempt.messageId);
  }

  /** Turns to the user, and puts the caret into the field. */
  begin(): void {
    this.#change({ isNote: false });
    this.#focus();
  }

  #focus(): void {
    this.renderRoot.querySelector("textarea")?.focus();
  }

  protected override render(): TemplateResult {
    const isNote = this.#isNote;
    const label = isNote ? words.note : words.message;
    return html`<form class=${isNote ? "note" : ""} @submit=${this.#submitted}>
      ${this.draft?.kind === "summary" ? html`<div class="summary" role="status" dir="auto">${this.draft.value.text}</div>` : nothing}
      ${this.isMine ? this.#target(isNote) : nothing}
      <label>${label}<textarea name="text" dir="auto" maxlength=${isNote ? MAX_NOTE : nothing} .value=${this.#text} @input=${this.#typed} @keydown=${this.#keyed}></textarea></label>
      ${this.files.length && !isNote ? html`<div class="files">${this.files.map((each) => this.#file(each))}</div>` : nothing}
      ${this.draft?.value.sources.length ? html`<small class="muted">${words.sources}: ${this.draft.value.sources.map((each) => each.title ?? each.id).join(", ")}</small>` : nothing}
      <div class="actions">
        ${this.isMine && !isNote ? this.#replyTools() : nothing}
        <button type="button" ?disabled=${this.busy !== null} @click=${() => this.#ask("summary")}>${this.busy === "summary" ? words.summarising : words.summary}</button>
        <small class="muted hint">${words.hint}</small>
        <button type="submit" class="primary" ?disabled=${this.busy === "send" || this.busy === "file"}>${this.busy === "send" ? words.sending : isNote ? words.saveNote : words.send}</button>
      </div>
    </form>`;
  }

  #target(isNote: boolean): TemplateResult {
    const choice = (value: boolean, label: string) =>
      html`<label><input type="radio" name="target" .checked=${isNote === value} @change=${() => this.#change({ isNote: value })} />${label}</label>`;
    return html`<fieldset><legend class="unseen">${words.to}</legend>${choice(false, words.toUser)}${choice(true, words.toPeople)}</fieldset>`;
  }

  #replyTools(): TemplateResult {
    return html`<button type="button" ?disabled=${this.busy !== null} @click=${() => this.#ask("reply")}>${this.busy === "reply" ? words.drafting : words.draft}</button>
      <button type="button" ?disabled=${this.busy !== null} @click=${this.#choose}>${this.busy === "file" ? words.uploading : words.attach}</button>
      <input type="file" hidden aria-label=${words.attach} @change=${this.#attach} />`;
  }

  #file(file: Attached): TemplateResult {
    return html`<span>${file.name} <button type="button" class="link" aria-label=${words.remove(file.name)} @click=${() => this.#remove(file)}>×</button></span>`;
  }

  get #isNote(): boolean {
    return !this.isMine || this.unsent.isNote;
  }

  get #text(): string {
    return this.#isNote ? this.unsent.note : this.unsent.reply;
  }

  get #actions(): DeskActions {
    return new DeskActions(this.context.api, this.threadId);
  }

  #change(change: Partial<Unsent>): void {
    if (this.#texts) this.unsent = this.#texts.change(this.threadId, change);
  }

  #typed = (event: Event): void => {
    const { value } = event.target as HTMLTextAreaElement;
    this.#change(this.#isNote ? { note: value } : { reply: value });
    if (this.#isNote || !value || Date.now() - this.#typedAt < TYPING_MS) return;
    this.#typedAt = Date.now();
    void this.#actions.typing().catch(() => {}); // it only shows the user that somebody writes
  };

  #keyed = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    submit(this.renderRoot.querySelector("form"));
  };

  #submitted = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const { threadId, files } = this;
    const isNote = this.#isNote;
    const text = this.#text.trim();
    if (this.busy === "send" || this.busy === "file" || !this.#texts || !(text || (files.length && !isNote))) return;
    this.busy = "send";
    const parts = isNote ? [] : files.map((each) => each.part);
    const messageId = this.#texts.attempt(threadId, { isNote, text, files: parts });
    try {
      const actions = this.#actions;
      await (isNote ? actions.note(messageId, text) : actions.reply(messageId, text, parts));
      this.#settle(threadId, messageId);
      this.dispatchEvent(new Event("sent"));
    } catch (error) {
      this.context.notify(problemOf(error).message);
    }
    this.busy = null;
  };

  /** Takes out what has been sent, and keeps what was written since. */
  #settle(threadId: string, messageId: string): void {
    if (!this.#texts) return;
    const content = this.#texts.read(threadId).attempt?.content;
    const unsent = this.#texts.settle(threadId, messageId);
    if (threadId !== this.threadId) return;
    this.unsent = unsent;
    const sent = content?.files.map((part) => JSON.stringify(part)) ?? [];
    this.files = this.files.filter((each) => !sent.includes(JSON.stringify(each.part)));
    this.draft = null;
    this.#typedAt = 0;
  }

  async #ask(kind: "reply" | "summary"): Promise<void> {
    const { threadId } = this;
    this.busy = kind;
    try {
      const value = await this.#actions.draft(kind, "");
      if (threadId !== this.threadId) return;
      this.draft = { kind, value };
      if (kind === "reply")
        this.#change({ reply: [this.unsent.reply.trim(), value.text].filter(Boolean).join("\n\n") });
      if (kind === "reply") this.#focus();
    } catch (error) {
      this.context.notify(problemOf(error).message);
    } finally {
      this.busy = null;
    }
  }

  #choose = (): void => {
    this.renderRoot.querySelector<HTMLInputElement>("input[type=file]")?.click();
  };

  #attach = async (event: Event): Promise<void> => {
    const field = event.target as HTMLInputElement;
    const file = field.files?.[0];
    field.value = "";
    if (!file) return;
    const { threadId } = this;
    this.busy = "file";
    try {
      const part = await this.#actions.upload(file);
      if (threadId === this.threadId) this.files = [...this.files, { name: file.name, part }];
    } catch (error) {
      this.context.notify(problemOf(error).message);
    }
    this.busy = null;
  };

  #remove(file: Attached): void {
    this.files = this.files.filter((each) => each !== file);
  }
}

customElements.define("desk-composer", DeskComposer);
