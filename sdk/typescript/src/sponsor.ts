import { SignerError } from "./errors.js";
import { checkRole, decodeTransaction, encodeTransaction, transactionHash, type Signed, type Signer } from "./transaction.js";

/** MAX_SPONSORED is the longest validity of a transaction that a payer signs, in milliseconds. */
export const MAX_SPONSORED = 600_000;

/**
 * sponsor signs a transaction as its payer. The payer can lose the whole gas limit × max fee to a call that fails: try
 * the transaction first (`client.costs`), and limit the amount for each user. It throws a {@link SignerError}
 * `sponsored_too_long` for a transaction that could be sent more than 10 minutes from now, and `other_account` if it
 * names another payer.
 */
export async function sponsor(payer: Signer, signed: Pick<Signed, "raw">, now: number = Date.now()): Promise<Signed> {
  const tx = decodeTransaction(signed.raw);
  checkRole(tx, "payer", payer.account);
  checkSponsored(tx.validUntil, BigInt(now));
  const payerWitness = await payer.sign(tx, "payer");
  return { raw: encodeTransaction({ ...tx, payerWitness }), hash: transactionHash(tx) };
}

/** checkSponsored throws a {@link SignerError} for a time that a payer must not sign for. */
export function checkSponsored(validUntil: bigint | null, now: bigint): void {
  if (validUntil === null || validUntil > now + BigInt(MAX_SPONSORED)) {
    throw new SignerError("sponsored_too_long", "a transaction with a payer can be valid for at most 10 minutes");
  }
}
