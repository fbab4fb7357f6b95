/** The tokens of calls of models, and their cost. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  /** US dollars; null without a known price. */
  readonly cost: number | null;
}

/** Turns, with the tokens that they used. */
export interface TurnCounts extends TokenCounts {
  readonly turns: number;
  readonly failures: number;
  readonly unpriced: number;
}

/** Adds the tokens of `other` to those of `one`, of which the other fields stay. */
export function sumTokens<Counts extends TokenCounts>(one: Counts, other: TokenCounts): Counts {
  const cost = one.cost === null && other.cost === null ? null : rounded((one.cost ?? 0) + (other.cost ?? 0));
  return {
    ...one,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cost,
  };
}

/** Adds the turns of `other` to those of `one`, of which the other fields stay. */
export function sumTurns<Counts extends TurnCounts>(one: Counts, other: TurnCounts): Counts {
  return {
    ...sumTokens(one, other),
    turns: one.turns + other.turns,
    failures: one.failures + other.failures,
    unpriced: one.unpriced + other.unpriced,
  };
}

/** Sums up the entries of each key, in the order in which the keys come first. */
export function sumByKey<Entry>(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string,
  sum: (one: Entry, other: Entry) => Entry,
): Map<string, Entry> {
  const sums = new Map<string, Entry>();
  for (const entry of entries) {
    const before = sums.get(keyOf(entry));
    sums.set(keyOf(entry), before === undefined ? entry : sum(before, entry));
  }
  return sums;
}

/** Billionths are exact on the server: rounding to them undoes what adding binary fractions has changed. */
const rounded = (cost: number): number => Math.round(cost * 1e9) / 1e9;
