import { MarkdownView } from "../markdown/view.ts";
import { define, NO_UI, type Ui } from "../ui.ts";

/** Markdown text that may still grow. */
export class BatonMarkdown extends HTMLElement {
  #ui: Ui = NO_UI;
  readonly #view = new MarkdownView(this, () => {
    const { say } = this.#ui.locale;
    return { copy: say("copy"), copied: say("copied"), code: say("code"), table: say("table") };
  });
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
    queueMicrotask(() => {
      this.#isDrawing = false;
      this.#view.update(this.#text, this.#isComplete);
    });
  }
  #isDrawing = false;
}

define("baton-chat-markdown", BatonMarkdown);
