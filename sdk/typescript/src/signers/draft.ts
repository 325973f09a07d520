import type { Network } from "../address.js";
import { fitsText } from "../bip322.js";
import { CodecError } from "../codec.js";
import { SignerError } from "../errors.js";
import { fromHex, toHex, type Account, type Hex } from "../hex.js";
import { checkPolicy, decodePolicy, encodePolicy, policyHash, type Policy, type PublicSigner, type Rule } from "../policy.js";
import { statementOf, type Cosigner, type Statement } from "../statement.js";
import {
  LIMITS, decodeUnsigned, encodeTransaction, encodeUnsigned, ruleOf, transactionHash, type Signed, type Transaction,
} from "../transaction.js";
import { evidenceHolds, proofsHold } from "../verify/signatures.js";
import { decodeProof, decodeWitness, encodeProof, encodeWitness, type Proof, type Role, type Witness } from "../witness.js";
import { prove, signingRule, sortedProofs } from "./policy.js";
import { TextSigner } from "./text.js";

const FORMAT = "cairn-draft/1";
const NETWORKS: readonly string[] = ["mainnet", "testnet", "regtest"];

/** Signatures holds the signatures of one account so far: a key's witness, or a policy with its signers' proofs. */
interface Signatures {
  policy: Policy | null;
  proofs: readonly Proof[];
  witness: Witness | null;
}

interface WrittenSignatures {
  policy?: Hex;
  proofs?: Hex[];
  witness?: Hex;
}

/** WrittenDraft is the JSON of a {@link Draft}; all bytes are encodings of docs/protocol.md. */
export interface WrittenDraft {
  format: string;
  network: Network;
  /** the unsigned form */
  transaction: Hex;
  sender: WrittenSignatures;
  payer?: WrittenSignatures;
}

function bad(message: string, cause?: unknown): SignerError {
  return new SignerError("bad_draft", `a bad draft of a transaction: ${message}`, { cause });
}

/**
 * Draft is a transaction that passes from one signer to the next, with the signatures so far. Its JSON form is a file
 * that they exchange, also with the command line and programs in Go. Each signature is checked when it is added or
 * read.
 */
export class Draft {
  readonly #signatures: Record<Role, Signatures>;

  /**
   * The policies of its sender and its payer are null for accounts of keys. It throws a {@link SignerError}
   * `bad_draft`.
   */
  constructor(
    readonly network: Network,
    readonly transaction: Transaction,
    policies: { sender?: Policy | null; payer?: Policy | null } = {},
  ) {
    const empty = (policy: Policy | null | undefined): Signatures => ({ policy: policy ?? null, proofs: [], witness: null });
    this.#signatures = { sender: empty(policies.sender), payer: empty(policies.payer) };
    this.#check();
  }

