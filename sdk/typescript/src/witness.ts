import { CodecError, decode, encode, type Reader, type Writer } from "./codec.js";
import { tagged } from "./hash.js";
import { fromHex, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { MAX_INPUT, policyHash, readPolicy, writePolicy, type Policy } from "./policy.js";

const MAX_PROOFS = 16;
const MAX_CLIENT = 1024;

/** The sighash type of a taproot signature in BIP-322: 0 is DEFAULT, 1 is ALL. */
export type Sighash = 0 | 1;

/** Evidence is the signature of one signer of a policy. Signatures have 64 bytes. */
export type Evidence =
  | { readonly type: "key"; readonly signature: Hex }
  | { readonly type: "text"; readonly signature: Hex; readonly sighash: Sighash }
  | { readonly type: "p256"; readonly signature: Hex }
  /** an assertion of WebAuthn: the authenticator's data, and the part of the client's data after the challenge */
  | { readonly type: "passkey"; readonly authenticator: Hex; readonly client: Hex; readonly signature: Hex };

/** Proof is the evidence of the signer at an index, from 0 on, in a policy's rule. */
export interface Proof {
  readonly signer: number;
  readonly evidence: Evidence;
}

/** Witness proves that an account signed: by its own key, by a text that its own key signed, or by a policy. */
export type Witness =
  | { readonly type: "key"; readonly signature: Hex }
  | { readonly type: "text"; readonly signature: Hex; readonly sighash: Sighash }
  | { readonly type: "policy"; readonly policy: Policy; readonly proofs: readonly Proof[] };

/** Role is the role in which an account signs a transaction: its sender, or the payer of its fee. */
export type Role = "sender" | "payer";

export function writeWitness(w: Writer, witness: Witness): void {
  switch (witness.type) {
    case "key":
      w.u32(0).fixed(fromHex(witness.signature), 64);
      return;
    case "text":
      writeSighash(w.u32(1).fixed(fromHex(witness.signature), 64), witness.sighash);
      return;
    case "policy":
      if (witness.proofs.length > MAX_PROOFS) throw new CodecError(`${witness.proofs.length} proofs exceed the limit of ${MAX_PROOFS}`);
      writePolicy(w.u32(2), witness.policy);
      w.list(witness.proofs, writeProof);
  }
}

export function readWitness(r: Reader): Witness {
  const variant = r.u32();
  switch (variant) {
    case 0:
      return { type: "key", signature: toHex(r.fixed(64)) };
    case 1:
      return { type: "text", signature: toHex(r.fixed(64)), sighash: readSighash(r) };
    case 2:
      return { type: "policy", policy: readPolicy(r), proofs: r.list(MAX_PROOFS, readProof) };
  }
  throw new CodecError(`unknown witness ${variant}`);
}

function writeSighash(w: Writer, sighash: number): void {
  if (sighash !== 0 && sighash !== 1) throw new CodecError(`unknown sighash ${sighash}`);
  w.u8(sighash);
}

function readSighash(r: Reader): Sighash {
  const sighash = r.u8();
  if (sighash !== 0 && sighash !== 1) throw new CodecError(`unknown sighash ${sighash}`);
  return sighash;
}

function writeProof(w: Writer, { signer, evidence }: Proof): void {
  w.u8(signer);
  switch (evidence.type) {
    case "key":
      w.u32(0).fixed(fromHex(evidence.signature), 64);
      return;
    case "text":
      writeSighash(w.u32(1).fixed(fromHex(evidence.signature), 64), evidence.sighash);
      return;
    case "p256":
      w.u32(2).fixed(fromHex(evidence.signature), 64);
      return;
    case "passkey": {
      const client = fromHex(evidence.client);
      if (client.length > MAX_CLIENT) throw new CodecError(`client data of ${client.length} bytes exceeds the limit of ${MAX_CLIENT}`);
      w.u32(3).fixed(fromHex(evidence.authenticator), 37).bytes(client).fixed(fromHex(evidence.signature), 64);
    }
  }
}

function readProof(r: Reader): Proof {
  return { signer: r.u8(), evidence: readEvidence(r) };
}

function readEvidence(r: Reader): Evidence {
  const variant = r.u32();
  switch (variant) {
    case 0:
      return { type: "key", signature: toHex(r.fixed(64)) };
    case 1:
      return { type: "text", signature: toHex(r.fixed(64)), sighash: readSighash(r) };
    case 2:
      return { type: "p256", signature: toHex(r.fixed(64)) };
    case 3:
      return { type: "passkey", authenticator: toHex(r.fixed(37)), client: toHex(r.bytes(MAX_CLIENT)), signature: toHex(r.fixed(64)) };
  }
  throw new CodecError(`unknown evidence ${variant}`);
}

export function encodeWitness(witness: Witness): Uint8Array {
  return encode((w) => writeWitness(w, witness));
}

/** decodeWitness reads a witness, strictly. It throws a {@link CodecError}. */
export function decodeWitness(bytes: Uint8Array): Witness {
  return decode(bytes, MAX_INPUT, readWitness);
}

/** encodeProof returns the bytes of one cosigner's proof, for whoever collects them. */
export function encodeProof(proof: Proof): Uint8Array {
  return encode((w) => writeProof(w, proof));
}

/** decodeProof reads a proof, strictly. It throws a {@link CodecError}. */
export function decodeProof(bytes: Uint8Array): Proof {
  return decode(bytes, MAX_INPUT, readProof);
}

/** claim returns the authority that a witness claims for an account. It checks no signature. */
export function claim(account: Account, witness: Witness): Account {
  return witness.type === "policy" ? policyHash(witness.policy) : account;
}

/** witnessDigest covers both witnesses of a transaction. */
export function witnessDigest(witness: Witness, payerWitness: Witness | null): Hash {
  return toHex(tagged("cairn/witness/v2", encode((w) => {
    writeWitness(w, witness);
    w.option(payerWitness, writeWitness);
  })));
}
