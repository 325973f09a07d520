import { decodeResult, encodeArguments, type Abi } from "../abi.js";
import type { SignedHeader } from "../block.js";
import type { Client } from "../client.js";
import type { Contract } from "../contract.js";
import { RevertError } from "../errors.js";
import { fromHex, toHex, type Account } from "../hex.js";
import { readView, type Question, type Runner } from "./index.js";
import type { Trust } from "./trust.js";

type Views<A extends Abi> = Contract<A>["view"];
type Given<P extends unknown[]> = undefined extends P[0] ? [args?: P[0], options?: VerifiedOptions] : [args: P[0], options?: VerifiedOptions];

/** The height for a view, or the lowest one, and codes that the node need not send. */
export type VerifiedOptions = Pick<Question, "height" | "atLeast" | "codes">;

/** VerifiedContract has a function for each view of a contract, which trusts no node. */
export type VerifiedContract<A extends Abi> = {
  [F in keyof Views<A>]: Views<A>[F] extends (...args: infer P) => Promise<infer R>
    ? (...args: Given<P>) => Promise<{ value: R; header: SignedHeader }> : never;
};

/**
 * verified types a contract by its ABI, like `contract`, with views that are proven as in {@link readView}. They reject
 * with a RevertError if the view reverts.
 */
export function verified<const A extends Abi>(abi: A, id: Account, client: Client, trust: Trust, runner: Runner): VerifiedContract<A> {
  const views: Record<string, unknown> = Object.create(null);
  for (const f of abi.functions) {
    if (f.mode !== "read") continue;
    views[f.name] = async (args?: object, options: VerifiedOptions = {}) => {
      const question = { ...options, contract: id, function: f.name, args: fromHex(encodeArguments(f.args, args, abi)) };
      const { outcome, data, header } = await readView(client, trust, question, runner);
      if (outcome !== "success") throw new RevertError(outcome, `the view failed: ${outcome}`, toHex(data), 0n);
      return { value: decodeResult(f.returns, toHex(data), abi, f.name), header };
    };
  }
  return views as VerifiedContract<A>;
}
