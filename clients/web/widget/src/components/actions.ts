import { html, nothing, type TemplateResult } from "lit";
import { type Branch, type MessageItem, textOf } from "#client";
import { icons } from "../icons.ts";
import { define, Piece } from "../ui.ts";

/** What few readers do is loaded when the first does it. */
const loadFeedback = () => import("./feedback.ts");

interface Look {
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  /** Only while nothing is being answered, and there is a connection: the style sheet hides it else. */
  readonly whenIdle?: boolean;
}

const WHEN_IDLE: Look = { whenIdle: true };

/** What can be done with a message: copy it, change it, have it answered again, and see what was there instead. */
export class BatonActions extends Piece {
  static override properties = {
    ...Piece.properties,
    item: { attribute: false },
    askedBy: { attribute: false },
    editable: { type: Boolean },
    versions: { attribute: false },
    copied: { state: true },
    isCommenting: { state: true },
  };
  declare item: MessageItem;
  /** The user's message that it answers, where that can be answered again from here. */
  declare askedBy: string | null;
  /** Whether a message of the user's can be replaced. */
  declare editable: boolean;
  /** The alternatives of a message of the user's. */
  declare versions: readonly Branch[];
  declare copied: boolean;
  declare isCommenting: boolean;

  constructor() {
    super();
    this.copied = false;
    this.isCommenting = false;
  }

  protected override render(): TemplateResult | typeof nothing {
    const { role, content, open, delivery, steered, author, isOfDesk } = this.item;
    if (open || delivery) return nothing;
    const isAnswer = role === "assistant";
    return html`<div class="actions" part="actions">
      ${isAnswer ? this.#button("copy", this.copied ? icons.check : icons.copy, this.say(this.copied ? "copied" : "copyAnswer"), this.#copy) : nothing}
      ${isAnswer && !author && !isOfDesk ? this.#rating() : nothing}
      ${isAnswer && this.askedBy ? this.#button("regenerate", icons.again, this.say("regenerate"), this.#regenerate, WHEN_IDLE) : nothing}
      ${this.#versions()}
      ${!isAnswer && !steered && this.editable && typeof content === "string" ? this.#button("edit", icons.edit, this.say("edit"), this.#edit, WHEN_IDLE) : nothing}
    </div>
      ${this.isCommenting ? html`<baton-chat-feedback .ui=${this.ui} .item=${this.item} @baton-commented=${this.#commented}></baton-chat-feedback>` : nothing}`;
  }

  #rating(): TemplateResult {
    const rating = this.item.feedback?.rating;
    const thumb = (name: "good" | "bad", value: "up" | "down") =>
      this.#button(name, icons[name], this.say(name), () => this.#rate(value), { pressed: rating === value });
    return html`${thumb("good", "up")} ${thumb("bad", "down")}`;
  }

  #versions(): TemplateResult | typeof nothing {
    const at = this.versions.findIndex(({ selected }) => selected);
    const count = this.versions.length;
    if (count < 2 || at < 0) return nothing;
    const label = this.say("version", { at: at + 1, count });
    return html`<span class="versions" part="versions" role="group" aria-label=${label}>
      ${this.#button("previous", icons.previous, this.say("previousVersion"), () => this.#select(at - 1), { ...WHEN_IDLE, disabled: at === 0 })}
      <span>${at + 1} / ${count}</span>
      ${this.#button("next", icons.next, this.say("nextVersion"), () => this.#select(at + 1), { ...WHEN_IDLE, disabled: at === count - 1 })}
    </span>`;
  }

  #button(
    name: string,
    icon: unknown,
    label: string,
    act: () => void,
    { disabled = false, pressed, whenIdle = false }: Look = {},
  ): TemplateResult {
    return html`<button type="button" class="round quiet ${pressed ? "pressed" : ""} ${whenIdle ? "when-idle" : ""}" part="button ${name}-button" title=${label} aria-label=${label} aria-pressed=${pressed === undefined ? nothing : String(pressed)} ?disabled=${disabled} @click=${act}>${icon}</button>`;
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

  /** The thumb that is up already is taken back. */
  async #rate(rating: "up" | "down"): Promise<void> {
    const isTakenBack = this.item.feedback?.rating === rating;
    this.isCommenting = !isTakenBack;
    void loadFeedback().catch(() => {});
    try {
      await this.ui.chat?.feedback(this.item.id, isTakenBack ? "none" : rating);
    } catch {
      this.isCommenting = false; // the chat tells what went wrong
    }
  }

  readonly #commented = (): void => {
    this.isCommenting = false;
    this.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
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
