// Loads data of pages from the node.
import { HttpError, RpcError, UnreachableError } from "@cairn-chain/sdk";
import { useEffect, useRef, useState } from "preact/hooks";

/** Loaded is the state of useLoad. The last value stays while the next one loads. */
export interface Loaded<T> {
  value: T | undefined;
  error: unknown;
  reload(): void;
}

/**
 * The number of requests to a busy node before the page shows an error, and the interval for data that changes with
 * each block, in milliseconds.
 */
const RETRIES = [1000, 2000, 4000];
const REFRESH = 1000;
/** The interval of repeated requests while the node is unreachable, in milliseconds. */
const AGAIN = 2000;

/** passes reports whether an error is temporary, so that the request is repeated automatically. */
export function passes(error: unknown): boolean {
  if (error instanceof HttpError) return [429, 502, 503, 504].includes(error.status);
  if (error instanceof TypeError) return true; // of fetch and import, without an answer
  return error instanceof UnreachableError || (error instanceof RpcError && error.is("busy"));
}

/** Loading requests one item repeatedly, never twice at once, and reports the results. */
class Loading<T> {
  #running = false;
  #again = false;
  #begun = 0;
  #timer = 0;
  ended = false;

  constructor(
    readonly load: () => Promise<T>,
    readonly tell: (value: T) => void,
    readonly fail: (error: unknown) => void,
  ) {}

  /** refresh requests now, or after the pending answer and a pause. */
  refresh(): void {
    if (this.#running || this.#timer) {
      this.#again = true;
      return;
    }
    this.#timer = window.setTimeout(() => void this.#run(0), Math.max(0, this.#begun + REFRESH - Date.now()));
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.#timer);
  }

  async #run(tried: number): Promise<void> {
    this.#timer = 0;
    this.#running = true;
    this.#again = false;
    this.#begun = Date.now();
    let retry = 0;
    try {
      const value = await this.load();
      if (!this.ended) this.tell(value);
    } catch (error) {
      const busy = error instanceof RpcError && error.is("busy");
      const quietly = busy ? RETRIES[tried] : undefined;
      retry = quietly ?? (passes(error) ? AGAIN : 0);
      if (!this.ended && quietly === undefined) this.fail(error);
    }
    this.#running = false;
    if (this.ended) return;
    if (retry) this.#timer = window.setTimeout(() => void this.#run(tried + 1), retry);
    else if (this.#again) this.refresh();
  }
}

/**
 * useLoad loads the item that key names. The part of the key after an @ marks a possible change: the item is then
 * loaded again, at most once a second. A busy or unreachable node is asked until it answers; the old value stays
 * meanwhile.
 */
export function useLoad<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const page = key.split("@")[0]!;
  const [state, setState] = useState<{ page: string; value?: T; error?: unknown }>({ page: "" });
  const [again, setAgain] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const loading = useRef<Loading<T> | null>(null);
  useEffect(() => {
    const fail = (error: unknown): void => {
      const stays = (old: { page: string; value?: T }): boolean => old.page === page && old.value !== undefined;
      setState((old) => (stays(old) && passes(error) ? old : { page, error }));
    };
    const mine = new Loading(
      () => latest.current(),
      (value) => setState({ page, value }),
      fail,
    );
    loading.current = mine;
    return () => mine.end();
  }, [page, again]);
  useEffect(() => loading.current?.refresh(), [key, again]);
  const mine = state.page === page ? state : { value: undefined, error: undefined };
  return { value: mine.value, error: mine.error, reload: () => setAgain(again + 1) };
}
