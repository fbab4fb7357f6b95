import { autocompletion, type CompletionSource, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
  type TooltipView,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** What a text is written in. */
export type Language = "yaml" | "text";

/** What is told about a place of a text: a heading, and what it means. */
export interface Hint {
  readonly title: string;
  readonly about: string;
  readonly text: string;
}

export interface Help {
  readonly complete?: CompletionSource;
  readonly hint?: (state: EditorState, position: number) => Hint | null;
}

/** Colours of the page, so that it is dark where the page is. */
const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--background)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--muted)",
    borderInlineEnd: "1px solid var(--border)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--border)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionInfo": { maxInlineSize: "24rem", padding: "6px 10px" },
  ".cm-hint": { maxInlineSize: "28rem", padding: "6px 10px" },
  ".cm-hint small": { display: "block", color: "var(--muted)" },
  ".cm-diagnostic": { fontFamily: "var(--mono)" },
  ".cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--accent) 10%, transparent) !important" },
  ".cm-changedText": { background: "color-mix(in srgb, var(--accent) 26%, transparent) !important" },
  ".cm-collapsedLines": { color: "var(--muted)", background: "var(--surface)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "light-dark(#3b3594, #b9b6ff)" },
  { tag: [tags.string, tags.special(tags.string)], color: "light-dark(#1d6b3a, #8fd6a8)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "light-dark(#9a3412, #ffb38a)" },
]);

/** What every editor has. Tab leaves it, so that the keyboard is not caught. */
export function setup(language: Language, label: string, isReadOnly: boolean): Extension[] {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": label, ...(isReadOnly && { "aria-readonly": "true" }) }),
    keymap.of([...defaultKeymap, ...historyKeymap, ...completionKeymap]),
    ...(language === "yaml" ? [yaml()] : []),
    ...(isReadOnly ? [] : [lintGutter(), closeBrackets()]),
    syntaxHighlighting(colours),
    theme,
  ];
}

/** Completion and what is told about a field under the pointer. */
export function helping({ complete, hint }: Help): Extension[] {
  return [
    ...(complete ? [autocompletion({ override: [complete] })] : []),
    ...(hint
      ? [
          hoverTooltip((view, position) => {
            const told = hint(view.state, position);
            return told && { pos: position, create: () => hintView(told) };
          }),
        ]
      : []),
  ];
}

function hintView({ title, about, text }: Hint): TooltipView {
  const dom = document.createElement("div");
  dom.className = "cm-hint";
  const parts = [
    ["strong", title],
    ["small", about],
    ["div", text],
  ] as const;
  for (const [name, words] of parts) {
    const part = document.createElement(name);
    part.textContent = words;
    dom.append(part);
  }
  return { dom };
}
