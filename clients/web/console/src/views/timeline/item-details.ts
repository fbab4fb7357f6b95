import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { problemOf } from "../../api/problem.ts";
import type { Handoff, Message, Task, Thread, ToolCall, Turn } from "../../api/shapes.ts";
import { cost, count, duration, when } from "../../components/numbers.ts";
import { hrefOf } from "../../routes.ts";
import { may } from "../../session/session.ts";
import { base } from "../../styles/base.ts";
import { texts } from "../../texts.ts";
import type { ViewContext } from "../view.ts";
import { keepDraft } from "./drafts.ts";
import type { Item } from "./items.ts";
import { textOf } from "./items.ts";
import { sourceList } from "./source-list.ts";
import "../../components/text-viewer.ts";
import "./trace-waterfall.ts";
import "./turn-bars.ts";

type Fact = readonly [string, unknown];

/** Everything about one item: who, when, how long, what went in and what came out. */
export class ItemDetails extends LitElement {
  static override properties = {
    item: { attribute: false },
    items: { attribute: false },
    threadId: { attribute: false },
    context: { attribute: false },
    isCopying: { state: true },
  };
  static override styles = [
    base,
    css`
      h2 { margin: 0 0 8px; overflow-wrap: anywhere; }
      dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 12px; margin: 0 0 8px; }
      dt { color: var(--muted); }
      dd { margin: 0; overflow-wrap: anywhere; }
      .actions { display: flex; flex-wrap: wrap; gap: 8px; margin-block: 8px; }
      .sources :is(h3, ul) { margin: 8px 0 4px; padding: 0; list-style: none; font-size: inherit; }
      .sources blockquote { margin: 2px 0 6px; padding-inline-start: 10px; border-inline-start: 3px solid var(--border); }
    `,
  ];
  declare item: Item;
  /** All items that are shown, for those of a turn. */
  declare items: readonly Item[];
  declare threadId: string;
  declare context: ViewContext;
  protected declare isCopying: boolean;

  protected override render(): TemplateResult {
    const { item } = this;
    return html`
      <h2 dir="auto">${texts.kinds[item.kind]}: ${item.title || texts.untitled}</h2>
      <div class="actions">
        ${this.#actions(item)}
        <button type="button" @click=${this.#copy}>${texts.copyLink}</button>
        <button type="button" @click=${() => this.#select(null)}>${texts.close}</button>
      </div>
      ${this.#facts([
        [texts.who, item.lane],
        [texts.time, when(item.at)],
        [texts.status, texts.statuses[item.status]],
        [texts.took, duration(item.durationMs)],
        [texts.tokens, count(item.tokens)],
        ...this.#factsOf(item),
      ])}
      ${this.#content(item)}
    `;
  }

