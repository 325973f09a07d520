import { IncompleteError, UnansweredError, execute, type Outcome, type Runner, type Verified } from "./index.js";

/** The parts of a worker that {@link workerRunner} needs: a page's worker, or one of Node.js with the same names. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  terminate(): void;
  // any, because a page's Worker declares more about its events than is needed here
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
}

type Answer = { outcome: Outcome } | { error: "incomplete" | "unsupported" | "resource"; message: string };

/**
 * answer computes the reply of a worker's program to a message: self.onmessage = (e) =>
 * self.postMessage(answer(e.data)).
 */
export function answer(message: unknown): Answer {
  try {
    return { outcome: execute(message as Verified) };
  } catch (error) {
    if (error instanceof IncompleteError) return { error: "incomplete", message: error.message };
    if (error instanceof UnansweredError) return { error: error.reason, message: error.message };
    return { error: "resource", message: String(error) };
  }
}

/**
 * workerRunner makes each call in its own worker. After a timeout in milliseconds it ends the worker, and the call
 * rejects with an {@link UnansweredError}.
 */
export function workerRunner(start: () => WorkerLike, timeout = 2_000): Runner {
  return {
    run: (verified) => new Promise((resolve, reject) => {
      const worker = start();
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        worker.terminate();
        settle();
      };
      const fail = (message: string): void => end(() => reject(new UnansweredError("resource", message)));
      const timer = setTimeout(() => fail("the call takes too long here"), timeout);
      worker.onerror = (event: { message: string }) => fail(event.message);
      worker.onmessage = ({ data }: { data: unknown }) => {
        const answer = data as Answer;
        if ("outcome" in answer) end(() => resolve(answer.outcome));
        else if (answer.error === "incomplete") end(() => reject(new IncompleteError(answer.message)));
        else end(() => reject(new UnansweredError(answer.error as "unsupported" | "resource", answer.message)));
      };
      worker.postMessage(verified);
    }),
  };
}
