import { CodecError, decode, encode, type Reader, type Writer } from "./codec.js";
import { tagged } from "./hash.js";
import { compareBytes, from32, fromHex, toHex, type Account, type Hex } from "./hex.js";

/** The most bytes of any input except transactions, blocks and genesis (docs/protocol.md, "Encoding"). */
export const MAX_INPUT = 524_288;
const MAX_SIGNERS = 16;
const MAX_DELAY = 1n << 40n;

/** PublicSigner is the public part of a signer, its form in a policy. A point is x ‖ y, each 32 bytes. */
export type PublicSigner =
  | { readonly type: "key"; readonly key: Account }
  | { readonly type: "p256"; readonly point: Hex }
  | { readonly type: "passkey"; readonly point: Hex; readonly verified: boolean };

/** Rule is satisfied if at least threshold of its signers sign. */
export interface Rule {
  readonly threshold: number;
  /** in the order of their encodings: {@link makeRule} sorts them */
  readonly signers: readonly PublicSigner[];
}

/** Recovery is the rule by which another policy may be set, with a delay in milliseconds. */
export interface Recovery {
  readonly rule: Rule;
  readonly delay: bigint;
}

/** Policy determines who may sign for an account (docs/protocol.md, "Witnesses"). */
export interface Policy {
  /** affects only the hash: it gives the same signers several accounts, from 0 on */
  readonly number: bigint;
  readonly owner: Rule;
  readonly recovery: Recovery | null;
}

/** PolicyError: a policy is invalid, so no transaction with it could be in a block. */
export class PolicyError extends CodecError {
  override name = "PolicyError";
}

export function writePolicy(w: Writer, { number, owner, recovery }: Policy): void {
  writeRule(w.u64(number), owner);
  w.option(recovery, (w, { rule, delay }) => {
    writeRule(w, rule);
    w.u64(delay);
  });
}

export function readPolicy(r: Reader): Policy {
  return { number: r.u64(), owner: readRule(r), recovery: r.option((r) => ({ rule: readRule(r), delay: r.u64() })) };
}

function writeRule(w: Writer, { threshold, signers }: Rule): void {
  if (signers.length > MAX_SIGNERS) throw new CodecError(`${signers.length} signers exceed the limit of ${MAX_SIGNERS}`);
  w.u8(threshold).list(signers, writeSigner);
}

function readRule(r: Reader): Rule {
  return { threshold: r.u8(), signers: r.list(MAX_SIGNERS, readSigner) };
}

function writeSigner(w: Writer, signer: PublicSigner): void {
  switch (signer.type) {
    case "key":
      w.u32(0).fixed(from32(signer.key), 32);
      return;
    case "p256":
      w.u32(1).fixed(fromHex(signer.point), 64);
      return;
    case "passkey":
      w.u32(2).fixed(fromHex(signer.point), 64).bool(signer.verified);
  }
}

function readSigner(r: Reader): PublicSigner {
  const variant = r.u32();
  switch (variant) {
    case 0:
      return { type: "key", key: toHex(r.fixed(32)) };
    case 1:
      return { type: "p256", point: toHex(r.fixed(64)) };
    case 2:
      return { type: "passkey", point: toHex(r.fixed(64)), verified: r.bool() };
  }
  throw new CodecError(`unknown signer ${variant}`);
}

/** encodePolicy returns the bytes of a policy. Keep them: without them its account is lost. */
export function encodePolicy(policy: Policy): Uint8Array {
  return encode((w) => writePolicy(w, policy));
}

/**
 * decodePolicy strictly reads the encoding of a policy. It throws a {@link CodecError}. {@link checkPolicy} checks
 * whether the policy is valid.
 */
export function decodePolicy(bytes: Uint8Array): Policy {
  return decode(bytes, MAX_INPUT, readPolicy);
}

/** policyHash is the account of a policy, and the authority that its witnesses claim. */
export function policyHash(policy: Policy): Account {
  return toHex(tagged("cairn/policy/v2", encodePolicy(policy)));
}

/**
 * checkPolicy throws a {@link PolicyError} for an invalid policy. It does not check points: a point that is not on the
 * curve can never sign.
 */
export function checkPolicy({ owner, recovery }: Policy): void {
  checkRule(owner, "the owner's rule");
  if (!recovery) return;
  checkRule(recovery.rule, "the recovery's rule");
  if (recovery.delay < 1n || recovery.delay > MAX_DELAY) throw new PolicyError(`a delay of ${recovery.delay} ms is not from 1 to 2^40`);
}

function checkRule({ threshold, signers }: Rule, what: string): void {
  if (threshold < 1 || threshold > signers.length || signers.length > MAX_SIGNERS) {
    throw new PolicyError(`${what} asks for ${threshold} of ${signers.length} signers`);
  }
  const encoded = signers.map((signer) => encode((w) => writeSigner(w, signer)));
  for (let i = 1; i < encoded.length; i++) {
    const order = compareBytes(encoded[i - 1]!, encoded[i]!);
    if (order >= 0) throw new PolicyError(order === 0 ? `${what} has a signer twice` : `the signers of ${what} do not ascend`);
  }
}

/**
 * makeRule sorts signers into a rule. It throws a {@link PolicyError} if a signer occurs twice, even as two kinds of
 * signer with the same point, because it would count twice.
 */
export function makeRule(threshold: number, signers: readonly PublicSigner[]): Rule {
  const sorted = signers
    .map((signer) => ({ signer, bytes: encode((w) => writeSigner(w, signer)) }))
    .sort((a, b) => compareBytes(a.bytes, b.bytes))
    .map(({ signer }) => signer);
  const rule = { threshold, signers: sorted };
  checkRule(rule, "the rule");
  const points = sorted.flatMap((signer) => ("point" in signer ? [signer.point] : []));
  if (new Set(points).size < points.length) throw new PolicyError("duplicate key: a point occurs in two signers of the rule");
  return rule;
}

/** singlePolicy is the default policy of one signer: number 0, 1 of 1, no recovery. */
export function singlePolicy(signer: PublicSigner, number = 0n): Policy {
  return { number, owner: makeRule(1, [signer]), recovery: null };
}

/** sameSigner reports whether two signers are equal. */
export function sameSigner(a: PublicSigner, b: PublicSigner): boolean {
  return compareBytes(encode((w) => writeSigner(w, a)), encode((w) => writeSigner(w, b))) === 0;
}
