import { keyAccount, type Account, type Signer, type Witness } from "@cairn-chain/sdk";

/** blankSigner signs nothing: its witnesses are those of a key with zeros for the signature. */
export function blankSigner(account: Account): Signer {
  const witness = async (): Promise<Witness> => ({ type: "key", signature: `0x${"00".repeat(64)}` });
  return { ...keyAccount(account), sign: witness, signMessage: witness };
}
