import { SignerError } from "./errors.js";
import { sha256 } from "./hash.js";
import { concat, from32, toHex, type Hash } from "./hex.js";
import { rawSignature } from "./p256.js";
import type { Evidence } from "./witness.js";

/** Assertion is a passkey's answer to navigator.credentials.get: the members of AuthenticatorAssertionResponse. */
export interface Assertion {
  authenticatorData: Uint8Array;
  clientDataJSON: Uint8Array;
  /** in DER */
  signature: Uint8Array;
}

type PasskeyEvidence = Extract<Evidence, { type: "passkey" }>;

const ascii = new TextEncoder();
const ORIGIN = ascii.encode('","origin":"');

/** base64url writes bytes in WebAuthn's form, without padding. */
export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

/** clientDataOf returns the beginning of the client's data, which the chain requires. */
function clientDataOf(challenge: Hash): Uint8Array {
  return ascii.encode(`{"type":"webauthn.get","challenge":"${base64url(from32(challenge))}`);
}

const beginsWith = (bytes: Uint8Array, beginning: Uint8Array): boolean => beginning.every((byte, i) => bytes[i] === byte);

/**
 * evidenceOf converts an assertion of a challenge to the chain's form. It throws a {@link SignerError} for one that the
 * chain does not accept.
 */
export function evidenceOf({ authenticatorData, clientDataJSON, signature }: Assertion, challenge: Hash): PasskeyEvidence {
  const before = clientDataOf(challenge);
  const client = clientDataJSON.subarray(before.length);
  if (!beginsWith(clientDataJSON, before) || !beginsWith(client, ORIGIN)) {
    throw new SignerError("bad_assertion", "the client data do not match the challenge, or are in another order");
  }
  if (authenticatorData.length !== 37) {
    throw new SignerError("bad_assertion", `the authenticator data have ${authenticatorData.length} bytes, not 37; ask without extensions`);
  }
  return { type: "passkey", authenticator: toHex(authenticatorData), client: toHex(client), signature: rawSignature(signature) };
}

/** passkeyDigest returns the digest that the passkey signed; undefined if the client's data have another form. */
export function passkeyDigest(challenge: Hash, authenticator: Uint8Array, client: Uint8Array): Uint8Array | undefined {
  if (!beginsWith(client, ORIGIN)) return undefined;
  return sha256(concat(authenticator, sha256(concat(clientDataOf(challenge), client))));
}
