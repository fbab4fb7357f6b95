import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Page } from "../../api/console-api.ts";
import { isAborted, type Problem, problemOf } from "../../api/problem.ts";
import type { Message } from "../../api/shapes.ts";
import { when } from "../../components/numbers.ts";
import { PageElement } from "../../components/page-element.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { textOf } from "../timeline/items.ts";
import type { ViewContext } from "../view.ts";
import { type Author, DeskActions, type DeskCase, type DeskItem, type Note } from "./desk-api.ts";
import type { DeskComposer } from "./desk-composer.ts";
import { words } from "./texts.ts";
import { UnsentTexts } from "./unsent.ts";
import "../../components/confirm-button.ts";
import "../../components/problem-note.ts";
import "./desk-composer.ts";

const PAGE = 50;

type Leaving = "return" | "transfer" | null;

interface Line {
  readonly key: string;
  readonly kind: "user" | "person" | "agent" | "note";
  readonly who: string;
  readonly text: string;
  readonly at: string;
  readonly files: readonly Readonly<Record<string, unknown>>[];
}

/** One conversation at a desk: what was said, and what a person can do. */
export class DeskConversation extends PageElement {
  static override properties = {
    context: { attribute: false },
    threadId: {},
    item: { attribute: false },
    parameters: { attribute: false },
    case: { state: true },
    messages: { state: true },
    olderCursor: { state: true },
    problem: { state: true },
    leaving: { state: true },
    isBusy: { state: true },
  };
  static override styles = [
    base,
    css`
      :host { display: flex; flex-direction: column; gap: 10px; min-block-size: 0; block-size: 100%; }
      header { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; }
      h2 { margin: 0; flex: 1 1 160px; overflow-wrap: anywhere; }
      .log { flex: 1 1 auto; min-block-size: 160px; overflow-y: auto; display: flex; flex-direction: column; gap: 8px; padding: 2px; }
      article { max-inline-size: min(80%, 620px); padding: 8px 12px; border-radius: 14px; background: var(--surface); overflow-wrap: anywhere; }
      article p { margin: 0; white-space: pre-wrap; }
      article small { display: block; color: var(--muted); }
      article.person { align-self: flex-end; background: color-mix(in srgb, var(--accent) 16%, var(--raised)); }
      article.agent { border: 1px dashed var(--border); background: none; }
      article.note { align-self: stretch; max-inline-size: none; background: color-mix(in srgb, var(--warning) 12%, var(--raised)); }
      .typing { min-block-size: 20px; }
      details dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 12px; margin: 6px 0; }
      dt { color: var(--muted); }
      dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
      .leave { display: grid; gap: 8px; border: 1px solid var(--border); border-radius: var(--radius); padding: 10px 14px; background: var(--raised); }
      .leave textarea { inline-size: 100%; }
      .back { display: none; }
      @media (max-width: 900px) { details dl { grid-template-columns: minmax(0, 1fr); max-block-size: 30vh; overflow-y: auto; } .back { display: inline; inline-size: 100%; } }
    `,
  ];
  declare context: ViewContext;
  declare threadId: string;
  /** Its entry in the list; null: it has left, or is not known yet. */
  declare item: DeskItem | null;
  declare parameters: Readonly<Record<string, string>>;
  protected declare case: DeskCase | null;
  protected declare messages: readonly Message[];
  protected declare olderCursor: string | null;
  protected declare problem: Problem | null;
  protected declare leaving: Leaving;
  protected declare isBusy: boolean;
  #shown = "";
  #seen = -1;
  #isAtEnd = true;
  /** Whether the person has just taken the conversation, and is about to write. */
  #hasTaken = false;
  /** The field grows and shrinks beside the messages. */
  readonly #sizes = new ResizeObserver(() => this.#stayAtEnd());

  constructor() {
    super();
    this.case = null;
    this.messages = [];
    this.olderCursor = null;
    this.problem = null;
    this.leaving = null;
    this.isBusy = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (this.threadId !== this.#shown) {
      this.#shown = this.threadId;
      this.#seen = -1;
      this.case = null;
      this.messages = [];
      this.leaving = null;
      this.problem = null;
      this.#isAtEnd = true;
      this.#hasTaken = false;
      this.askAnew();
    }
    const seq = this.item?.lastSeq ?? 0;
    if (changed.has("item") || this.#seen === -1) {
      if (seq !== this.#seen) void this.#read();
      this.#seen = seq;
    }
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#sizes.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sizes.disconnect();
  }

  protected override firstUpdated(): void {
    const log = this.renderRoot.querySelector(".log");
    if (log) this.#sizes.observe(log);
  }

  protected override updated(): void {
    this.#stayAtEnd();
    if (this.#hasTaken && this.#isMine) {
      this.#hasTaken = false;
      void this.#composer?.updateComplete.then(() => this.#composer?.begin());
    }
  }

  get #composer(): DeskComposer | null {
    return this.renderRoot.querySelector<DeskComposer>("desk-composer");
  }

