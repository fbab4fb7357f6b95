import { css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { type Problem, problemOf } from "../../api/problem.ts";
import type { Thread } from "../../api/shapes.ts";
import { count, when } from "../../components/numbers.ts";
import type { Column, ReadPage } from "../../components/paged-table.ts";
import { save } from "../../components/save.ts";
import { hrefOf } from "../../routes.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import { View } from "../view.ts";
import "../../components/paged-table.ts";
import "../../components/problem-note.ts";
import "./forget-report.ts";

const PAGE = 25;
const MAX_TITLE = 140;

const COLUMNS: readonly Column<Thread>[] = [
  {
    head: texts.conversation,
    cell: (each) =>
      html`<a href=${hrefOf(["threads", each.id])}>${(each.title ?? texts.untitled).slice(0, MAX_TITLE)}</a>`,
  },
  { head: texts.agent, cell: (each) => each.state.activeAgent.name },
  { head: texts.tokens, cell: (each) => count(each.usage.totalTokens), isNumber: true },
  { head: texts.lastActivity, cell: (each) => when(each.lastActivityAt) },
];

/** One user: what they talked about, everything that is stored of them as a file, and forgetting all of it. */
export class UsersView extends View {
  static override properties = {
    ...View.properties,
    read: { state: true },
    problem: { state: true },
    isExporting: { state: true },
    isAsking: { state: true },
  };
  static override styles = [
    base,
    css`
      form { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: end; margin-block-end: 16px; }
      section { margin-block-end: 24px; }
      .forget { border: 1px solid var(--danger); border-radius: var(--radius); padding: 12px 14px; max-inline-size: 640px; }
    `,
  ];
  protected declare read: ReadPage<Thread> | null;
  protected declare problem: Problem | null;
  protected declare isExporting: boolean;
  /** Whether the reader is asked to confirm that this user is to be forgotten. */
  protected declare isAsking: boolean;
  #shown = "";

  constructor() {
    super();
    this.read = null;
    this.problem = null;
    this.isExporting = false;
    this.isAsking = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("place") || this.#user === this.#shown) return;
    const user = this.#user;
    this.#shown = user;
    this.problem = null;
    this.isAsking = false;
    const mayRead = user && this.may("thread:read_all");
    this.read = mayRead
      ? (cursor, signal) =>
          this.api.page<Thread>(["threads"], { scope: "tenant", userId: user, limit: PAGE, cursor }, signal)
      : null;
  }

  protected override render(): TemplateResult {
    return html`
      <h1>${texts.users}</h1>
      <form role="search" @submit=${this.#looked}>
        <label>${texts.user}<input name="user" required maxlength="256" dir="auto" spellcheck="false" autocomplete="off" .value=${this.#user} /></label>
        <button type="submit" class="primary">${texts.lookUp}</button>
      </form>
      <problem-note .problem=${this.problem}></problem-note>
      ${this.#user ? this.#person(this.#user) : html`<p class="muted">${texts.whichUser}</p>`}
    `;
  }

  #person(user: string): TemplateResult {
    const { request } = this.place.parameters;
    return html`
      <h2 dir="auto">${user}</h2>
      <section class="row">
        <button type="button" ?disabled=${this.isExporting} @click=${this.#export}>${this.isExporting ? texts.loading : texts.exportUser}</button>
        <button type="button" class="danger" @click=${this.#ask}>${texts.forgetUser}</button>
      </section>
      ${this.isAsking ? this.#confirmation(user) : nothing}
      ${request ? html`<forget-report .context=${this.context} .requestId=${request}></forget-report>` : nothing}
      ${
        this.read
          ? html`<h2>${texts.threads}</h2><paged-table label=${texts.threads} .columns=${COLUMNS} .read=${this.read}></paged-table>`
          : html`<p class="muted">${texts.missing("thread:read_all")}</p>`
      }
    `;
  }

  #confirmation(user: string): TemplateResult {
    return html`<form class="forget" @submit=${this.#forget}>
      <p>${texts.forgetWarning}</p>
      <label>${texts.typeToConfirm(user)}<input name="typed" required autocomplete="off" spellcheck="false" dir="auto" /></label>
      <button type="submit" class="danger">${texts.forgetNow}</button>
      <button type="button" @click=${this.#ask}>${texts.cancel}</button>
    </form>`;
  }

  /** The user whose id was given; none for `me`, which is no user's id: the API would take the administrator. */
  get #user(): string {
    const given = this.place.path[1] ?? "";
    return given === "me" ? "" : given;
  }

  #looked = (event: SubmitEvent): void => {
    event.preventDefault();
    const user = String(new FormData(event.target as HTMLFormElement).get("user") ?? "").trim();
    if (user) location.hash = hrefOf(["users", user]);
  };

  #ask = (): void => {
    this.isAsking = !this.isAsking;
  };

  #forget = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const user = this.#user;
    if (new FormData(event.target as HTMLFormElement).get("typed") !== user) {
      this.context.notify(texts.notTheUser);
      return;
    }
    await this.#attempt(async () => {
      const asked = await this.api.request<{ requestId: string }>(["users", user, "memory"], { method: "DELETE" });
      this.isAsking = false;
      this.remember({ request: asked.value.requestId });
    });
  };

  #export = async (): Promise<void> => {
    this.isExporting = true;
    await this.#attempt(async () => {
      const answer = await this.api.send(["users", this.#user, "export"], { signal: this.left });
      save("user.jsonl", await answer.blob());
    });
    this.isExporting = false;
  };

  async #attempt(act: () => Promise<void>): Promise<void> {
    this.problem = null;
    try {
      await act();
    } catch (error) {
      if (!this.left.aborted) this.problem = problemOf(error);
    }
  }
}

customElements.define("console-users", UsersView);
