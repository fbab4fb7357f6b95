/** Some turns, with what they used. */
export interface TurnCounts {
  readonly turns: number;
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cost: number | null;
  readonly unpriced: number;
}

export interface AgentUsage extends TurnCounts {
  readonly agentId: string | null;
}

export interface ModelTokens {
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cost: number | null;
}

/** One page of `GET /v1/usage`. */
export interface UsagePage extends TurnCounts {
  readonly month: string;
  readonly threads: number;
  readonly agents: readonly AgentUsage[];
  readonly models: readonly ModelTokens[];
  readonly storage: { readonly objects: number; readonly bytes: number };
  readonly meteredCost: number | null;
  readonly nextCursor: string | null;
}

/** Adds a page to what others came to. */
export function added(total: UsagePage | null, page: UsagePage): UsagePage {
  if (!total) return page;
  return {
    ...total,
    ...summed(total, page),
    threads: total.threads + page.threads,
    agents: joined(total.agents, page.agents, ({ agentId }) => agentId ?? ""),
    models: joined(total.models, page.models, ({ model }) => model),
    storage: {
      objects: total.storage.objects + page.storage.objects,
      bytes: total.storage.bytes + page.storage.bytes,
    },
    nextCursor: page.nextCursor,
  };
}

const COUNTS = ["turns", "failures", "inputTokens", "outputTokens", "cachedInputTokens", "unpriced"] as const;
type Counted = Partial<Record<(typeof COUNTS)[number], number>> & { readonly cost: number | null };

function joined<Entry extends Counted>(
  ones: readonly Entry[],
  others: readonly Entry[],
  keyOf: (entry: Entry) => string,
): Entry[] {
  const entries = new Map(ones.map((entry) => [keyOf(entry), entry]));
  for (const entry of others) {
    const before = entries.get(keyOf(entry));
    entries.set(keyOf(entry), before ? { ...before, ...summed(before, entry) } : entry);
  }
  return [...entries.values()];
}

/** Costs are whole billionths: rounding undoes what adding binary fractions has changed. */
function summed(one: Counted, other: Counted): Counted {
  const sums = COUNTS.filter((name) => one[name] !== undefined).map((name) => [
    name,
    (one[name] ?? 0) + (other[name] ?? 0),
  ]);
  const cost =
    one.cost === null && other.cost === null ? null : Math.round(((one.cost ?? 0) + (other.cost ?? 0)) * 1e9) / 1e9;
  return { ...Object.fromEntries(sums), cost };
}
