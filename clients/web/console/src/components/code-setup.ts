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
  "&": { color: "var(--_text)", backgroundColor: "var(--_background)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--_accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--_mono)", caretColor: "var(--_text)" },
  ".cm-scroller": { fontFamily: "var(--_mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--_surface)", color: "var(--_muted)", borderInlineEnd: "1px solid var(--_border)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--_accent) 8%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--_text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--_accent) 28%, transparent)",
  },
  ".cm-tooltip": { backgroundColor: "var(--_raised)", color: "var(--_text)", border: "1px solid var(--_border)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--_accent)", color: "var(--_on-accent)" },
  ".cm-completionInfo": { maxInlineSize: "24rem", padding: "6px 10px" },
  ".cm-hint": { maxInlineSize: "28rem", padding: "6px 10px" },
  ".cm-hint small": { display: "block", color: "var(--_muted)" },
  ".cm-diagnostic": { fontFamily: "var(--_mono)" },
  ".cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--_accent) 10%, transparent) !important" },
  ".cm-changedText": { background: "color-mix(in srgb, var(--_accent) 26%, transparent) !important" },
  ".cm-collapsedLines": { color: "var(--_muted)", background: "var(--_surface)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "light-dark(#3b3594, #b9b6ff)" },
  { tag: [tags.string, tags.special(tags.string)], color: "light-dark(#1d6b3a, #8fd6a8)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--_muted)", fontStyle: "italic" },
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
