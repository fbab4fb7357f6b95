import type { Span } from "../../api/shapes.ts";

/** A span with its depth in the tree of its trace. */
export interface SpanRow {
  readonly span: Span;
  readonly depth: number;
}

/** Orders spans as a tree, each parent before its children, those by their beginning. Parents that are missing count as none. */
export function spanRows(spans: readonly Span[]): readonly SpanRow[] {
  const known = new Set(spans.map(({ id }) => id));
  const below = new Map<string | null, Span[]>();
  for (const span of [...spans].sort((one, other) => one.start - other.start)) {
    const parent = span.parentId !== null && known.has(span.parentId) ? span.parentId : null;
    below.set(parent, [...(below.get(parent) ?? []), span]);
  }
  const rows: SpanRow[] = [];
  const add = (parent: string | null, depth: number): void => {
    for (const span of below.get(parent) ?? []) {
      rows.push({ span, depth });
      add(span.id, depth + 1);
    }
  };
  add(null, 0);
  return rows;
}
