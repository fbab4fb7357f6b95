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
    try {
      const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
      if (!this.#isUnknown && timeZone && timeZone !== "Etc/Unknown") return { timeZone };
    } catch {} // nobody is kept from talking
    return {};
  }

  /** Whether a message was refused because the browser's zone is newer than the server's list: send none from now on. */
  isRefusedBy({ code, message }: Refusal): boolean {
    if (this.#isUnknown || code !== "invalid_request" || !/^\S*timeZone\b/.test(`${message}`)) return false;
    this.#isUnknown = true;
    return true;
  }
}
