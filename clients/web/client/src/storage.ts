/** Where a client keeps small things between page loads. Any `Storage` will do. */
export type KeyValueStore = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** A store that may be full, forbidden or absent: what cannot be kept there is kept in memory until the page ends. */
export class SafeStore {
  readonly #outside: KeyValueStore | null;
  readonly #memory = new Map<string, string>();

  /** `null` keeps everything in memory; by default the browser's local storage is used if it is allowed. */
  constructor(outside?: KeyValueStore | null) {
    this.#outside = outside === undefined ? localStore() : outside;
  }

  get(key: string): string | null {
    const kept = this.#memory.get(key);
    if (kept !== undefined) return kept;
    try {
      return this.#outside?.getItem(key) ?? null;
    } catch {
      return null;
    }
  }

  set(key: string, value: string): void {
    try {
      if (this.#outside === null) throw new Error("There is no storage.");
      this.#outside.setItem(key, value);
      this.#memory.delete(key);
    } catch {
      this.#memory.set(key, value);
    }
  }

  remove(key: string): void {
    this.#memory.delete(key);
    try {
      this.#outside?.removeItem(key);
    } catch {
      // Forbidden: then nothing is there.
    }
  }

  /** Forgets what could only be kept in memory. */
  forgetMemory(): void {
    this.#memory.clear();
  }

  /** The keys that begin with `prefix`. */
  keys(prefix: string): string[] {
    const found = new Set([...this.#memory.keys()].filter((key) => key.startsWith(prefix)));
    try {
      for (let index = 0; index < (this.#outside?.length ?? 0); index += 1) {
        const key = this.#outside?.key(index);
        if (key?.startsWith(prefix)) found.add(key);
      }
    } catch {
      // Forbidden.
    }
    return [...found];
  }
}

function localStore(): KeyValueStore | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}
