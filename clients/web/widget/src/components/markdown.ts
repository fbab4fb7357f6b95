import type { MarkdownView } from "../markdown/view.ts";
import { define, NO_UI, type Ui } from "../ui.ts";

let loading: Promise<typeof import("../markdown/view.ts")> | null = null;

/** Loads what draws Markdown: begun while the widget connects, so that it is there before the first answer. */
export function loadMarkdown(): Promise<typeof import("../markdown/view.ts")> {
  loading ??= import("../markdown/view.ts").catch((error) => {
    loading = null; // a lost connection, perhaps: the next text tries again
    throw error;
  });
  return loading;
}

/** Markdown text that may still grow. */
export class BatonMarkdown extends HTMLElement {
  #ui: Ui = NO_UI;
  #view: MarkdownView | null = null;
  #text = "";
  #isComplete = false;

  set ui(ui: Ui) {
    this.#ui = ui;
  }

  set text(text: string) {
    this.#text = text;
    this.#draw();
  }

  set complete(isComplete: boolean) {
    if (isComplete === this.#isComplete) return;
    this.#isComplete = isComplete;
    this.#draw();
  }

  /** Both properties are set one after the other: one drawing is enough. */
  #draw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => void this.#drawn());
  }
  #isDrawing = false;

  async #drawn(): Promise<void> {
    try {
      this.#view ??= await this.#viewOf();
      this.#view.update(this.#text, this.#isComplete);
    } catch (error) {
      // What cannot be drawn is read as it was written.
      this.#view = null;
      this.textContent = this.#text;
      if (loading) reportError(error);
    }
    this.#isDrawing = false;
  }

  async #viewOf(): Promise<MarkdownView> {
    const { MarkdownView } = await loadMarkdown();
    this.replaceChildren();
    return new MarkdownView(this, () => {
      const { say } = this.#ui.locale;
      return { copy: say("copy"), copied: say("copied"), code: say("code"), table: say("table") };
    });
  }
}

define("baton-chat-markdown", BatonMarkdown);
