import { ENTRY } from "./yaml-place.ts";

/** As much of JSON Schema as the schema of agents' files uses. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly discriminator?: { readonly propertyName: string; readonly mapping?: Readonly<Record<string, string>> };
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** A field that may stand at a place. */
export interface Field {
  readonly name: string;
  readonly description: string;
  /** "integer, 0 to 50, default 5" */
  readonly about: string;
  readonly isRequired: boolean;
  /** The values that it may have, if they are few. */
  readonly values: readonly string[];
  /** How an editor goes on after its colon. */
  readonly holds: "value" | "list" | "fields";
}

const MOST_DEPTH = 40;

/** What an agent's file may say, by the JSON Schema of agents. */
export class AgentSchema {
  readonly #root: Schema;

  constructor(root: Schema) {
    this.#root = root;
  }

  /** Returns the fields of the mapping at a path; `beside` are those that stand there, which may decide its kind. */
  fieldsAt(path: readonly string[], beside: ReadonlyMap<string, string> = new Map()): readonly Field[] {
    const found = new Map<string, Field>();
    for (const schema of this.#at(path, beside)) {
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        if (!found.has(name)) found.set(name, this.#field(name, field, schema.required?.includes(name) ?? false));
      }
    }
    return [...found.values()];
  }

  /** Returns one field, or null. */
  field(path: readonly string[], name: string, beside?: ReadonlyMap<string, string>): Field | null {
    return this.fieldsAt(path, beside).find((each) => each.name === name) ?? null;
  }

  #field(name: string, given: Schema, isRequired: boolean): Field {
    const kinds = this.#kinds(given);
    const description = given.description ?? kinds.find((each) => each.description)?.description ?? "";
    const holds = kinds.some((each) => each.type === "array")
      ? "list"
      : kinds.some((each) => each.type === "object")
        ? "fields"
        : "value";
    return { name, description, about: about(given, kinds), isRequired, values: valuesOf(kinds), holds };
  }

  /** Returns every mapping that may be at a path. */
  #at(path: readonly string[], beside: ReadonlyMap<string, string>): readonly Schema[] {
    let found: readonly Schema[] = [this.#root];
    for (const [depth, part] of path.entries()) {
      const decides = depth === path.length - 1 ? beside : new Map<string, string>();
      const next: Schema[] = [];
      for (const schema of found) {
        const inner =
          part === ENTRY
            ? schema.items
            : (schema.properties?.[part] ??
              (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined));
        if (inner) next.push(...this.#kinds(inner, decides));
      }
      found = next;
    }
    return found;
  }

  /** Returns the alternatives that a schema stands for, without references. */
  #kinds(schema: Schema, beside: ReadonlyMap<string, string> = new Map(), depth = 0): readonly Schema[] {
    if (depth > MOST_DEPTH) return [];
    if (schema.$ref) {
      const named = this.#root.$defs?.[schema.$ref.split("/").at(-1) ?? ""];
      return named ? this.#kinds(named, beside, depth + 1) : [];
    }
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (!alternatives) return [schema];
    const { propertyName, mapping } = schema.discriminator ?? {};
    const chosen = propertyName ? mapping?.[beside.get(propertyName) ?? ""] : undefined;
    if (chosen) return this.#kinds({ $ref: chosen }, beside, depth + 1);
    return alternatives.flatMap((each) => this.#kinds(each, beside, depth + 1));
  }
}

function about(given: Schema, kinds: readonly Schema[]): string {
  const types = [...new Set(kinds.map((each) => each.type).filter((type) => type && type !== "null"))];
  const told = types.length ? [types.join(" or ")] : [];
  const bounded = kinds.find((each) => each.minimum !== undefined || each.maximum !== undefined);
  if (bounded?.maximum !== undefined) {
    told.push(`${bounded.minimum ?? `more than ${bounded.exclusiveMinimum ?? "nothing"}`} to ${bounded.maximum}`);
  }
  const value = given.default;
  if (value !== undefined && value !== null && typeof value !== "object") told.push(`default ${JSON.stringify(value)}`);
  return told.join(", ");
}

function valuesOf(kinds: readonly Schema[]): readonly string[] {
  const values = kinds.flatMap((each) => {
    if (each.type === "boolean") return ["true", "false"];
    return each.const !== undefined ? [String(each.const)] : (each.enum ?? []).map(String);
  });
  return [...new Set(values)];
}
