import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { BackgroundTask, BatonClient, BatonError, Chat, ChatSnapshot } from "#client";
import { explain } from "../failures.ts";
import { background } from "../styles/background.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

/** Until a question is repeated that was not answered. */
const AGAIN_MS = 10_000;

/** Work in the background of the conversation, which the user can cancel. Nothing, where none is open. */
export class BatonBackground extends Piece {
  static override readonly sheet = background;
  static override properties = {
    ...Piece.properties,
    client: { attribute: false },
    snapshot: { attribute: false },
    tasks: { state: true },
    problem: { state: true },
    isBusy: { state: true },
  };
  declare client: BatonClient | null;
  declare snapshot: ChatSnapshot | null;
  protected declare tasks: readonly BackgroundTask[];
  protected declare problem: string;
  protected declare isBusy: boolean;
  /** The conversation, its last run and the number of its calls when the list was asked for. */
  #asked = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The conversation whose events are heard, and what ends that. */
  #heard: Chat | null = null;
  #leave: (() => void) | undefined;

  constructor() {
    super();
    this.client = null;
    this.snapshot = null;
    this.tasks = [];
    this.problem = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#asked = "";
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
    this.#listen(null);
  }

  protected override willUpdate(_: PropertyValues<this>): void {
    this.#listen(this.isConnected ? this.ui.chat : null);
    const { threadId, run, isKnown, items, connection } = this.snapshot ?? {};
    const calls = items?.filter(({ role }) => role === "tool").length;
    const asked = `${threadId} ${items?.findLast(({ runId }) => runId)?.runId} ${calls}`;
    if (connection?.status !== "open") {
      this.#asked = ""; // no event reports its changes
      return;
    }
    if (!isKnown || run || asked === this.#asked) return; // it may begin and end with each run
    if (!asked.startsWith(this.#asked.split(" ")[0] ?? "")) this.tasks = [];
    this.#asked = asked;
    void this.#load();
  }

  /** Asks again when a task changes, and with every new connection: no event has reported its changes meanwhile. */
  #listen(chat: Chat | null): void {
    if (chat === this.#heard) return;
    this.#leave?.();
    this.#heard = chat;
    this.#leave = chat?.on("event", (event) => {
      if (event.type === "CUSTOM" && "name" in event && event.name === "background") void this.#load();
    });
  }

  protected override render(): TemplateResult | typeof nothing {
    const open = this.tasks.filter(isOpen);
    if (!open.length && !this.problem) return nothing;
    const heading = this.say("background");
    return html`<section class="background" part="background" aria-label=${heading}>
      <h3>${heading}</h3>
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      <ul>${open.map((task) => this.#line(task))}</ul>
    </section>`;
  }

  #line({ taskId, name, status, progress }: BackgroundTask): TemplateResult {
    const shown = this.#nameOf(name);
    return html`<li data-id=${taskId}>
      <span dir="auto">${shown}</span> <small dir="auto">${status === "waiting" ? this.say("waits") : progress || this.say("working")}</small>
      <button type="button" class="secondary small" part="button cancel-button" aria-label="${this.say("cancel")}: ${shown}" ?disabled=${this.isBusy} @click=${() => this.#cancel(taskId)}>${this.say("cancel")}</button>
    </li>`;
  }

  /** The name for people, as the conversation has it. */
  #nameOf(name: string): string {
    for (const item of this.snapshot?.items ?? []) {
      const agent = item.role === "research" ? item.agents.find(({ id }) => id === `asked:${name}`) : undefined;
      if (agent) return agent.name;
      if (item.role === "tool" && item.name === name && item.label) return item.label;
    }
    return name;
  }

  async #cancel(taskId: string): Promise<void> {
    const { client, snapshot } = this;
    if (!client || !snapshot) return;
    this.isBusy = true;
    this.problem = "";
    try {
      await client.api.cancelBackground(snapshot.threadId, taskId);
    } catch (error) {
      this.problem = explain(this.ui.locale, error as BatonError);
    }
    await this.#load();
    this.isBusy = false;
  }

  /** What cannot be read is asked for again: the conversation goes on without it. */
  async #load(): Promise<void> {
    clearTimeout(this.#timer);
    const { chat } = this.ui;
    if (!chat) return;
    const tasks = await chat.background().catch(() => null);
    if (chat !== this.ui.chat || !this.isConnected) return;
    if (tasks) this.tasks = tasks;
    else if (this.tasks.some(isOpen)) this.#timer = setTimeout(() => void this.#load(), AGAIN_MS);
  }
}

const isOpen = ({ status }: BackgroundTask): boolean => status === "working" || status === "waiting";

define("baton-chat-background", BatonBackground);
