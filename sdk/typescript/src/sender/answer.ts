import { retryAfter } from "../client.js";
import { HttpError, RpcError } from "../errors.js";
import type { Hash } from "../hex.js";
import type { Job } from "./job.js";
import { transient } from "./prepare.js";

/** PLACES are refusals that say that a nonce is not what it was taken for. */
export const PLACES = ["nonce_too_low", "nonce_too_high", "held", "replacement_underpriced"];

/** UNTAKEN are HTTP statuses of a request that the node refused before it looked at what is in it. */
export const UNTAKEN = [401, 403, 413, 415, 429];

/** backoff is how long to wait for a node after a number of failures, in milliseconds. */
export function backoff(error: unknown, failures: number): number {
  const asked = retryAfter(error);
  return asked ? asked * 1000 : Math.min(200 * 2 ** (failures - 1), 10_000);
}

/** Answer is what an answer to a job's bytes means: at most one of accepted and refused; neither where they may be with somebody. */
export interface Answer {
  accepted?: Hash;
  /** they are with nobody, and leave their nonce */
  refused?: RpcError;
  /** the account's nonces are not what they were taken for */
  misplaced?: boolean;
}

/** readAnswer tells what the node's answer means, and sets when the same bytes are due again. */
export function readAnswer(job: Job, answer: unknown, now: number): Answer {
  job.due = Infinity;
  if (answer === job.latest.hash) return { accepted: answer as Hash };
  const reason = answer instanceof RpcError ? answer.reason : undefined;
  if (reason === "already_known") {
    if (job.out) return { accepted: job.latest.hash };
    // Nobody has had these bytes from here: another program has sent the same transaction, by the same account.
    return { refused: answer as RpcError, misplaced: true };
  }
  if (answer instanceof RpcError && reason !== undefined && reason !== "time" && transient.includes(reason)) {
    job.due = now + (retryAfter(answer) ?? 1) * 1000;
    return {};
  }
  if (answer instanceof HttpError && UNTAKEN.includes(answer.status)) {
    job.due = now + backoff(answer, 1);
    return {};
  }
  if (reason === undefined || reason === "primary_unreachable" || reason === "time") { // no word on whether it has the bytes
    job.out = true;
    job.due = now + 1000;
    return {};
  }
  const misplaced = PLACES.includes(reason);
  if (!job.out) return { refused: answer as RpcError, misplaced };
  if (reason === "nonce_too_high" || reason === "held") job.due = now + 1000; // its bytes may be with somebody: it stays until a block uses the nonce
  return { misplaced };
}
