/** A refusal: of a frame, or an HTTP answer. */
export interface Refusal {
  readonly code?: unknown;
  readonly message?: unknown;
}

/** The user's time zone, as far as browser and server know it. */
export class TimeZone {
  #isUnknown = false;

  /** The field that messages take with them. A browser that moves to another zone sends that one. */
  fields(): { timeZone?: string } {
    const timeZone = this.#isUnknown ? undefined : zoneNow();
    return timeZone === undefined ? {} : { timeZone };
  }

  /** Whether a message was refused because the browser's zone is newer than the server's list: send none from now on. */
  isRefusedBy({ code, message }: Refusal): boolean {
    const isNamed = typeof message === "string" && /^(forwardedProps\.)?timeZone\b/.test(message);
    if (this.#isUnknown || code !== "invalid_request" || !isNamed) return false;
    this.#isUnknown = true;
    return true;
  }
}

function zoneNow(): string | undefined {
  try {
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    return zone && zone !== "Etc/Unknown" ? zone : undefined;
  } catch {
    return undefined; // nobody is kept from talking
  }
}
