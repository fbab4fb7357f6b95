import type { TokensList } from "marked";
import type { Source } from "#client";
import { type Block, blocksOf } from "./blocks.ts";
import type { Citation } from "./citations.ts";
import { setDirections } from "./direction.ts";
import { borderOf, entriesOf, type Growing, growingOf, TAIL } from "./growing.ts";

/** What a view says beside the text; in the reader's language. */
export interface Labels {
  readonly copy: string;
  readonly copied: string;
  readonly code: string;
  readonly table: string;
  /** The name of the button that shows a source. */
  readonly source: (source: Source) => string;
}

/** The last paragraph, while it grows: where its text begins that may still change, and the nodes that show it. */
interface LiveText {
  readonly place: Element;
  readonly at: number;
  readonly tail: readonly ChildNode[];
}

/**
 * Blocks that cannot change any more are grouped into parts of so many. In a long text the browser does not lay out parts
 * that are out of view. It checks every part in every frame, so that there must be few of them.
 */
const PART_BLOCKS = 40;
const LONG_PARTS = 2;

/** Places citations, once an answer had some. */
let citing: typeof import("./citations.ts") | null = null;

/** Loads what places citations. */
export async function loadCitations(): Promise<void> {
  citing ??= await import("./citations.ts");
}

/** What makes foreign HTML harmless, once it was needed. */
let foreign: typeof import("./foreign.ts") | null = null;

/**
 * Markdown that may still grow, in one element. Only the last block is rendered again when text is added: what is before
 * it cannot change any more.
 */
export class MarkdownView {
  readonly #root: HTMLElement;
  readonly #labels: () => Labels;
  #text = "";
  #links: TokensList["links"] = {};
  /** Where the text begins that may still change, and the nodes that show it. */
  #settled = 0;
  #live: ChildNode[] = [];
  #part: HTMLElement | null = null;
  #liveCode: { readonly node: Text; readonly code: string; readonly language: string } | null = null;
  #liveList: { readonly place: Element; readonly block: Block; readonly growing: Growing } | null = null;
  #liveText: LiveText | null = null;
  #citations: readonly Citation[] = [];

  constructor(root: HTMLElement, labels: () => Labels) {
    this.#root = root;
    this.#labels = labels;
  }

