/** How long a connection outlives the last look at what it shows. */
export const AWAY_SECONDS = 300;

/** Seconds of a clock that nobody sets: it only ever goes forward. */
export const seconds = (): number => performance.now() / 1000;

export function uuid(): string {
  // Only secure contexts have randomUUID.
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The size of a frame as it travels, in bytes. */
export const bytesOf = (frame: unknown): number => new TextEncoder().encode(JSON.stringify(frame)).length;
