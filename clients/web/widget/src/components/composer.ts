import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { LARGEST_FILE_BYTES } from "#client";
import { icons } from "../icons.ts";
import { isComposing } from "../keys.ts";
import { submit } from "../submission.ts";
import { define, Piece } from "../ui.ts";

const TALLEST_PX = 200;
const MOST_FILES = 10;

interface Attached {
  readonly file: File;
  /** Shows an image before it is sent. */
  readonly preview: string | null;
}

/** Where the user writes: text that grows, Enter that sends, files that are pasted, dropped or chosen. */
export class BatonComposer extends Piece {
  static override properties = {
    ...Piece.properties,
    running: { type: Boolean },
    stopping: { type: Boolean },
    attached: { state: true },
    problem: { state: true },
    busy: { state: true },
    hasText: { state: true },
    isDue: { state: true },
  };
  declare running: boolean;
  declare stopping: boolean;
  declare attached: readonly Attached[];
  declare problem: string;
  declare busy: boolean;
  declare hasText: boolean;
  /** Whether the user has sent what stands here before there was a conversation that it belongs to. */
  declare isDue: boolean;
  #draft = 0;

  constructor() {
    super();
    this.attached = [];
    this.problem = "";
    this.busy = false;
    this.hasText = false;
    this.isDue = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#setFiles([]);
  }

  override focus(): void {
    this.#text?.focus();
  }

  /** Takes away what was written and not sent. */
  clear(): void {
    this.#draft += 1;
    this.#setFiles([]);
    this.problem = "";
    this.busy = false;
    this.isDue = false;
    if (this.#text) this.#text.value = "";
    this.#written();
  }

  add(files: readonly File[]): void {
    const kept = files.filter((file) => file.size <= LARGEST_FILE_BYTES);
    const tooLarge = files.find((file) => file.size > LARGEST_FILE_BYTES);
    const room = MOST_FILES - this.attached.length;
    this.problem = "";
    if (tooLarge) this.problem = this.say("tooLarge", { name: tooLarge.name, size: LARGEST_FILE_BYTES / 2 ** 20 });
    if (kept.length > room) this.problem = this.say("tooMany", { count: MOST_FILES });
    const added = kept.slice(0, room).map((file) => ({
      file,
      preview: /^image\/(png|jpeg|gif|webp|avif)$/.test(file.type) ? URL.createObjectURL(file) : null,
    }));
    this.attached = [...this.attached, ...added];
  }

  protected override willUpdate(changed: PropertyValues): void {
    const before = changed.has("ui") ? (changed.get("ui") as typeof this.ui | undefined)?.chat : null;
    if (before && before !== this.ui.chat) this.clear();
  }

  protected override updated(): void {
    if (!this.isDue || !this.ui.chat) return;
    this.isDue = false;
    submit(this.querySelector("form"));
  }

  protected override render(): TemplateResult {
    return html`
      <form class="composer" part="composer" @submit=${this.#submit} @paste=${this.#pasted}>
        ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
        ${this.attached.length ? html`<ul class="attached" aria-label=${this.say("attach")}>${this.attached.map((each) => this.#file(each))}</ul>` : nothing}
        <div class="line">
          <button type="button" class="round quiet" part="button attach-button" title=${this.say("attach")} aria-label=${this.say("attach")} @click=${this.#choose}>${icons.attach}</button>
          <input class="chooser" type="file" multiple tabindex="-1" aria-hidden="true" @change=${this.#chosen} />
          <textarea part="input" rows="1" dir=${this.hasText ? "auto" : this.ui.locale.direction} aria-label=${this.say("message")} placeholder=${this.say("placeholder")}
            enterkeyhint="send" @input=${this.#typed} @keydown=${this.#keyed}></textarea>
          ${this.#button()}
        </div>
      </form>
    `;
  }

  #button(): TemplateResult {
    const isEmpty = !this.hasText && this.attached.length === 0;
    if (this.running && isEmpty) {
      const label = this.say(this.stopping ? "stopping" : "stop");
      return html`<button type="button" class="round stop" part="button stop-button" title=${label} aria-label=${label} ?disabled=${this.stopping} @click=${this.#stop}>${icons.stop}</button>`;
    }
    const label = this.say(this.busy ? "uploading" : "send");
    const isBusy = this.busy || this.isDue;
    return html`<button type="submit" class="round send ${isBusy ? "busy" : ""}" part="button send-button" title=${label} aria-label=${label} ?disabled=${isEmpty || isBusy}>${icons.send}</button>`;
  }

  #file(attached: Attached): TemplateResult {
    const { file, preview } = attached;
    const label = this.say("remove", { name: file.name });
    return html`<li>
      ${preview ? html`<img src=${preview} alt="" />` : icons.file}<span class="name" dir="auto">${file.name}</span>
      <button type="button" class="round tiny" title=${label} aria-label=${label} @click=${() => this.#remove(attached)}>${icons.close}</button>
    </li>`;
  }

  get #text(): HTMLTextAreaElement | null {
    return this.querySelector("textarea");
  }

  async #submit(event: Event): Promise<void> {
    event.preventDefault();
    const { chat } = this.ui;
    const text = this.#text?.value.trim() ?? "";
    const files = this.attached.map(({ file }) => file);
    if (this.busy || (!text && !files.length)) return;
    if (!chat) {
      this.isDue = true;
      return;
    }
    if (!files.length) {
      this.clear();
      chat.send(text);
      this.#sent();
      return;
    }
    const draft = this.#draft;
    this.busy = true;
    this.problem = "";
    try {
      await chat.sendFiles(text, files);
      if (draft === this.#draft) this.clear();
      this.#sent();
    } catch (error) {
      if (draft === this.#draft) this.problem = (error as Error).message;
    } finally {
      this.busy = false;
    }
  }

  #sent(): void {
    this.dispatchEvent(new CustomEvent("baton-said", { bubbles: true }));
  }

  #stop(): void {
    this.ui.chat?.stop();
    this.focus();
  }

  #typed(): void {
    this.#written();
    if (this.hasText) this.ui.chat?.typed();
  }

  readonly #written = (): void => {
    const text = this.#text;
    if (!text) return;
    this.hasText = text.value.trim() !== "";
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight, TALLEST_PX)}px`;
  };

  #keyed(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    submit(this.querySelector("form"));
  }

  #pasted(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    this.add(files);
  }

  #choose(): void {
    this.querySelector<HTMLInputElement>("input.chooser")?.click();
  }

  #chosen(event: Event): void {
    const input = event.target as HTMLInputElement;
    this.add([...(input.files ?? [])]);
    input.value = "";
    this.focus();
  }

  #remove(attached: Attached): void {
    this.#setFiles(this.attached.filter((each) => each !== attached));
    this.focus();
  }

  #setFiles(files: readonly Attached[]): void {
    for (const each of this.attached) if (each.preview && !files.includes(each)) URL.revokeObjectURL(each.preview);
    this.attached = files;
  }
}

define("baton-chat-composer", BatonComposer);