  /** The newest state that is known: the list's, or that of the last reading. */
  get #current(): DeskItem | null {
    const [listed, read] = [this.item, this.case?.item ?? null];
    return listed && read && read.lastSeq > listed.lastSeq ? read : (listed ?? read);
  }

  /** Shows the newest message, unless the reader has scrolled away from it. */
  #stayAtEnd(): void {
    const log = this.renderRoot.querySelector(".log");
    if (log && this.#isAtEnd) log.scrollTop = log.scrollHeight;
  }

  protected override render(): TemplateResult {
    const item = this.#current;
    const hasLeft = this.problem !== null && [404, 409].includes(this.problem.status);
    return html`
      <header>
        <a class="back" href=${hrefOf(["desk"], this.parameters)}>← ${words.back}</a>
        <h2 dir="auto">${item ? (item.userName ?? item.userId) : texts.conversation}</h2>
        ${item && !hasLeft ? this.#buttons(item) : nothing}
      </header>
      ${hasLeft ? this.#left() : html`<problem-note .problem=${this.problem} canRetry @retry=${() => this.#read()}></problem-note>`}
      ${this.leaving && item && !hasLeft ? this.#leavingForm(this.leaving) : nothing}
      ${this.case && item ? this.#about(this.case, item) : nothing}
      <div class="log" role="log" aria-label=${words.conversation} tabindex="0" @scroll=${this.#scrolled}>
        ${this.olderCursor ? html`<p><button type="button" @click=${this.#readOlder}>${words.older}</button></p>` : nothing}
        ${this.#linesOf(item).map((each) => this.#line(each))}
      </div>
      <div class="typing muted" role="status" dir="auto">${item?.typing ? words.typing(item.userName ?? item.userId) : ""}</div>
      ${item && !hasLeft ? html`<desk-composer .context=${this.context} .threadId=${this.threadId} .isMine=${this.#isMine} .arrived=${this.#arrived} @sent=${() => this.#read()}></desk-composer>` : nothing}
    `;
  }

  #buttons(item: DeskItem): TemplateResult {
    if (item.status === "waiting")
      return html`<button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.#take}>${words.take}</button>`;
    if (!this.#isMine) return html`<span class="muted" dir="auto">${words.heldByOther(item.person?.name ?? "")}</span>`;
    const hasOthers = Boolean(this.case?.desks.length);
    return html`<button type="button" class="primary" ?disabled=${this.isBusy} @click=${() => this.#leave("return")}>${words.handBack}</button>
      ${hasOthers ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.#leave("transfer")}>${words.transfer}</button>` : nothing}
      <confirm-button label=${words.close} question=${words.closeQuestion} .isDisabled=${this.isBusy} @confirmed=${this.#close}></confirm-button>`;
  }

  #left(): TemplateResult {
    const { tenantId, userId } = this.context.person;
    const { reply, note } = new UnsentTexts(sessionStorage, tenantId, userId).read(this.threadId);
    const text = [reply, note].filter(Boolean).join("\n\n");
    return html`<div role="alert"><p>${text ? words.leftWithText : words.left}</p>${text ? html`<textarea readonly rows="4" aria-label=${words.message} .value=${text}></textarea>` : nothing}</div>`;
  }

  #leavingForm(leaving: "return" | "transfer"): TemplateResult {
    const isReturn = leaving === "return";
    return html`<form class="leave" aria-label=${isReturn ? words.handBack : words.transfer} @submit=${this.#confirmed}>
      ${isReturn ? nothing : html`<label>${words.toDesk}<select name="desk" required>${this.case?.desks.map((each) => html`<option value=${each.id}>${each.name}${each.isOpen ? "" : ` (${words.closed})`}</option>`)}</select></label>`}
      <label>${isReturn ? words.noteForAgent : words.noteForDesk}<textarea name="note" rows="3" maxlength="4000" dir="auto"></textarea></label>
      <div class="row"><button type="submit" class="primary" ?disabled=${this.isBusy}>${isReturn ? words.handBack : words.transfer}</button>
      <button type="button" @click=${() => this.#leave(null)}>${words.cancel}</button></div>
    </form>`;
  }

  #about({ reason, summary }: DeskCase, item: DeskItem): TemplateResult {
    const facts: [string, string | null][] = [
      [words.why, words.reasons[reason] ?? reason],
      [words.handedOver, summary],
      [words.user, item.userId],
      [words.language, item.locale],
      [words.zone, item.timeZone],
    ];
    return html`<details ?open=${item.status === "waiting"}><summary>${texts.details}</summary>
      <dl>${facts.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}</dl>
    </details>`;
  }

  #line({ key, kind, who, text, at, files }: Line): TemplateResult {
    return html`<article class=${kind} data-key=${key}>
      <small dir="auto">${who} · <time datetime=${at}>${when(at)}</time></small>
      ${text ? html`<p dir="auto">${text}</p>` : nothing}${files.map((each) => this.#file(each))}
    </article>`;
  }

  #file(part: Readonly<Record<string, unknown>>): TemplateResult {
    const about = (part.metadata ?? {}) as { name?: string; downloadUrl?: string | null };
    const name = about.name ?? words.file;
    if (!about.downloadUrl || !/^https?:/.test(about.downloadUrl))
      return html`<div class="muted">${name} (${words.fileGone})</div>`;
    return html`<div><a href=${about.downloadUrl} target="_blank" rel="noopener noreferrer">${name}</a></div>`;
  }

  get #isMine(): boolean {
    return this.#current?.person?.id === this.context.person.userId;
  }

  get #arrived(): ReadonlySet<string> {
    return new Set([...this.messages, ...(this.case?.notes ?? [])].map((each) => each.id));
  }

  get #actions(): DeskActions {
    return new DeskActions(this.context.api, this.threadId);
  }

  #linesOf(item: DeskItem | null): readonly Line[] {
    const user = item ? (item.userName ?? item.userId) : words.user;
    const lines = [
      ...this.messages.map((each) => lineOfMessage(each, user)),
      ...(this.case?.notes ?? []).map(lineOfNote),
    ];
    return lines.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  }

  async #read(): Promise<void> {
    const { left, threadId } = this;
    try {
      const [found, page] = await Promise.all([this.#actions.read(left), this.#page(null, left)]);
      if (threadId !== this.threadId) return;
      this.case = found;
      const known = new Set(page.items.map((each) => each.id));
      const isFirst = !this.messages.length;
      this.messages = [...this.messages.filter((each) => !known.has(each.id)), ...page.items];
      if (isFirst) this.olderCursor = page.nextCursor;
      this.problem = null;
    } catch (error) {
      if (threadId === this.threadId && !left.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
  }

  #readOlder = async (): Promise<void> => {
    const { left, threadId } = this;
    this.#isAtEnd = false;
    try {
      const page = await this.#page(this.olderCursor, left);
      if (threadId !== this.threadId) return;
      this.messages = [...page.items, ...this.messages];
      this.olderCursor = page.nextCursor;
    } catch (error) {
      if (!left.aborted && !isAborted(error)) this.problem = problemOf(error);
    }
  };

  #page(cursor: string | null, signal: AbortSignal): Promise<Page<Message>> {
    return this.context.api.page<Message>(["threads", this.threadId, "messages"], { limit: PAGE, cursor }, signal);
  }

  #scrolled = (event: Event): void => {
    const log = event.target as HTMLElement;
    this.#isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  };

  #take = async (): Promise<void> => {
    const { threadId } = this;
    const isDone = await this.#do(() => this.#actions.take(), words.taken);
    this.#hasTaken = isDone && threadId === this.threadId;
    await this.#read();
  };

  async #leave(leaving: Leaving): Promise<void> {
    this.leaving = leaving;
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(".leave select, .leave textarea")?.focus();
  }

  #confirmed = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.target as HTMLFormElement);
    const note = String(fields.get("note") ?? "").trim();
    const isDone =
      this.leaving === "return"
        ? await this.#do(() => this.#actions.handBack(note), words.handedBack)
        : await this.#do(() => this.#actions.transfer(String(fields.get("desk")), note), words.transferred);
    if (isDone) this.#depart();
  };

  #close = async (): Promise<void> => {
    if (await this.#do(() => this.#actions.close(), words.closing)) this.#depart();
  };

  #depart(): void {
    this.leaving = null;
    location.hash = hrefOf(["desk"], this.parameters);
  }

  /** Does something and says so, or says why not. Returns whether it was done. */
  async #do(act: () => Promise<unknown>, done: string): Promise<boolean> {
    this.isBusy = true;
    try {
      await act();
      this.context.notify(done);
      return true;
    } catch (error) {
      const problem = problemOf(error);
      const first = problem.body.person as Author | undefined;
      this.context.notify(problem.code === "desk_taken" && first ? words.wasFirst(first.name) : problem.message);
      return false;
    } finally {
      this.isBusy = false;
    }
  }
}

function lineOfMessage(message: Message, user: string): Line {
  const author = message.metadata.author as Author | undefined;
  const parts = Array.isArray(message.content) ? message.content.filter((each) => each.type !== "text") : [];
  const attached = (message.metadata.attachments ?? []) as Line["files"];
  const text = Array.isArray(message.content)
    ? message.content.flatMap((each) => (typeof each.text === "string" ? [each.text] : [])).join("\n")
    : textOf(message);
  return {
    key: message.id,
    kind: author ? "person" : message.role === "user" ? "user" : "agent",
    who: author?.name ?? (message.role === "user" ? user : (message.metadata.agentName ?? words.agent)),
    text,
    at: message.metadata.timestamp,
    files: [...parts, ...attached],
  };
}

function lineOfNote({ id, text, author, createdAt }: Note): Line {
  return { key: `note:${id}`, kind: "note", who: words.noteBy(author.name), text, at: createdAt, files: [] };
}

customElements.define("desk-conversation", DeskConversation);