  /** Shows the text. The citations of `sources` become buttons once it is complete. */
  update(written: string, isComplete: boolean, sources: readonly Source[] = []): void {
    const { text, citations } = (isComplete && citing?.withMarks(written, sources)) || { text: written, citations: [] };
    this.#citations = citations;
    if (text === this.#text && !isComplete) return;
    if (!text.startsWith(this.#text.slice(0, this.#settled))) this.#reset();
    const isLonger = !isComplete && text.startsWith(this.#text);
    this.#text = text;
    if (isLonger && (this.#growList(text) || this.#growText(text))) return;
    const rest = blocksOf(text.slice(this.#settled), this.#links);
    // A blank line may still be followed by more of the list before it.
    const lastAt = isComplete ? rest.length : rest.findLastIndex(({ raw }) => raw.trim() !== "");
    const live = rest.slice(Math.max(lastAt, 0));
    const settled = rest.slice(0, Math.max(lastAt, 0));
    if (settled.length === 0 && this.#grow(live[0])) return;
    for (const node of this.#live) node.remove();
    this.#liveCode = null;
    this.#liveList = null;
    this.#liveText = null;
    for (const block of settled) {
      this.#keep(this.#nodesOf(block, true));
      this.#settled += block.raw.length;
    }
    this.#live = live.flatMap((block) => this.#nodesOf(block, false));
    this.#root.append(...this.#live);
    this.#rememberCode(live[0]);
    this.#rememberList(live);
    this.#rememberText(live);
  }

  /** Appends what cannot change any more to the last part. */
  #keep(nodes: readonly ChildNode[]): void {
    if (nodes.length === 0) return;
    if (!this.#part || this.#part.childElementCount >= PART_BLOCKS) {
      this.#part = Object.assign(document.createElement("div"), { className: "part" });
      this.#root.append(this.#part);
      this.#root.toggleAttribute("data-long", this.#root.childElementCount > LONG_PARTS);
    }
    this.#part.append(...nodes);
  }

  /** A list or a table that becomes longer: of thousands of entries only the last one is read and drawn again. */
  #growList(text: string): boolean {
    const known = this.#liveList;
    const read =
      known && entriesOf(known.growing, known.block, text.slice(this.#settled + known.growing.at), this.#links);
    const nodes = read?.block.nodes();
    if (!known || !read || !nodes) return false;
    const fragment = document.createDocumentFragment();
    fragment.append(...nodes);
    this.#furnish(fragment, false);
    known.place.lastElementChild?.remove();
    known.place.append(...(fragment.querySelector(ENTRIES)?.children ?? []));
    this.#liveList = { ...known, growing: read.next };
    return true;
  }

  #rememberList(live: readonly Block[]): void {
    const [block] = live;
    const node = this.#live[0];
    const growing = block ? growingOf(block) : null;
    const isFound = node instanceof Element && node.matches(`${ENTRIES}, .table`);
    const place = isFound ? (node.querySelector(":scope tbody") ?? node) : null;
    const isAlone = this.#live.length === 1 && live.slice(1).every(({ raw }) => raw.trim() === "");
    if (block && growing && place && isAlone) this.#liveList = { place, block, growing };
  }

  /** A paragraph that becomes longer: of a long one only the end is read and drawn again. */
  #growText(text: string): boolean {
    const known = this.#liveText;
    const end = known && this.#paragraphOf(text.slice(this.#settled + known.at));
    if (!known || !end) return false;
    this.#replaceTail(known, known.at, [], end.nodes);
    this.#divideText(end.block);
    return true;
  }

  #rememberText(live: readonly Block[]): void {
    const [block] = live;
    const [place] = this.#live;
    if (!block || live.length > 1 || this.#live.length > 1 || !(place instanceof HTMLParagraphElement)) return;
    this.#liveText = { place, at: 0, tail: [...place.childNodes] };
    this.#divideText(block);
  }

  /** Settles the beginning of a paragraph's tail, where that is long. */
  #divideText(tail: Block): void {
    const known = this.#liveText;
    const border = known && tail.raw.length > 2 * TAIL ? borderOf(tail) : 0;
    if (!known || border === 0) return;
    const before = this.#paragraphOf(tail.raw.slice(0, border));
    const after = this.#paragraphOf(tail.raw.slice(border));
    if (before && after) this.#replaceTail(known, known.at + border, before.nodes, after.nodes);
  }

  /** Shows `settled` and the new `tail`, whose text begins at `at`, in place of the old tail. */
  #replaceTail({ place, tail: old }: LiveText, at: number, settled: readonly ChildNode[], tail: readonly ChildNode[]) {
    for (const node of old) node.remove();
    place.append(...settled, ...tail);
    this.#liveText = { place, at, tail };
  }

  /** The text as one paragraph, and what its element holds; `null` if it is anything else, or has HTML of its own. */
  #paragraphOf(text: string): { block: Block; nodes: ChildNode[] } | null {
    const [block, ...others] = blocksOf(text, this.#links);
    if (block?.token.type !== "paragraph" || others.length > 0) return null;
    const [paragraph] = this.#nodesOf(block, false);
    return paragraph instanceof HTMLParagraphElement ? { block, nodes: [...paragraph.childNodes] } : null;
  }

  /** Code that becomes longer is appended to: a block of thousands of lines is not built anew for each of them. */
  #grow(block: Block | undefined): boolean {
    const known = this.#liveCode;
    if (!known || block?.code == null || languageOf(block) !== known.language || !block.code.startsWith(known.code))
      return false;
    known.node.appendData(block.code.slice(known.code.length));
    this.#liveCode = { ...known, code: block.code };
    return true;
  }

  #rememberCode(block: Block | undefined): void {
    const place = this.#live[0];
    if (block?.code == null || !(place instanceof HTMLElement)) return;
    const code = place.querySelector("code");
    if (!code) return;
    const node = code.firstChild ?? code.appendChild(document.createTextNode(""));
    if (node instanceof Text) this.#liveCode = { node, code: block.code, language: languageOf(block) };
  }

  #nodesOf(block: Block, isSettled: boolean): ChildNode[] {
    if (block.raw.trim() === "") return [];
    const nodes = block.nodes();
    if (nodes === null) return [this.#foreign(block, isSettled)];
    const fragment = document.createDocumentFragment();
    fragment.append(...nodes);
    this.#furnish(fragment, isSettled);
    return [...fragment.childNodes];
  }

  /** A block with HTML of its own: text until what makes it harmless is there. */
  #foreign(block: Block, isSettled: boolean): ChildNode {
    const place = document.createElement("div");
    const show = ({ harmless }: typeof import("./foreign.ts")) => {
      const fragment = harmless(block);
      this.#furnish(fragment, isSettled);
      place.replaceChildren(fragment);
    };
    if (foreign) show(foreign);
    else {
      const raw = block.raw.trim();
      place.textContent = citing?.withoutMarks(raw, this.#citations) ?? raw;
      import("./foreign.ts").then(
        (loaded) => {
          foreign = loaded;
          show(loaded);
        },
        () => {}, // it stays text
      );
    }
    return place;
  }

  #furnish(fragment: DocumentFragment, isSettled: boolean): void {
    citing?.placeCitations(fragment, this.#citations, this.#labels().source);
    setDirections(fragment);
    for (const pre of fragment.querySelectorAll("pre")) this.#frame(pre, isSettled);
    for (const table of fragment.querySelectorAll("table")) this.#scroll(table);
    if (fragment.querySelector("[data-math]")) void this.#drawFormulas(fragment);
  }

  /** Puts the language and a button that copies above the code. */
  #frame(pre: HTMLElement, isSettled: boolean): void {
    const { copy, code: name } = this.#labels();
    const language = pre.getAttribute("data-language") ?? "";
    const code = pre.querySelector("code");
    const figure = document.createElement("figure");
    figure.className = "code";
    const bar = document.createElement("figcaption");
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: copy });
    button.setAttribute("part", "button copy-button");
    bar.append(Object.assign(document.createElement("span"), { textContent: language || name }), button);
    pre.replaceWith(figure);
    figure.append(bar, pre);
    makeScrollable(pre, language || name);
    button.onclick = () => void this.#copy(button, code?.textContent ?? "");
    if (isSettled && language && code)
      void import("./highlight.ts").then(
        ({ highlight }) => highlight(code, language),
        () => {},
      );
  }

  #scroll(table: HTMLElement): void {
    const box = document.createElement("div");
    box.className = "table";
    table.replaceWith(box);
    box.append(table);
    makeScrollable(box, this.#labels().table);
  }

  async #copy(button: HTMLButtonElement, text: string): Promise<void> {
    const { copy, copied } = this.#labels();
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = copied;
      setTimeout(() => {
        button.textContent = copy;
      }, 2000);
    } catch {
      getSelection()?.selectAllChildren(button.closest("figure")?.querySelector("code") ?? button); // for Ctrl-C
    }
  }

  async #drawFormulas(fragment: DocumentFragment): Promise<void> {
    // Not what holds them: a list or a paragraph that grows takes them out of it meanwhile.
    const places = [...fragment.querySelectorAll<HTMLElement>("[data-math]")];
    const { drawFormulas } = await import("./formula.ts").catch(() => ({ drawFormulas: () => {} }));
    drawFormulas(places);
  }

  #reset(): void {
    this.#root.replaceChildren();
    this.#root.removeAttribute("data-long");
    this.#text = "";
    this.#links = {};
    this.#settled = 0;
    this.#live = [];
    this.#part = null;
    this.#liveCode = null;
    this.#liveList = null;
    this.#liveText = null;
  }
}

/** What holds the entries of a list or a table. */
const ENTRIES = "ul, ol, tbody";

const languageOf = (block: Block): string => block.raw.split("\n", 1)[0] ?? "";

/** What scrolls can be scrolled with the keyboard. */
function makeScrollable(box: HTMLElement, label: string): void {
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
}
