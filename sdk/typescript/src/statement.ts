import type { Network } from "./address.js";
import { SignerError } from "./errors.js";
import type { Account, Hash } from "./hex.js";
import type { PublicSigner } from "./policy.js";
import { messageHash, messageText, signingText, type SignedMessage } from "./text.js";
import { signedHash, type Transaction } from "./transaction.js";
import type { Evidence, Role } from "./witness.js";

/**
 * Statement is the content of a signature: the 32 bytes to be signed and, if there is one, the equivalent text for
 * people.
 */
export interface Statement {
  hash: Hash;
  text: string | undefined;
}

/** statementOf returns the statement that an account signs in a role of a transaction. */
export function statementOf(tx: Transaction, network: Network, role: Role): Statement {
  return { hash: signedHash(tx, role), text: signingText(tx, network, role) };
}

/** messageStatement returns the statement that an account signs for a message. */
export function messageStatement(message: SignedMessage, network: Network): Statement {
  return { hash: messageHash(message), text: messageText(message, network) };
}

/** Cosigner signs as one of the signers of a policy. */
export interface Cosigner {
  /** in the form of the policy */
  readonly signer: PublicSigner;
  evidence(what: Statement): Promise<Evidence>;
}

/** checkMessage throws a {@link SignerError} if a message names another account. */
export function checkMessage(message: SignedMessage, account: Account): void {
  if (message.account !== account) throw new SignerError("other_account", `the signer is for account ${account}, but the message is for ${message.account}`);
}
