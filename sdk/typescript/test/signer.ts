import type { Account, Signer, Witness } from "@cairn-chain/sdk";

/** blankSigner returns a signer with invalid witnesses: a key's, with a signature of zeros. */
export function blankSigner(account: Account): Signer {
  const sample = (): Witness => ({ type: "key", signature: `0x${"00".repeat(64)}` });
  const witness = async (): Promise<Witness> => sample();
  return { account, sample, sign: witness, signMessage: witness };
}
