import { toBytes } from "./hex.js";
import type { Payload } from "./transaction.js";

/** The prices of the gas schedule that a client counts with; a test holds them to the schedule's text. */
export const GAS = {
  IntrinsicTransfer: 21_000n,
  IntrinsicCall: 21_000n,
  IntrinsicCallByte: 16n,
  IntrinsicDeploy: 71_000n,
  IntrinsicDeployByte: 16n,
  IntrinsicDeployCodeByte: 1_000n,
  IntrinsicConfigure: 71_000n,
  NewAccount: 25_000n,
} as const;

/** intrinsicGas is what a transaction costs before it runs (docs/protocol.md, "Gas schedule"). */
export function intrinsicGas(payload: Payload): bigint {
  switch (payload.type) {
    case "transfer":
      return GAS.IntrinsicTransfer;
    case "call":
      return GAS.IntrinsicCall + GAS.IntrinsicCallByte * (textBytes(payload.function) + BigInt(toBytes(payload.args).length));
    case "deploy":
      return (
        GAS.IntrinsicDeploy + GAS.IntrinsicDeployByte * (textBytes(payload.name) + BigInt(toBytes(payload.initArgs).length)) +
        GAS.IntrinsicDeployCodeByte * BigInt(toBytes(payload.code).length)
      );
    case "configure":
      return GAS.IntrinsicConfigure;
  }
}

function textBytes(text: string): bigint {
  return BigInt(new TextEncoder().encode(text).length);
}
