import { css, html, type PropertyValues, type TemplateResult } from "lit";
import type { Page, Parameters } from "../../api/console-api.ts";
import { type Problem, problemOf } from "../../api/problem.ts";
import type { WebhookDelivery } from "../../api/shapes.ts";
import { when } from "../../components/numbers.ts";
import type { Column, PagedTable, ReadPage } from "../../components/paged-table.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import "../../components/paged-table.ts";
import "../../components/problem-note.ts";

const PAGE = 50;
/** Events that are sent again at one click, so that a page that is left open does not work without end. */
const MOST = 1_000;
const PATH = ["webhooks", "deliveries"];
const { webhook: words } = texts;

/** Events that no receiver took in a day, which can be sent again. */
export class WebhooksView extends View {
  static override properties = {
    ...View.properties,
    read: { state: true },
    problem: { state: true },
    isSending: { state: true },
  };
  static override styles = [
    base,
    css`
      p { max-inline-size: 640px; }
    `,
  ];
  protected declare read: ReadPage<WebhookDelivery> | null;
  protected declare problem: Problem | null;
  /** Whether requests are on their way. */
  protected declare isSending: boolean;
  readonly #columns: readonly Column<WebhookDelivery>[];

  constructor() {
    super();
    this.read = null;
    this.problem = null;
    this.isSending = false;
    this.#columns = [
      { head: words.died, cell: (each) => html`<time datetime=${each.diedAt}>${when(each.diedAt)}</time>` },
      { head: words.receiver, cell: (each) => html`<code>${each.webhookId}</code>` },
      { head: words.event, cell: (each) => html`<code>${each.event}</code>` },
      { head: texts.conversation, cell: conversationOf },
      { head: texts.user, cell: (each) => each.userId },
      { head: texts.reason, cell: (each) => each.reason },
      { head: words.again, cell: (each) => this.#button(each) },
    ];
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("place") || this.read) return;
    this.read = (cursor, signal) =>
      this.api.page<WebhookDelivery>(PATH, { status: "dead", limit: PAGE, cursor }, signal);
  }

  protected override updated(changed: PropertyValues): void {
    // The rows are drawn by the table, which has to know that a button has changed.
    if (changed.has("isSending")) this.#table?.requestUpdate();
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.webhooks}</h1>
      <p class="muted">${words.explanation}</p>
      <problem-note .problem=${this.problem}></problem-note>
      <p><button type="button" ?disabled=${this.isSending} @click=${this.#sendAll}>${words.sendAll}</button></p>
      <paged-table label=${words.dead} .columns=${this.#columns} .read=${this.read}></paged-table>
    `;
  }

  get #table(): PagedTable<WebhookDelivery> | null {
    return this.renderRoot.querySelector<PagedTable<WebhookDelivery>>("paged-table");
  }

  #button({ id, event }: WebhookDelivery): TemplateResult {
    return html`<button type="button" ?disabled=${this.isSending} aria-label=${words.sendAgain(event)} @click=${() => this.#send(async () => [id])}>${words.send}</button>`;
  }

  #sendAll = (): Promise<void> => this.#send(() => this.#allIds());

  /** The ids of all that is listed, the oldest first: a conversation's events go out in their order. */
  async #allIds(): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const parameters: Parameters = { status: "dead", limit: 100, cursor };
      const page: Page<WebhookDelivery> = await this.api.page(PATH, parameters, this.left);
      ids.push(...page.items.map((each) => each.id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    return ids.reverse().slice(0, MOST);
  }

  async #send(find: () => Promise<readonly string[]>): Promise<void> {
    this.isSending = true;
    this.problem = null;
    try {
      const ids = await find();
      for (const id of ids) {
        await this.api.request([...PATH, id, "redeliver"], { method: "POST", signal: this.left });
      }
      this.context.notify(words.sent(ids.length));
    } catch (error) {
      if (!this.left.aborted) this.problem = problemOf(error);
    } finally {
      this.isSending = false;
      if (!this.left.aborted) this.#table?.reload();
    }
  }
}

function conversationOf({ threadId }: WebhookDelivery): TemplateResult {
  return html`<a href=${hrefOf(["threads", threadId])}><code>${threadId}</code></a>`;
}

customElements.define("console-webhooks", WebhooksView);
