import type { Account, Signer, Witness } from "@cairn-chain/sdk";

/** blankSigner signs nothing: its witnesses are those of a key with zeros for the signature. */
export function blankSigner(account: Account): Signer {
  const sample = (): Witness => ({ type: "key", signature: `0x${"00".repeat(64)}` });
  const witness = async (): Promise<Witness> => sample();
  return { account, sample, sign: witness, signMessage: witness };
}
