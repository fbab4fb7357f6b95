import { Emitter } from "./emitter.ts";

/** A tool that runs in the page, for the agent to call. */
export interface ClientTool {
  /** 1-64 letters, digits, `_` and `-`; not one that the agent has itself. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, of type object; by default there are none. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Carries a call out. What it returns, or throws, is told to the agent. */
  readonly run: (args: Record<string, unknown>, call: ClientCall) => unknown;
}

/** A call of a tool in the page. */
export interface ClientCall {
  readonly id: string;
  readonly threadId: string;
  /** It was begun before, by a page that has ended since: perhaps it was carried out. */
  readonly isRepeated: boolean;
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** Something that the page shows or knows, for the agent. */
export interface ContextItem {
  readonly description: string;
  /** What is no string is told as JSON. */
  readonly value: unknown;
}

export type ContextSource = readonly ContextItem[] | (() => readonly ContextItem[]);

const MOST = 64;
const NAME = /^[\w-]{1,64}$/;
const LONGEST_DESCRIPTION = 4000;
const NO_PARAMETERS = { type: "object", properties: {} };

/** A language tag as the server takes it, without extensions such as those of calendars. */
function languageTag(tag: string | undefined): string | undefined {
  try {
    const { baseName } = new Intl.Locale(tag ?? "");
    return /^[a-z]{2,3}(-[a-z\d]{2,8}){0,3}$/i.test(baseName) ? baseName : undefined;
  } catch {
    return undefined;
  }
}

/** What the page sends with every message: its tools, its context and its language. */
export class Offer extends Emitter<{ change: null }> {
  #tools: ReadonlyMap<string, ClientTool> = new Map();
  context: ContextSource = [];
  #locale: string | undefined;

  get locale(): string | undefined {
    return this.#locale;
  }

  /** Drops a text that is no language tag. */
  set locale(tag: string | undefined) {
    this.#locale = languageTag(tag);
  }

  get tools(): readonly ClientTool[] {
    return [...this.#tools.values()];
  }

  /** Throws `TypeError` for what the server would refuse. */
  set tools(tools: readonly ClientTool[]) {
    if (tools.length > MOST) throw new TypeError(`A page can offer ${MOST} tools at most.`);
    for (const tool of tools) check(tool);
    const named = new Map(tools.map((tool) => [tool.name, tool]));
    if (named.size < tools.length) throw new TypeError("Two tools have the same name.");
    this.#tools = named;
    this.emit("change", null);
  }

  tool(name: string | undefined): ClientTool | undefined {
    return this.#tools.get(name ?? "");
  }

  /** The fields that a message takes with it, as they are now. */
  fields(): { tools?: readonly object[]; context?: readonly object[]; locale?: string } {
    const tools = this.tools.map(({ name, description, parameters = NO_PARAMETERS }) => {
      return { name, description, parameters };
    });
    const context = this.#contextNow();
    return {
      ...(tools.length && { tools }),
      ...(context.length && { context }),
      ...(this.#locale !== undefined && { locale: this.#locale }),
    };
  }

  /** Context that cannot be told keeps nobody from talking. */
  #contextNow(): { description: string; value: string }[] {
    try {
      const items = typeof this.context === "function" ? this.context() : this.context;
      return items.slice(0, MOST).map(({ description, value }) => {
        return { description: String(description), value: typeof value === "string" ? value : told(value) };
      });
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
      return [];
    }
  }
}

const told = (value: unknown): string => JSON.stringify(value) ?? "";

function check({ name, description, run }: ClientTool): void {
  if (!NAME.test(name)) throw new TypeError(`${name} is no name of a tool: letters, digits, _ and -, 64 at most.`);
  if (typeof description !== "string" || description.length > LONGEST_DESCRIPTION)
    throw new TypeError(`The description of ${name} must be a text of ${LONGEST_DESCRIPTION} characters at most.`);
  if (typeof run !== "function") throw new TypeError(`${name} has no function \`run\`.`);
}
