import type { Network } from "./address.js";
import { SignerError } from "./errors.js";
import type { Account, Hash } from "./hex.js";
import type { PublicSigner } from "./policy.js";
import { messageHash, messageText, signingText, type SignedMessage } from "./text.js";
import { signedHash, type Transaction } from "./transaction.js";
import type { Evidence, Role } from "./witness.js";

/** Statement is what a signature says: 32 bytes that are signed, and the text that says the same to people, if there is one. */
export interface Statement {
  hash: Hash;
  text: string | undefined;
}

/** statementOf is what an account signs in a role of a transaction. */
export function statementOf(tx: Transaction, network: Network, role: Role): Statement {
  return { hash: signedHash(tx, role), text: signingText(tx, network, role) };
}

/** messageStatement is what an account signs of a message. */
export function messageStatement(message: SignedMessage, network: Network): Statement {
  return { hash: messageHash(message), text: messageText(message, network) };
}

/** Cosigner signs as one of the signers of a policy. */
export interface Cosigner {
  /** as the policy has it */
  readonly signer: PublicSigner;
  evidence(what: Statement): Promise<Evidence>;
}

/** checkMessage throws a {@link SignerError} where a message names another account. */
export function checkMessage(message: SignedMessage, account: Account): void {
  if (message.account !== account) throw new SignerError("other_account", `the signer is for account ${account}, but the message is for ${message.account}`);
}
