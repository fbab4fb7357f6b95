/** Typed listeners. One that throws does not keep the others from hearing. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(value: never) => void>>();

  /** Calls `listener` for every event of this kind until the returned function is called. */
  on<Kind extends keyof Events>(kind: Kind, listener: (value: Events[Kind]) => void): () => void {
    const known = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, known.add(listener));
    return () => {
      known.delete(listener);
    };
  }

  protected emit<Kind extends keyof Events>(kind: Kind, value: Events[Kind]): void {
    for (const listener of [...(this.#listeners.get(kind) ?? [])]) {
      try {
        (listener as (value: Events[Kind]) => void)(value);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
