const WHOLE = new Intl.NumberFormat("en");
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Returns a number with its thousands apart; a dash for null. */
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : WHOLE.format(value);
}

/** Returns milliseconds as `12 ms` or `3.4 s`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Returns a cost in the currency of the deployment's prices. */
export function cost(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return value === 0 || value >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
}

/** Returns a point in time in the reader's own time zone. */
export function when(time: string | number | null | undefined): string {
  const date = new Date(time ?? Number.NaN);
  return Number.isNaN(date.valueOf()) ? "–" : WHEN.format(date);
}

export function clock(time: number): string {
  return Number.isNaN(time) ? "–" : CLOCK.format(time);
}
