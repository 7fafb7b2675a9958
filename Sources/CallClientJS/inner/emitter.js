// Listeners by name. One that throws harms no other.

export const tell = Symbol("tell");

export class Emitter {
  #listeners = new Map();

  /** Calls `listener` whenever `name` happens; returns a function that ends this. */
  on(name, listener) {
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all);
    const entry = (...told) => listener(...told);
    all.add(entry);
    return () => void all.delete(entry);
  }

  /** Returns how many listeners there were. */
  [tell](name, ...told) {
    const all = [...(this.#listeners.get(name) ?? [])];
    for (const listener of all) {
      try {
        listener(...told);
      } catch (error) {
        queueMicrotask(() => {
          throw error; // where uncaught errors go
        });
      }
    }
    return all.length;
  }
}