  /**
   * parse reads a draft's JSON, and checks the signatures in it. It throws a {@link SignerError} `bad_draft` or
   * `does_not_hold`.
   */
  static parse(text: string): Draft {
    if (text.length > 2 * LIMITS.transaction + 4096) throw bad("it is too long");
    let read: WrittenDraft;
    try {
      read = JSON.parse(text) as WrittenDraft;
    } catch (error) {
      throw bad("it is no JSON", error);
    }
    if (read?.format !== FORMAT) throw bad(`its format is not ${FORMAT}`);
    if (!NETWORKS.includes(read.network)) throw bad("its network is unknown");
    try {
      const [sender, payer] = [readSignatures(read.sender), readSignatures(read.payer ?? {})];
      const draft = new Draft(read.network, decodeUnsigned(fromHex(read.transaction)), { sender: sender.policy, payer: payer.policy });
      Object.assign(draft.#signatures, { sender, payer });
      draft.#check();
      return draft;
    } catch (error) {
      if (error instanceof CodecError || error instanceof TypeError) throw bad(error.message, error);
      throw error;
    }
  }

  toJSON(): WrittenDraft {
    const { transaction: tx } = this;
    const sender = writeSignatures(this.#signatures.sender);
    const draft = { format: FORMAT, network: this.network, transaction: toHex(encodeUnsigned(tx)), sender };
    return tx.payer === null ? draft : { ...draft, payer: writeSignatures(this.#signatures.payer) };
  }

  /** account returns the account that signs in a role. */
  account(role: Role): Account {
    const account = role === "sender" ? this.transaction.sender : this.transaction.payer;
    if (account === null) throw bad("it has no payer");
    return account;
  }

  /** statement returns the statement to be signed in a role. Show people its text, and the chain's id. */
  statement(role: Role): Statement {
    return statementOf(this.transaction, this.network, role);
  }

  /** rule returns the rule that signs in a role; for a key's account, a rule with only its key. */
  rule(role: Role): Rule {
    const { policy } = this.#signatures[role];
    if (policy) return signingRule(policy, ruleOf(this.transaction, role));
    return { threshold: 1, signers: [{ type: "key", key: this.account(role) }] };
  }

  /** missing returns the number of missing signatures in a role, and the signers that can supply them. */
  missing(role: Role): { count: number; from: PublicSigner[] } {
    const rule = this.rule(role);
    const { witness, proofs } = this.#signatures[role];
    const count = witness ? 0 : Math.max(rule.threshold - proofs.length, 0);
    return { count, from: count === 0 ? [] : rule.signers.filter((_, i) => !proofs.some(({ signer }) => signer === i)) };
  }

  /**
   * sign adds the signature of a cosigner in a role. The key of a key's account is its only cosigner. It throws a
   * {@link SignerError}.
   */
  async sign(role: Role, cosigner: Cosigner): Promise<void> {
    this.#add(role, await prove(this.rule(role), cosigner, this.statement(role)));
  }

  /** attach adds a Bitcoin wallet's signature of the text, by a key that is a signer or the account itself. */
  async attach(role: Role, key: Account, base64: string): Promise<void> {
    const { text } = this.statement(role);
    if (text === undefined || !fitsText(text)) throw new SignerError("no_text", "it has no text that a wallet can sign");
    await this.sign(role, new TextSigner(this.network, key, async () => base64));
  }

  /**
   * merge adds the signatures of another draft of the same transaction. It throws a {@link SignerError} `bad_draft`.
   */
  merge(other: Draft): void {
    if (this.network !== other.network || transactionHash(this.transaction) !== transactionHash(other.transaction)) {
      throw bad("they are of different transactions");
    }
    for (const role of this.#roles()) {
      const [mine, others] = [this.#signatures[role], other.#signatures[role]];
      const hash = ({ policy }: Signatures): Account | null => (policy ? policyHash(policy) : null);
      if (hash(mine) !== hash(others)) throw bad(`they have different policies of the ${role}`);
      if (!mine.witness) this.#signatures[role] = { ...mine, witness: others.witness };
      for (const proof of others.proofs) this.#add(role, proof);
    }
  }

  /**
   * signed returns the transaction with its witnesses. If only the payer's is missing, `sponsor` can add it. It throws
   * a {@link SignerError} `missing_proofs` if the sender's is missing.
   */
  signed(): Signed {
    const witness = this.#witness("sender");
    if (!witness) throw new SignerError("missing_proofs", `${this.missing("sender").count} more signers of the sender must sign`);
    const payerWitness = this.transaction.payer === null ? null : this.#witness("payer");
    return { raw: encodeTransaction({ ...this.transaction, witness, payerWitness }), hash: transactionHash(this.transaction) };
  }

  #witness(role: Role): Witness | null {
    const { policy, proofs, witness } = this.#signatures[role];
    if (!policy || this.missing(role).count > 0) return witness;
    return { type: "policy", policy, proofs: proofs.slice(0, this.rule(role).threshold) };
  }

  #roles(): Role[] {
    return this.transaction.payer === null ? ["sender"] : ["sender", "payer"];
  }

  #add(role: Role, proof: Proof): void {
    const signatures = this.#signatures[role];
    if (signatures.policy) {
      const others = signatures.proofs.filter(({ signer }) => signer !== proof.signer);
      this.#signatures[role] = { ...signatures, proofs: sortedProofs([...others, proof]) };
    } else if (proof.evidence.type === "key" || proof.evidence.type === "text") {
      this.#signatures[role] = { ...signatures, witness: proof.evidence };
    }
  }

  /** check checks the form of the draft, and all of its signatures. */
  #check(): void {
    const { payer } = this.#signatures;
    if (this.transaction.payer === null && (payer.policy || payer.witness || payer.proofs.length > 0)) {
      throw bad("it has signatures of a payer, and no payer");
    }
    for (const role of this.#roles()) this.#checkRole(role, this.#signatures[role]);
  }

  #checkRole(role: Role, { policy, proofs, witness }: Signatures): void {
    if (!policy) {
      if (proofs.length > 0) throw bad(`it has proofs of the ${role} without the policy`);
      if (!witness) return;
      if (witness.type === "policy") throw bad(`the policy and the proofs of the ${role} do not stand apart`);
      if (evidenceHolds({ type: "key", key: this.account(role) }, witness, this.statement(role))) return;
      throw new SignerError("does_not_hold", `the ${role}'s signature is invalid`);
    }
    if (witness) throw bad(`it has both a policy of the ${role} and a witness`);
    try {
      checkPolicy(policy);
    } catch (error) {
      throw bad(`the policy of the ${role} is not valid`, error);
    }
    const { signers } = this.rule(role);
    if (!proofsHold({ threshold: proofs.length, signers }, proofs, this.statement(role))) {
      throw new SignerError("does_not_hold", `a signature of the ${role}'s policy is invalid`);
    }
  }
}

function readSignatures({ policy, proofs, witness }: WrittenSignatures): Signatures {
  return {
    policy: policy === undefined ? null : decodePolicy(fromHex(policy)), proofs: (proofs ?? []).map((proof) => decodeProof(fromHex(proof))),
    witness: witness === undefined ? null : decodeWitness(fromHex(witness)),
  };
}

function writeSignatures({ policy, proofs, witness }: Signatures): WrittenSignatures {
  return {
    ...(policy && { policy: toHex(encodePolicy(policy)) }), ...(proofs.length > 0 && { proofs: proofs.map((proof) => toHex(encodeProof(proof))) }),
    ...(witness && { witness: toHex(encodeWitness(witness)) }),
  };
}
