import { html, nothing, svg, type TemplateResult } from "lit";
import type { AgentProgress, ResearchItem } from "#client";
import { icon } from "../icons.ts";
import type { Sentence } from "../locales/index.ts";
import { research } from "../styles/research.ts";
import { define, Piece } from "../ui.ts";
import "../locales/later.ts";

const lens = icon(svg`<circle cx="11" cy="11" r="6.5"/><path d="M16 16l4.5 4.5"/>`);

const PROGRESS: Readonly<Record<AgentProgress, Sentence>> = {
  asked: "asked",
  working: "working",
  waiting: "waits",
  done: "done",
  failed: "failed",
  late: "late",
  stopped: "stopped",
  background: "background",
};

/** Other agents that are being asked, and how far each is. */
export class BatonResearch extends Piece {
  static override readonly sheet = research;
  static override properties = { ...Piece.properties, item: { attribute: false } };
  declare item: ResearchItem;

  protected override render(): TemplateResult {
    const { content, agents, open } = this.item;
    const label = open ? (content.label ?? this.say("researching")) : this.say("research");
    return html`
      <section class="research ${open ? "busy" : ""}" part="research" aria-label=${this.say("research")}>
        <p class="label" dir="auto">${lens}<span>${label}</span></p>
        <ul>
          ${agents.map(
            ({ name, progress, message }) => html`<li data-progress=${progress}>
              <span class="name">${name}</span> <span class="progress">${this.say(PROGRESS[progress])}</span>${message ? html`<span class="why">${message}</span>` : nothing}
            </li>`,
          )}
        </ul>
        ${content.notice ? html`<p class="notice" dir="auto">${content.notice}</p>` : nothing}
      </section>
    `;
  }
}

define("baton-chat-research", BatonResearch);
