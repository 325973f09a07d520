import { p256 } from "@noble/curves/nist.js";
import { schnorr } from "@noble/curves/secp256k1.js";
import type { Network } from "../address.js";
import { bip322Message, fitsText } from "../bip322.js";
import { blockHash, type SignedHeader } from "../block.js";
import { SignerError } from "../errors.js";
import { sha256 } from "../hash.js";
import { from32, fromHex, type Account, type Hash } from "../hex.js";
import { rawSignature, uncompressed } from "../p256.js";
import { passkeyDigest } from "../passkeys.js";
import type { PublicSigner, Rule } from "../policy.js";
import { messageStatement, statementOf, type Statement } from "../statement.js";
import type { SignedMessage } from "../text.js";
import { ruleOf, staticFault, type SignedTransaction } from "../transaction.js";
import { claim, type Evidence, type Proof, type Sighash, type Witness } from "../witness.js";

/** verifySchnorr reports whether a signature is valid by BIP-340. */
export function verifySchnorr(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean {
  return schnorr.verify(signature, message, key);
}

/**
 * verifyP256 reports whether an ECDSA signature r ‖ s over P-256 is valid for a digest and a point x ‖ y. A high s is
 * never valid.
 */
export function verifyP256(signature: Uint8Array, digest: Uint8Array, point: Uint8Array): boolean {
  try {
    return p256.verify(signature, digest, uncompressed(point), { prehash: false, lowS: true, format: "compact" });
  } catch {
    return false; // the point is not on the curve, or a number is out of range
  }
}

/**
 * verifyAnyP256 is {@link verifyP256} for any s, as the host function `p256_verify` verifies other people's signatures.
 */
export function verifyAnyP256(signature: Uint8Array, digest: Uint8Array, point: Uint8Array): boolean {
  try {
    return verifyP256(fromHex(rawSignature(signature)), digest, point);
  } catch (error) {
    if (error instanceof SignerError) return false; // a number is out of range
    throw error;
  }
}

/** textHolds reports whether a key signed a text by BIP-322. */
export function textHolds(key: Account, text: string | undefined, { signature, sighash }: { signature: `0x${string}`; sighash: Sighash }): boolean {
  if (text === undefined || !fitsText(text)) return false;
  return verifySchnorr(fromHex(signature), bip322Message(key, text, sighash), from32(key));
}

const USER_PRESENT = 1;
const USER_VERIFIED = 4;
const ATTESTED_OR_EXTENDED = 0xc0;

/** passkeyHolds reports whether a WebAuthn assertion is valid (docs/protocol.md, "Passkeys"). */
export function passkeyHolds(
  signer: Extract<PublicSigner, { type: "passkey" }>, hash: Hash, evidence: Extract<Evidence, { type: "passkey" }>,
): boolean {
  const authenticator = fromHex(evidence.authenticator);
  const flags = authenticator[32] ?? 0;
  if (!(flags & USER_PRESENT) || flags & ATTESTED_OR_EXTENDED || (signer.verified && !(flags & USER_VERIFIED))) return false;
  const digest = passkeyDigest(hash, authenticator, fromHex(evidence.client));
  return digest !== undefined && verifyP256(fromHex(evidence.signature), digest, fromHex(signer.point));
}

/** evidenceHolds reports whether evidence proves that a signer signed a statement. */
export function evidenceHolds(signer: PublicSigner, evidence: Evidence, { hash, text }: Statement): boolean {
  switch (signer.type) {
    case "key":
      if (evidence.type === "key") return verifySchnorr(fromHex(evidence.signature), from32(hash), from32(signer.key));
      return evidence.type === "text" && textHolds(signer.key, text, evidence);
    case "p256":
      return evidence.type === "p256" && verifyP256(fromHex(evidence.signature), sha256(from32(hash)), fromHex(signer.point));
    case "passkey":
      return evidence.type === "passkey" && passkeyHolds(signer, hash, evidence);
  }
}

/** proofsHold reports whether proofs show that enough signers of a rule signed. */
export function proofsHold(rule: Rule, proofs: readonly Proof[], what: Statement): boolean {
  if (proofs.length !== rule.threshold) return false;
  let before = -1;
  for (const { signer: place, evidence } of proofs) {
    const signer = rule.signers[place];
    if (place <= before || !signer || !evidenceHolds(signer, evidence, what)) return false;
    before = place;
  }
  return true;
}

/**
 * witnessHolds reports whether a witness proves that an account signed a statement; a policy signs by the owner's or
 * the recovery's rule.
 */
export function witnessHolds(account: Account, witness: Witness, what: Statement, rule: "owner" | "recovery" = "owner"): boolean {
  switch (witness.type) {
    case "key":
      return verifySchnorr(fromHex(witness.signature), from32(what.hash), from32(account));
    case "text":
      return textHolds(account, what.text, witness);
    case "policy": {
      const signing = rule === "owner" ? witness.policy.owner : witness.policy.recovery?.rule;
      return signing !== undefined && proofsHold(signing, witness.proofs, what);
    }
  }
}

/**
 * transactionFault returns the first broken rule among those that need no state, with the reason: rules 3 to 10 of
 * validity, or 18 for an invalid signature. It is undefined if the transaction breaks none. It does not check that the
 * witnesses claim the authorities in force, which needs the state.
 */
export function transactionFault(tx: SignedTransaction, network: Network): { rule: number; message: string } | undefined {
  const fault = staticFault(tx);
  if (fault) return fault;
  if (!witnessHolds(tx.sender, tx.witness, statementOf(tx, network, "sender"), ruleOf(tx, "sender"))) {
    return { rule: 18, message: "the sender's signatures do not hold" };
  }
  if (tx.payer !== null && !witnessHolds(tx.payer, tx.payerWitness!, statementOf(tx, network, "payer"))) {
    return { rule: 18, message: "the payer's signatures do not hold" };
  }
  return undefined;
}

/**
 * verifyMessage reports whether a witness shows that an account signed a message, like the host function
 * `account_verify`. `authority` is the account's authority, from {@link Client} or `readAccount`; an account that never
 * changed it is its own authority.
 */
export function verifyMessage(message: SignedMessage, witness: Witness, network: Network, authority: Account = message.account): boolean {
  return claim(message.account, witness) === authority && witnessHolds(message.account, witness, messageStatement(message, network));
}

/** verifySeal reports whether a header's seal is valid for the producer that it names. Block 0 has no seal. */
export function verifySeal(header: SignedHeader): boolean {
  return verifySchnorr(fromHex(header.seal.signature), from32(blockHash(header)), from32(header.producer));
}
