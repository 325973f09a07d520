import { toBytes } from "./hex.js";
import { KEY_SAMPLE, encodePayload, type Payload, type StepPayload, type Transaction } from "./transaction.js";
import { encodeWitness, type Evidence, type Witness } from "./witness.js";

/** The prices of the gas schedule that a client needs. A test compares them with the schedule's text. */
export const GAS = {
  IntrinsicTransfer: 5_000n,
  IntrinsicCall: 11_000n,
  IntrinsicCallByte: 16n,
  IntrinsicDeploy: 61_000n,
  IntrinsicDeployByte: 16n,
  IntrinsicDeployCodeByte: 1_000n,
  IntrinsicConfigure: 61_000n,
  IntrinsicInstantiate: 11_000n,
  InstantiateByte: 16n,
  IntrinsicBatch: 11_000n,
  BatchTransfer: 5_000n,
  BatchCall: 2_000n,
  BatchCallByte: 16n,
  IntrinsicSetPolicy: 31_000n,
  IntrinsicSetPolicyByte: 16n,
  WitnessKey: 5_000n,
  WitnessText: 11_000n,
  WitnessP256: 60_000n,
  WitnessPolicy: 2_000n,
  WitnessPolicyByte: 16n,
  Payer: 15_000n,
  NewAccount: 100_000n,
} as const;

/** payloadGas returns the cost of a payload before it runs. */
export function payloadGas(p: Payload): bigint {
  switch (p.type) {
    case "transfer":
      return GAS.IntrinsicTransfer;
    case "call":
      return GAS.IntrinsicCall + GAS.IntrinsicCallByte * callBytes(p);
    case "deploy":
      return GAS.IntrinsicDeploy + GAS.IntrinsicDeployByte * madeBytes(p) + GAS.IntrinsicDeployCodeByte * BigInt(toBytes(p.code).length);
    case "configure":
      return GAS.IntrinsicConfigure;
    case "batch":
      return p.steps.reduce<bigint>((sum, { action }) => sum + stepGas(action), GAS.IntrinsicBatch);
    case "set_policy":
      return GAS.IntrinsicSetPolicy + GAS.IntrinsicSetPolicyByte * BigInt(encodePayload(p).length);
    case "instantiate":
      return GAS.IntrinsicInstantiate + GAS.InstantiateByte * madeBytes(p);
  }
}

function stepGas(action: StepPayload): bigint {
  return action.type === "transfer" ? GAS.BatchTransfer : GAS.BatchCall + GAS.BatchCallByte * callBytes(action);
}

const textBytes = (text: string): bigint => BigInt(new TextEncoder().encode(text).length);
const callBytes = (p: Extract<StepPayload, { type: "call" }>): bigint => textBytes(p.function) + BigInt(toBytes(p.args).length);
const madeBytes = (p: Extract<Payload, { initArgs: unknown }>): bigint => textBytes(p.name) + BigInt(toBytes(p.initArgs).length);

const proofGas: Record<Evidence["type"], bigint> = {
  key: GAS.WitnessKey, text: GAS.WitnessText, p256: GAS.WitnessP256, passkey: GAS.WitnessP256,
};

/** witnessGas returns the cost of a witness. */
export function witnessGas(witness: Witness): bigint {
  if (witness.type !== "policy") return proofGas[witness.type];
  const bytes = BigInt(encodeWitness(witness).length);
  return witness.proofs.reduce((sum, { evidence }) => sum + proofGas[evidence.type], GAS.WitnessPolicy + GAS.WitnessPolicyByte * bytes);
}

/**
 * intrinsicGas returns the cost of a transaction before it runs (docs/protocol.md, "Gas schedule"), with its witnesses
 * or, if it has none, with those of keys. If a payer pays for the first transaction of an account that never received
 * coins, it costs `GAS.NewAccount` more.
 */
export function intrinsicGas(
  tx: Pick<Transaction, "payload" | "payer">, witness: Witness = KEY_SAMPLE, payerWitness: Witness | null = KEY_SAMPLE,
): bigint {
  const payer = tx.payer === null ? 0n : GAS.Payer + witnessGas(payerWitness ?? KEY_SAMPLE);
  return payloadGas(tx.payload) + witnessGas(witness) + payer;
}
