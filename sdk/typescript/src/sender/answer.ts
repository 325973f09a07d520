import { retryAfter } from "../client.js";
import { HttpError, RpcError } from "../errors.js";
import type { Hash } from "../hex.js";
import type { Job } from "./job.js";
import { transient } from "./prepare.js";

/** PLACES are the refusals that mean that a nonce is wrong. */
export const PLACES = ["nonce_too_low", "nonce_too_high", "held", "replacement_underpriced"];

/** UNTAKEN are the HTTP statuses of a request that the node refused without reading its content. */
export const UNTAKEN = [401, 403, 413, 415, 429];

/** backoff returns the pause before the next attempt after a number of failures, in milliseconds. */
export function backoff(error: unknown, failures: number): number {
  const asked = retryAfter(error);
  return asked ? asked * 1000 : Math.min(200 * 2 ** (failures - 1), 10_000);
}

/**
 * Answer is the meaning of a node's answer to a job's transaction. At most one of accepted and refused is set; neither
 * is if some node may have it.
 */
export interface Answer {
  accepted?: Hash;
  /** no node has the transaction, so it gives up its nonce */
  refused?: RpcError;
  /** the sender's view of the account's nonces is wrong */
  misplaced?: boolean;
}

/** readAnswer returns the meaning of the node's answer, and sets when the transaction is due again. */
export function readAnswer(job: Job, answer: unknown, now: number): Answer {
  job.due = Infinity;
  if (answer === job.latest.hash) return { accepted: answer as Hash };
  const reason = answer instanceof RpcError ? answer.reason : undefined;
  if (reason === "already_known") {
    if (job.out) return { accepted: job.latest.hash };
    // This sender never sent the transaction before, so another program has sent the same one for the account.
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
  if (reason === undefined || reason === "primary_unreachable" || reason === "time") { // inconclusive
    job.out = true;
    job.due = now + 1000;
    return {};
  }
  const misplaced = PLACES.includes(reason);
  if (!job.out) return { refused: answer as RpcError, misplaced };
  if (reason === "nonce_too_high" || reason === "held") job.due = now + 1000; // some node may have it
  return { misplaced };
}
