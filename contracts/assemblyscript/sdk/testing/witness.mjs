// Witnesses of messages, as specified in docs/protocol.md ("Witnesses", "Texts"). On a test's chain every account keeps
// its initial authority.
import { schnorr } from "@noble/curves/secp256k1.js";
import { p256Verify, schnorrVerify, sha256, tagged } from "./cryptography.mjs";

const MAX_SIGNERS = 16n;
const MAX_CLIENT = 1024n;
const MAX_TEXT = 4096;
const MAX_DELAY = 1n << 40n;

class Malformed extends Error {}

/** Reads an encoding; throws if it breaks a rule. */
class Reader {
  at = 0;

  constructor(bytes) {
    this.bytes = bytes;
  }

  take(n) {
    if (BigInt(n) > BigInt(this.bytes.length - this.at)) throw new Malformed();
    return this.bytes.subarray(this.at, (this.at += Number(n)));
  }

  u8(most = 255) {
    const [byte] = this.take(1);
    if (byte > most) throw new Malformed();
    return byte;
  }

  u64(most = (1n << 64n) - 1n) {
    const n = this.take(8).readBigUInt64LE();
    if (n > most) throw new Malformed();
    return n;
  }

  variant(most) {
    const n = this.take(4).readUInt32LE();
    if (n > most) throw new Malformed();
    return n;
  }

  list(read) {
    return Array.from({ length: Number(this.u64(MAX_SIGNERS)) }, () => read());
  }

  signer() {
    const start = this.at;
    const kind = this.variant(2);
    const key = this.take(kind === 0 ? 32 : 64);
    const verified = kind === 2 && this.u8(1) === 1;
    return { encoded: this.bytes.subarray(start, this.at), kind, key, verified };
  }

  rule() {
    return { threshold: this.u8(), signers: this.list(() => this.signer()) };
  }

  policy() {
    const start = this.at;
    this.u64();
    const owner = this.rule();
    const recovery = this.u8(1) ? { rule: this.rule(), delay: this.u64() } : undefined;
    return { encoded: this.bytes.subarray(start, this.at), owner, recovery };
  }

  evidence() {
    const kind = this.variant(3);
    if (kind === 1) return { kind, signature: this.take(64), sighash: this.u8(1) };
    if (kind !== 3) return { kind, signature: this.take(64) };
    const authenticator = this.take(37);
    return { kind, authenticator, client: this.take(this.u64(MAX_CLIENT)), signature: this.take(64) };
  }

  proofs() {
    return this.list(() => ({ signer: this.u8(), evidence: this.evidence() }));
  }

  end() {
    if (this.at !== this.bytes.length) throw new Malformed();
  }
}

const ascends = (list, compare) => list.every((item, i) => i === 0 || compare(list[i - 1], item) < 0);

function valid({ owner, recovery }) {
  const rule = ({ threshold, signers }) =>
    threshold >= 1 && threshold <= signers.length && ascends(signers, (a, b) => Buffer.compare(a.encoded, b.encoded));
  return rule(owner) && (!recovery || (rule(recovery.rule) && recovery.delay >= 1n && recovery.delay <= MAX_DELAY));
}

/** The signed form of a message: 32 bytes, and the equivalent text. */
function statementOf(chainId, contract, account, message) {
  const chain = Buffer.alloc(8);
  chain.writeBigUInt64LE(chainId);
  const hash = tagged("cairn/message/v2", chain, contract, account, message);
  let shown = `${message.length} bytes, SHA-256 ${sha256(message).toString("hex")}`;
  if (message.length === 0) shown = "none";
  else if (message.length <= 1024 && message.every((byte) => byte >= 0x20 && byte < 0x7f)) shown = message.toString();
  const text = [
    `Cairn message on regtest, chain ${chainId}`,
    `contract: 0x${contract.toString("hex")}`,
    `account: ${address(account)}`,
    `message: ${shown}`,
    `id: ${hash.toString("hex")}`,
  ].join("\n");
  return { hash, text };
}

const zeros = (n) => Buffer.alloc(n);