  #facts(facts: readonly Fact[]): TemplateResult {
    const known = facts.filter(([, value]) => value !== "–" && value !== null && value !== undefined && value !== "");
    return html`<dl>${known.map(([name, value]) => html`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}</dl>`;
  }

  #actions(item: Item): unknown {
    if (!item.runId) return nothing;
    const { person } = this.context;
    const turn = `turn:${item.runId}`;
    return html`
      ${may(person, "context:inspect") ? html`<a href=${hrefOf(["threads", this.threadId, "turns", item.runId])}>${texts.inspect}</a>` : nothing}
      <a href=${hrefOf(["compare"], { left: `${this.threadId}/${item.runId}` })}>${texts.compareRun}</a>
      ${item.kind === "turn" ? this.#sandboxes(item.record as Turn) : nothing}
      ${item.kind === "turn" ? nothing : html`<button type="button" class="link" @click=${() => this.#select(turn)}>${texts.showTurn}</button>`}
    `;
  }

  #sandboxes(turn: Turn): unknown {
    if (turn.status === "running" || turn.status === "interrupted") return nothing;
    const button = (label: string, includeTurn: boolean) =>
      html`<button type="button" ?disabled=${this.isCopying} @click=${() => this.#copyThread(turn, includeTurn)}>${label}</button>`;
    return html`${button(texts.continueInSandbox, true)}${button(texts.askAgainInSandbox, false)}`;
  }

  async #copyThread(turn: Turn, includeTurn: boolean): Promise<void> {
    this.isCopying = true;
    try {
      const body = { messageId: turn.messageId, includeTurn };
      const { value } = await this.context.api.request<Thread>(["threads", this.threadId, "sandbox"], {
        method: "POST",
        body,
      });
      const question = this.items.find((each) => each.key === `message:${turn.messageId}`);
      const draft = includeTurn || !question ? "" : textOf(question.record as Message);
      keepDraft(value.id, draft);
      location.hash = hrefOf(["threads", value.id]);
    } catch (error) {
      this.context.notify(problemOf(error).message);
    }
    this.isCopying = false;
  }

  #factsOf({ kind, record }: Item): readonly Fact[] {
    if (kind === "turn") {
      const turn = record as Turn;
      return [
        [texts.model, turn.model],
        [texts.firstToken, duration(turn.firstTokenMs)],
        [texts.inputTokens, count(turn.usage?.inputTokens)],
        [texts.outputTokens, count(turn.usage?.outputTokens)],
        [texts.cost, cost(turn.cost)],
        [texts.error, turn.errorCode],
        [texts.attempt, turn.attempt > 1 ? turn.attempt : ""],
        [texts.run, html`<code>${turn.runId}</code>`],
        [texts.trace, turn.traceId ? traceLink(this.context.traces.traceUrl, turn.traceId) : null],
      ];
    }
    if (kind === "handoff") {
      const handoff = record as Handoff;
      const child = handoff.childThreadId;
      return [
        [texts.outcome, handoff.outcome],
        [texts.fork, child ? html`<a href=${hrefOf(["threads", child])}>${child}</a>` : null],
      ];
    }
    return [];
  }

  #content({ kind, record, runId, title }: Item): unknown {
    if (kind === "thinking") return html`<text-viewer label=${texts.text} .value=${title}></text-viewer>`;
    if (kind === "message")
      return html`<text-viewer label=${texts.text} .value=${textOf(record as Message)}></text-viewer>${this.#rest(record as Message)}`;
    if (kind === "call" || kind === "workflow") {
      const call = record as ToolCall;
      return html`<text-viewer label=${texts.input} .value=${call.input}></text-viewer><text-viewer label=${texts.output} .value=${call.output}></text-viewer><text-viewer label=${texts.error} .value=${call.errorMessage}></text-viewer>`;
    }
    if (kind === "task") {
      const task = record as Task;
      return html`<text-viewer label=${texts.question} .value=${task.message}></text-viewer><text-viewer label=${texts.result} .value=${task.result}></text-viewer><text-viewer label=${texts.error} .value=${task.error}></text-viewer>`;
    }
    if (kind === "handoff") {
      const handoff = record as Handoff;
      return html`<text-viewer label=${texts.reason} .value=${handoff.handoffReason}></text-viewer><text-viewer label=${texts.summary} .value=${handoff.contextSummary}></text-viewer>`;
    }
    const own = this.items.filter((each) => each.runId === runId && each.kind !== "turn");
    return html`<turn-bars .items=${own}></turn-bars>${this.#waterfall(record as Turn)}`;
  }

  /** Shows the turn's trace where the local cloud has collected it. */
  #waterfall({ traceId }: Turn): unknown {
    const { person, traces } = this.context;
    if (!traceId || !traces.traces || !may(person, "context:inspect")) return nothing;
    return html`<trace-waterfall .api=${this.context.api} .path=${traces.traces} .traceId=${traceId}></trace-waterfall>`;
  }

  /** Shows what a message says besides its text: metadata and the user's opinion. */
  #rest(message: Message): TemplateResult {
    const { sources, consulted } = message.metadata;
    return html`
      ${sourceList(texts.sources, sources)} ${sourceList(texts.consulted, consulted)}
      ${message.feedback ? html`<text-viewer label=${texts.feedback} .value=${message.feedback}></text-viewer>` : nothing}
      <text-viewer label=${texts.metadata} .value=${message.metadata}></text-viewer>
    `;
  }

  #select(key: string | null): void {
    this.dispatchEvent(new CustomEvent("select", { detail: key }));
  }

  #copy = async (): Promise<void> => {
    const address = new URL(hrefOf(["threads", this.threadId], { at: this.item.key }), location.href);
    try {
      await navigator.clipboard.writeText(address.href);
      this.context.notify(texts.copied);
    } catch {
      this.context.notify(address.href);
    }
  };
}

/** The address of a trace elsewhere, or its id where there is none. */
export function traceLink(template: string | undefined, traceId: string): TemplateResult {
  if (!template) return html`<code>${traceId}</code>`;
  const address = template.replaceAll("{traceId}", encodeURIComponent(traceId));
  return html`<a href=${address} target="_blank" rel="noreferrer noopener">${traceId}</a>`;
}

customElements.define("item-details", ItemDetails);
