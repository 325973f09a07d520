import { CodecError } from "./codec.js";
import { toHex, type Account, type Hex } from "./hex.js";
import type { Parameters } from "./parameters.js";
import type { Policy } from "./policy.js";
import { LIMITS, ZERO, type Step, type StepPayload, type Transaction } from "./transaction.js";

/** Action is a payload with its target and value. Values are in smallest units. */
export type Action =
  | StepAction
  | { type: "deploy"; value: bigint; name: string; code: Uint8Array | Hex; initArgs: Uint8Array | Hex }
  | { type: "configure"; parameters: Parameters }
  | { type: "batch"; steps: readonly StepAction[] }
  /**
   * who may sign for the account from now on; null: its own key again. With `recovery`, it takes effect after the delay
   * of the recovery that signs it
   */
  | { type: "set_policy"; policy: Policy | null; recovery?: boolean }
  /**
   * makes another contract with the code of `template`. It costs a fraction of a deploy, because nothing is compiled
   */
  | { type: "instantiate"; value: bigint; template: Account; name: string; initArgs: Uint8Array | Hex };

/** StepAction is an action that a batch may contain. */
export type StepAction =
  /** `memo` is 32 bytes; {@link memo} makes them from a text */
  | { type: "transfer"; to: Account; value: bigint; memo?: Hex | null }
  | { type: "call"; value: bigint; contract: Account; function: string; args: Uint8Array | Hex };

/** Target, value and payload of a transaction. */
export type Content = Pick<Transaction, "target" | "value" | "payload">;

function stepOf(op: StepAction): Step {
  if (op.type === "transfer") return { target: op.to, value: op.value, action: { type: "transfer", memo: op.memo ?? null } };
  if (op.type === "call") return { target: op.contract, value: op.value, action: { type: "call", function: op.function, args: op.args } };
  throw new CodecError("a step of a batch is a transfer or a call");
}

/** contentOf returns the target, value and payload of a transaction for an action. */
export function contentOf(op: Action): Content {
  switch (op.type) {
    case "transfer":
    case "call": {
      const { target, value, action } = stepOf(op);
      return { target, value, payload: action };
    }
    case "deploy":
      return { target: ZERO, value: op.value, payload: { type: "deploy", name: op.name, code: op.code, initArgs: op.initArgs } };
    case "configure":
      return { target: ZERO, value: 0n, payload: op };
    case "batch":
      return { target: ZERO, value: 0n, payload: { type: "batch", steps: op.steps.map(stepOf) } };
    case "set_policy":
      return { target: ZERO, value: 0n, payload: { type: "set_policy", recovery: op.recovery ?? false, policy: op.policy } };
    case "instantiate":
      return { target: op.template, value: op.value, payload: { type: "instantiate", name: op.name, initArgs: op.initArgs } };
  }
}

function stepAction(target: Account, value: bigint, action: StepPayload): StepAction {
  if (action.type === "transfer") return { type: "transfer", to: target, value, memo: action.memo };
  return { type: "call", value, contract: target, function: action.function, args: action.args };
}

/** actionOf returns the action of a transaction. */
export function actionOf({ target, value, payload: p }: Content): Action {
  switch (p.type) {
    case "transfer":
    case "call":
      return stepAction(target, value, p);
    case "deploy":
      return { ...p, value };
    case "instantiate":
      return { ...p, value, template: target };
    case "batch":
      return { type: "batch", steps: p.steps.map(({ target, value, action }) => stepAction(target, value, action)) };
    case "configure":
    case "set_policy":
      return p;
  }
}

/** batch combines up to 256 transfers and calls in one transaction: all of them take effect, or none if one fails. */
export function batch(...steps: StepAction[]): Action {
  if (steps.length < 1 || steps.length > LIMITS.steps) throw new RangeError(`a batch has 1 to ${LIMITS.steps} steps, not ${steps.length}`);
  steps.forEach(stepOf);
  return { type: "batch", steps };
}

/** batches divides transfers and calls into batches of at most `most` each. */
export function batches(steps: readonly StepAction[], most: number = LIMITS.steps): Action[] {
  if (!Number.isInteger(most) || most < 1 || most > LIMITS.steps) throw new RangeError(`a batch has 1 to ${LIMITS.steps} steps, not ${most}`);
  return Array.from({ length: Math.ceil(steps.length / most) }, (_, i) => batch(...steps.slice(i * most, (i + 1) * most)));
}

/**
 * memo makes the 32 bytes of a memo from a text, padded with zeros. It throws a RangeError if the text is too long or
 * contains a zero.
 */
export function memo(text: string): Hex {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > 32 || bytes.includes(0)) throw new RangeError("a memo is a text of at most 32 bytes without a zero");
  const padded = new Uint8Array(32);
  padded.set(bytes);
  return toHex(padded);
}
