// Dates as people say them.

const DAY_MS = 86_400_000;

/** "14:05" today, "Yesterday", "12 March", "12 March 2025"; days and languages are the reader's. */
export function calmDate(date, now = new Date()) {
  const days = Math.round((midnight(now) - midnight(date)) / DAY_MS);
  if (days === 0) return date.toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
  if (days === 1) return "Yesterday";
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { day: "numeric", month: "long", year });
}

/** With day and time, for what has no other name. */
export const fullDate = (date) => date.toLocaleString([], { day: "numeric", month: "long", hour: "numeric", minute: "2-digit" });

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).valueOf();
