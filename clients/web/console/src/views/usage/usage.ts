import { sumByKey, sumTokens, sumTurns, type TokenCounts, type TurnCounts } from "../../api/turn-counts.ts";

export interface AgentUsage extends TurnCounts {
  readonly agentId: string | null;
}

export interface ModelTokens extends TokenCounts {
  readonly model: string;
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
    ...sumTurns(total, page),
    threads: total.threads + page.threads,
    agents: [...sumByKey([...total.agents, ...page.agents], ({ agentId }) => agentId ?? "", sumTurns).values()],
    models: [...sumByKey([...total.models, ...page.models], ({ model }) => model, sumTokens).values()],
    storage: {
      objects: total.storage.objects + page.storage.objects,
      bytes: total.storage.bytes + page.storage.bytes,
    },
    nextCursor: page.nextCursor,
  };
}