/** BIP-322 in its simple form, for a taproot address that is spent by a key. */
function textHolds(key, text, { signature, sighash }) {
  if (text.length > MAX_TEXT) return false;
  const spk = Buffer.concat([Buffer.of(0x51, 0x20), key]);
  const toSpend = Buffer.concat([
    zeros(4), Buffer.of(1), zeros(32), Buffer.alloc(4, 0xff), Buffer.of(0x22, 0x00, 0x20),
    tagged("BIP0322-signed-message", Buffer.from(text)), zeros(4), Buffer.of(1), zeros(8), Buffer.of(0x22), spk, zeros(4),
  ]);
  const prevout = Buffer.concat([sha256(sha256(toSpend)), zeros(4)]);
  const signed = tagged(
    "TapSighash", Buffer.of(0, sighash), zeros(8), sha256(prevout), sha256(zeros(8)), sha256(Buffer.concat([Buffer.of(0x22), spk])),
    sha256(zeros(4)), sha256(Buffer.concat([zeros(8), Buffer.of(1, 0x6a)])), zeros(5),
  );
  return verifySchnorr(key, signed, signature);
}

function verifySchnorr(key, message, signature) {
  try {
    return schnorrVerify(key, message, signature);
  } catch {
    return false;
  }
}

function passkeyHolds({ key, verified }, hash, { authenticator, client, signature }) {
  const need = verified ? 0b101 : 0b001;
  const flags = authenticator[32];
  if (!client.subarray(0, 12).equals(Buffer.from('","origin":"')) || (flags & need) !== need || flags & 0b11000000) return false;
  const data = Buffer.concat([Buffer.from(`{"type":"webauthn.get","challenge":"${hash.toString("base64url")}`), client]);
  return p256Verify(key, sha256(Buffer.concat([authenticator, sha256(data)])), signature, true);
}

function holds({ hash, text }, signer, evidence) {
  if (signer.kind === 0 && evidence.kind === 0) return verifySchnorr(signer.key, hash, evidence.signature);
  if (signer.kind === 0 && evidence.kind === 1) return textHolds(signer.key, text, evidence);
  if (signer.kind === 1 && evidence.kind === 2) return p256Verify(signer.key, sha256(hash), evidence.signature, true);
  return signer.kind === 2 && evidence.kind === 3 && passkeyHolds(signer, hash, evidence);
}

/** Whether an encoded witness of a message to a contract holds for an account. */
export function witnessHolds(chainId, contract, account, message, encoded) {
  const statement = statementOf(chainId, contract, account, message);
  const reader = new Reader(encoded);
  try {
    const kind = reader.variant(2);
    if (kind < 2) {
      const evidence = { kind, signature: reader.take(64), sighash: kind && reader.u8(1) };
      reader.end();
      return holds(statement, { kind: 0, key: account }, evidence);
    }
    const policy = reader.policy();
    const proofs = reader.proofs();
    reader.end();
    return (
      valid(policy) && tagged("cairn/policy/v2", policy.encoded).equals(account) &&
      proofs.length === policy.owner.threshold && ascends(proofs, (a, b) => a.signer - b.signer) &&
      proofs.every(({ signer, evidence }) => {
        const of = policy.owner.signers[signer];
        return of !== undefined && holds(statement, of, evidence);
      })
    );
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

/** An account for tests that signs messages: a contract's accountVerify takes its witnesses. */
export class Signer {
  #secret;

  constructor(name) {
    this.#secret = sha256(Buffer.from(name));
    this.account = "0x" + Buffer.from(schnorr.getPublicKey(this.#secret)).toString("hex");
  }

  /** The encoded witness of a message to a contract, as `0x` and hex. */
  sign(contract, message, chainId = 31337n) {
    const bytes = (hex) => Buffer.from(hex.slice(2), "hex");
    const { hash } = statementOf(chainId, bytes(contract), bytes(this.account), Buffer.from(message));
    return "0x" + Buffer.concat([zeros(4), schnorr.sign(hash, this.#secret, zeros(32))]).toString("hex");
  }
}

/** BIP-350: the address on regtest. */
function address(account) {
  const digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  const words = [1];
  let bits = 0;
  let count = 0;
  for (const byte of account) {
    bits = (bits << 8) | byte;
    count += 8;
    while (count >= 5) words.push((bits >> (count -= 5)) & 31);
    bits &= 31;
  }
  words.push((bits << (5 - count)) & 31);
  const prefix = [...Buffer.from("bcrt")];
  let check = 1;
  for (const word of [...prefix.map((b) => b >> 5), 0, ...prefix.map((b) => b & 31), ...words, 0, 0, 0, 0, 0, 0]) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ word;
    [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].forEach((g, i) => {
      if ((top >> i) & 1) check ^= g;
    });
  }
  check ^= 0x2bc830a3;
  for (let i = 5; i >= 0; i--) words.push((check >> (5 * i)) & 31);
  return "bcrt1" + words.map((word) => digits[word]).join("");
}
