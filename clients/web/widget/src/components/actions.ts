import { html, nothing, type TemplateResult } from "lit";
import { type Branch, type MessageItem, textOf } from "#client";
import { icons } from "../icons.ts";
import { define, Piece } from "../ui.ts";

/** What can be done with a message: copy it, change it, have it answered again, and see what was there instead. */
export class BatonActions extends Piece {
  static override properties = {
    ...Piece.properties,
    item: { attribute: false },
    askedBy: { attribute: false },
    versions: { attribute: false },
    idle: { type: Boolean },
    copied: { state: true },
  };
  declare item: MessageItem;
  /** The user's message that it answers, where that can be answered again from here. */
  declare askedBy: string | null;
  /** The alternatives of a message of the user's. */
  declare versions: readonly Branch[];
  /** Nothing is being answered, and there is a connection. */
  declare idle: boolean;
  declare copied: boolean;

  constructor() {
    super();
    this.copied = false;
  }

  protected override render(): TemplateResult | typeof nothing {
    const { role, content, open, delivery } = this.item;
    if (open || delivery) return nothing;
    const isAnswer = role === "assistant";
    return html`<div class="actions" part="actions">
      ${isAnswer ? this.#button("copy", this.copied ? icons.check : icons.copy, this.say(this.copied ? "copied" : "copyAnswer"), this.#copy) : nothing}
      ${isAnswer && this.askedBy ? this.#button("regenerate", icons.again, this.say("regenerate"), this.#regenerate, !this.idle) : nothing}
      ${this.#versions()}
      ${!isAnswer && typeof content === "string" ? this.#button("edit", icons.edit, this.say("edit"), this.#edit, !this.idle) : nothing}
    </div>`;
  }

  #versions(): TemplateResult | typeof nothing {
    const at = this.versions.findIndex(({ selected }) => selected);
    const count = this.versions.length;
    if (count < 2 || at < 0) return nothing;
    const label = this.say("version", { at: at + 1, count });
    return html`<span class="versions" part="versions" role="group" aria-label=${label}>
      ${this.#button("previous", icons.previous, this.say("previousVersion"), () => this.#select(at - 1), !this.idle || at === 0)}
      <span>${at + 1} / ${count}</span>
      ${this.#button("next", icons.next, this.say("nextVersion"), () => this.#select(at + 1), !this.idle || at === count - 1)}
    </span>`;
  }

  #button(name: string, icon: unknown, label: string, act: () => void, disabled = false): TemplateResult {
    return html`<button type="button" class="round quiet" part="button ${name}-button" title=${label} aria-label=${label} ?disabled=${disabled} @click=${act}>${icon}</button>`;
  }

  readonly #copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(textOf(this.item.content));
    } catch {
      return; // the page may not write there
    }
    this.copied = true;
    setTimeout(() => {
      this.copied = false;
    }, 2000);
  };

  readonly #regenerate = (): void => {
    if (this.askedBy) this.ui.chat?.regenerate(this.askedBy);
  };

  readonly #edit = (): void => {
    this.dispatchEvent(new CustomEvent("baton-edit", { bubbles: true }));
  };

  #select(at: number): void {
    const branch = this.versions[at];
    if (branch) void this.ui.chat?.selectBranch(branch.branchId).catch(() => {}); // the chat tells what went wrong
  }
}

define("baton-chat-actions", BatonActions);
