import type { Network } from "../address.js";
import { SignerError } from "../errors.js";
import type { Account, Hash } from "../hex.js";
import { checkPolicy, policyHash, sameSigner, singlePolicy, type Policy, type PublicSigner, type Rule } from "../policy.js";
import { checkMessage, messageStatement, statementOf, type Cosigner, type Statement } from "../statement.js";
import { messageHash, type SignedMessage } from "../text.js";
import { checkRole, policyAccount, ruleOf, signedHash, type Party, type Payload, type Signer, type Transaction } from "../transaction.js";
import { evidenceHolds } from "../verify/signatures.js";
import type { Evidence, Proof, Role, Witness } from "../witness.js";

/**
 * signingRule returns the rule of a policy that signs. It throws a {@link SignerError} if a policy without a recovery
 * would have to sign one.
 */
export function signingRule(policy: Policy, by: "owner" | "recovery"): Rule {
  const rule = by === "owner" ? policy.owner : policy.recovery?.rule;
  if (!rule) throw new SignerError("not_a_signer", "the policy has no recovery");
  return rule;
}

/** prove makes a cosigner sign a statement, and checks its evidence. It throws a {@link SignerError}. */
export async function prove(rule: Rule, cosigner: Cosigner, what: Statement): Promise<Proof> {
  const signer = rule.signers.findIndex((one) => sameSigner(one, cosigner.signer));
  if (signer < 0) throw new SignerError("not_a_signer", "it is not one of the signers of the policy's rule");
  const evidence = await cosigner.evidence(what);
  if (!evidenceHolds(cosigner.signer, evidence, what)) throw new SignerError("does_not_hold", "the signature is invalid");
  return { signer, evidence };
}

/**
 * PolicySigner signs for an account by a policy: it asks its cosigners for as many proofs as the rule requires. For
 * cosigners elsewhere, see {@link Draft}.
 */
export class PolicySigner implements Signer {
  readonly account: Account;
  readonly #party: Party;

  /**
   * Cosigners are asked in order. `account` is the policy's own account by default; pass it if an account of another
   * origin set the policy later. It throws a PolicyError for an invalid policy.
   */
  constructor(
    readonly network: Network,
    readonly policy: Policy,
    readonly cosigners: readonly Cosigner[],
    account: Account = policyHash(policy),
  ) {
    checkPolicy(policy);
    this.account = account;
    this.#party = policyAccount(policy, account);
  }

  sample(payload: Payload, role: Role): Witness {
    return this.#party.sample(payload, role);
  }

  /** It throws a {@link SignerError} `missing_proofs` if too few of the cosigners are in the rule that signs. */
  async sign(tx: Transaction, role: Role): Promise<Witness> {
    checkRole(tx, role, this.account);
    return this.#witness(statementOf(tx, this.network, role), signingRule(this.policy, ruleOf(tx, role)));
  }

  async signMessage(message: SignedMessage): Promise<Witness> {
    checkMessage(message, this.account);
    return this.#witness(messageStatement(message, this.network), this.policy.owner);
  }

  async #witness(what: Statement, rule: Rule): Promise<Witness> {
    const proofs = new Map<number, Proof>();
    for (const cosigner of this.cosigners) {
      if (proofs.size === rule.threshold) break;
      const place = rule.signers.findIndex((one) => sameSigner(one, cosigner.signer));
      if (place >= 0 && !proofs.has(place)) proofs.set(place, await prove(rule, cosigner, what));
    }
    if (proofs.size < rule.threshold) {
      throw new SignerError("missing_proofs", `the policy needs ${rule.threshold} signers, and ${proofs.size} have signed`);
    }
    return { type: "policy", policy: this.policy, proofs: sortedProofs(proofs.values()) };
  }
}

/** sortedProofs sorts proofs into the order of a witness. */
export function sortedProofs(proofs: Iterable<Proof>): Proof[] {
  return [...proofs].sort((a, b) => a.signer - b.signer);
}

/** SingleSigner signs alone for the account of its default policy, and as one of several signers in other policies. */
export abstract class SingleSigner implements Signer, Cosigner {
  readonly account: Account;
  /** the policy of its own account: number 0 by default, without a recovery */
  readonly policy: Policy;
  readonly #party: Party;

  constructor(
    readonly signer: PublicSigner,
    number?: bigint,
  ) {
    this.policy = singlePolicy(signer, number);
    this.account = policyHash(this.policy);
    this.#party = policyAccount(this.policy);
  }

  /** answer signs a hash */
  protected abstract answer(hash: Hash): Promise<Evidence>;

  /** evidence throws a {@link SignerError} if the answer is invalid. */
  async evidence({ hash }: Pick<Statement, "hash">): Promise<Evidence> {
    const evidence = await this.answer(hash);
    if (!evidenceHolds(this.signer, evidence, { hash, text: undefined })) throw new SignerError("does_not_hold", "the signature is invalid");
    return evidence;
  }

  sample(payload: Payload, role: Role): Witness {
    return this.#party.sample(payload, role);
  }

  async sign(tx: Transaction, role: Role): Promise<Witness> {
    checkRole(tx, role, this.account);
    signingRule(this.policy, ruleOf(tx, role));
    return this.#witness(signedHash(tx, role));
  }

  async signMessage(message: SignedMessage): Promise<Witness> {
    checkMessage(message, this.account);
    return this.#witness(messageHash(message));
  }

  async #witness(hash: Hash): Promise<Witness> {
    return { type: "policy", policy: this.policy, proofs: [{ signer: 0, evidence: await this.evidence({ hash }) }] };
  }
}
