import { p256 } from "@noble/curves/nist.js";
import type { Client } from "../client.js";
import { SignerError } from "../errors.js";
import { sha256 } from "../hash.js";
import { concat, from32, fromHex, toHex, type Account, type Hash, type Hex } from "../hex.js";
import { pointOf } from "../p256.js";
import { evidenceOf, type Assertion } from "../passkeys.js";
import { policyHash, singlePolicy, type PublicSigner } from "../policy.js";
import type { Evidence } from "../witness.js";
import { SingleSigner } from "./policy.js";

/**
 * Passkey is the data that a wallet stores about a passkey. It is not secret, but without the point the account is hard
 * to find.
 */
export interface Passkey {
  /** x ‖ y of its public key */
  point: Hex;
  /** whether the chain requires that the device verified its user, such as by a fingerprint; usually true */
  verified: boolean;
  /** its ID; without it the browser asks the user to choose one of the domain's passkeys */
  credential?: Hex | undefined;
  /** its domain; by default the page's */
  domain?: string | undefined;
}

/** Credentials is the used part of navigator.credentials. */
export type Credentials = Pick<CredentialsContainer, "create" | "get">;

/** The domain of the passkeys; by default the page's. */
export interface PasskeyOptions {
  domain?: string | undefined;
  /** whether the device must verify its user each time; by default true */
  verified?: boolean;
  /** number of the default policy, which gives one passkey several accounts; by default 0 */
  number?: bigint;
  /** instead of navigator.credentials */
  credentials?: Credentials;
}

const challenge = (): Hash => toHex(crypto.getRandomValues(new Uint8Array(32)));
const buffer = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(bytes);

/** asked converts the browser's refusals to a {@link SignerError}. */
async function asked<T>(answer: Promise<T | null>): Promise<T> {
  try {
    const got = await answer;
    if (got) return got;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    throw new SignerError("refused", `the passkey was not used: ${error.message}`, { cause: error });
  }
  throw new SignerError("refused", "the browser gave no passkey");
}

/** assert makes a passkey sign a challenge. */
async function assert(
  credentials: Credentials, hash: Hash, { credential, domain, verified }: Omit<Passkey, "point">,
): Promise<{ assertion: Assertion; credential: Hex }> {
  const publicKey: PublicKeyCredentialRequestOptions = {
    challenge: buffer(from32(hash)), userVerification: verified ? "required" : "preferred", ...(domain !== undefined && { rpId: domain }),
    allowCredentials: credential === undefined ? [] : [{ type: "public-key", id: buffer(fromHex(credential)) }],
  };
  const given = (await asked(credentials.get({ publicKey }))) as PublicKeyCredential;
  const { authenticatorData, clientDataJSON, signature } = given.response as AuthenticatorAssertionResponse;
  const bytes = (of: ArrayBuffer): Uint8Array => new Uint8Array(of);
  return {
    assertion: { authenticatorData: bytes(authenticatorData), clientDataJSON: bytes(clientDataJSON), signature: bytes(signature) },
    credential: toHex(bytes(given.rawId)),
  };
}

/**
 * PasskeySigner signs with a passkey in a page, alone for the account of its default policy, or as one of several. **A passkey belongs to
 * its domain**: if the domain goes, so does the passkey. Give important accounts a second signer or a recovery.
 */
export class PasskeySigner extends SingleSigner {
  readonly #credentials: Credentials;

  constructor(
    readonly passkey: Passkey,
    options: Pick<PasskeyOptions, "number" | "credentials"> = {},
  ) {
    super(signerOf(passkey), options.number);
    this.#credentials = options.credentials ?? navigator.credentials;
  }

  protected override async answer(hash: Hash): Promise<Evidence> {
    return evidenceOf((await assert(this.#credentials, hash, this.passkey)).assertion, hash);
  }
}

function signerOf({ point, verified }: Pick<Passkey, "point" | "verified">): PublicSigner {
  return { type: "passkey", point, verified };
}

/**
 * createPasskeyAccount makes a new passkey, and returns the signer of the account for which it alone signs. It lets the
 * passkey sign once, to make sure that the chain accepts its signatures, so people are asked twice. Store the signer's
 * `passkey`. It throws a {@link SignerError} `refused`, `not_p256` or `bad_assertion`.
 */
export async function createPasskeyAccount(name: string, options: PasskeyOptions & { site?: string } = {}): Promise<PasskeySigner> {
  const { domain, verified = true, credentials = navigator.credentials, site = name } = options;
  const created = (await asked(credentials.create({
    publicKey: {
      challenge: buffer(from32(challenge())),
      rp: { name: site, ...(domain !== undefined && { id: domain }) },
      user: { id: crypto.getRandomValues(new Uint8Array(16)), name, displayName: name },
      pubKeyCredParams: [{ type: "public-key", alg: -7 }],
      authenticatorSelection: { residentKey: "required", userVerification: verified ? "required" : "preferred" },
    },
  }))) as PublicKeyCredential;
  const key = (created.response as AuthenticatorAttestationResponse).getPublicKey();
  if (!key) throw new SignerError("not_p256", "the browser does not show the passkey's public key");
  const passkey = { point: pointOf(new Uint8Array(key)), verified, credential: toHex(new Uint8Array(created.rawId)), domain };
  const signer = new PasskeySigner(passkey, options);
  await signer.evidence({ hash: challenge() });
  return signer;
}

/**
 * candidatesOf returns the points, at most four, to one of which an assertion belongs. The assertion does not say
 * which.
 */
export function candidatesOf({ authenticatorData, clientDataJSON, signature }: Assertion): Hex[] {
  const digest = sha256(concat(authenticatorData, sha256(clientDataJSON)));
  const { r, s } = p256.Signature.fromBytes(signature, "der");
  const points = [0, 1, 2, 3].flatMap((recovery) => {
    try {
      return [pointOf(new p256.Signature(r, s, recovery).recoverPublicKey(digest).toBytes(false))];
    } catch {
      return []; // no point has this x
    }
  });
  return [...new Set(points)];
}

/**
 * findPasskeyAccount finds the account of a passkey that was made on another device and synced to this one. People
 * choose the passkey and sign once. Usually the chain knows exactly one of the possible accounts; if it knows none or
 * several, they sign once more. It throws a {@link SignerError}. `svc_getAccount` of the account returns a policy other
 * than the default one.
 */
export async function findPasskeyAccount(client: Client, options: PasskeyOptions = {}): Promise<PasskeySigner> {
  const { domain, verified = true, number, credentials = navigator.credentials } = options;
  const first = await assert(credentials, challenge(), { domain, verified });
  const accountOf = (point: Hex): Account => policyHash(singlePolicy(signerOf({ point, verified }), number));
  let points = candidatesOf(first.assertion);
  const found = await Promise.all(points.map((point) => client.call("svc_getAccount", accountOf(point))));
  const used = points.filter((_, i) => found[i]!.balance > 0n || found[i]!.nonce > 0n);
  if (used.length === 1) points = used;
  else {
    const second = candidatesOf((await assert(credentials, challenge(), { domain, verified, credential: first.credential })).assertion);
    points = points.filter((point) => second.includes(point));
  }
  const [point] = points;
  if (point === undefined) throw new SignerError("not_found", "the two signatures are of different passkeys");
  return new PasskeySigner({ point, verified, credential: first.credential, domain }, { ...(number !== undefined && { number }), credentials });
}
