import { texts } from "../../texts.ts";

const { schedule: words } = texts;

/** A simple rule of recurrence (RFC 5545) in words; the rule itself, where it is not simple. */
export function describe(rule: string): string {
  const parts = new Map(rule.split(";").map((part) => part.split("=", 2) as [string, string]));
  const take = (name: string) => {
    const value = parts.get(name);
    parts.delete(name);
    return value;
  };
  const [frequency = "", hour = "", minute = "0", second = "0"] = ["FREQ", "BYHOUR", "BYMINUTE", "BYSECOND"].map(take);
  const time = /^\d+$/.test(hour) && /^\d+$/.test(minute) ? `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}` : "";
  const days = frequency === "WEEKLY" ? (take("BYDAY") ?? "").split(",").filter(Boolean) : [];
  const date = frequency === "MONTHLY" ? take("BYMONTHDAY") : undefined;
  const names = days.map((day) => words.days[day as keyof typeof words.days]);
  const every = words.frequencies[frequency as keyof typeof words.frequencies];
  const isSimple = every && time && second === "0" && !names.includes(undefined as never) && /^\d*$/.test(date ?? "");
  if (!isSimple || parts.size) return rule;
  const on = names.length ? words.onDays(names.join(", ")) : date ? words.onDate(date) : "";
  return [every, on, words.at(time)].filter(Boolean).join(" ");
}
