import type { Source } from "#client";
import type { MarkdownView } from "../markdown/view.ts";
import { nameOf } from "../sources.ts";
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
  #sources: readonly Source[] = [];

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

  set sources(sources: readonly Source[] | undefined) {
    this.#sources = sources ?? [];
    this.#draw();
  }

  /** The properties are set one after the other: one drawing is enough. */
  #draw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => void this.#drawn());
  }
  #isDrawing = false;

  async #drawn(): Promise<void> {
    try {
      this.#view ??= await this.#viewOf();
      const isCiting = this.#isComplete && this.#sources.some(({ places }) => places?.length);
      if (isCiting) await (await loadMarkdown()).loadCitations().catch(() => {}); // they stay text
      this.#view.update(this.#text, this.#isComplete, this.#sources);
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
      const source = (cited: Source) => say("source", { number: String(cited.number), name: nameOf(cited, say) });
      return { copy: say("copy"), copied: say("copied"), code: say("code"), table: say("table"), source };
    });
  }
}

define("baton-chat-markdown", BatonMarkdown);
