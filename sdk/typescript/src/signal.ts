/** Signal is a changing value that notifies its subscribers. */
export class Signal<T> {
  #listeners = new Set<(value: T) => void>();
  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }
  /** subscribe calls listener with each new value until the function that it returns is called. */
  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  /** set is for the owner. */
  set(value: T): void {
    this.current = value;
    for (const listener of [...this.#listeners]) listener(value);
  }
}

/** wait resolves after the given milliseconds, or at once when the signal aborts. */
export function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
  });
}
