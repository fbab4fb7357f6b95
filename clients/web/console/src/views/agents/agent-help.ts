import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorState } from "@codemirror/state";
import type { Help, Hint } from "../../components/code-setup.ts";
import type { AgentSchema, Field } from "./schema.ts";
import { placeAt } from "./yaml-place.ts";

const WORD = /[\w-]*$/;
const AFTER = { value: ": ", list: ":\n", fields: ":\n" } as const;

/** Completion and hints of agents' files. */
export function agentHelp(schema: AgentSchema): Help {
  return {
    complete: (context) => complete(schema, context),
    hint: (state, position) => hint(schema, state, position),
  };
}

function complete(schema: AgentSchema, context: CompletionContext): CompletionResult | null {
  const { state, pos } = context;
  const line = state.doc.lineAt(pos);
  const place = placeAt(linesOf(state), line.number - 1, pos - line.from);
  const written = WORD.exec(line.text.slice(0, pos - line.from))?.[0] ?? "";
  if (!place || (!written && !context.explicit)) return null;
  const from = pos - written.length;
  if (place.value !== null) {
    const field = schema.field(place.path, place.key, place.beside);
    return { from, options: (field?.values ?? []).map((label) => ({ label, type: "enum" })) };
  }
  const there = new Set([...place.beside.keys()].filter((name) => name !== place.key));
  const options = schema
    .fieldsAt(place.path, place.beside)
    .filter(({ name }) => !there.has(name))
    .map(
      (field): Completion => ({
        label: field.name,
        type: "property",
        detail: field.about,
        apply: field.name + (line.text.slice(pos - line.from).startsWith(":") ? "" : AFTER[field.holds]),
        info: field.description,
        boost: field.isRequired ? 1 : 0,
      }),
    );
  return { from, options };
}

function hint(schema: AgentSchema, state: EditorState, position: number): Hint | null {
  const line = state.doc.lineAt(position);
  const key = /^\s*(?:-\s+)*([\w-]+)\s*:/.exec(line.text);
  const end = key ? key[0].length - 1 : 0;
  if (!key?.[1] || position > line.from + end || position < line.from + end - key[1].length) return null;
  const place = placeAt(linesOf(state), line.number - 1, end);
  const field = place && schema.field(place.path, key[1], place.beside);
  return field ? told(field) : null;
}

const told = ({ name, about, description }: Field): Hint => ({ title: name, about, text: description });

/** The lines of a text: again only after a change. */
const known = new WeakMap<object, readonly string[]>();
function linesOf({ doc }: EditorState): readonly string[] {
  const found = known.get(doc) ?? doc.toString().split("\n");
  known.set(doc, found);
  return found;
}
