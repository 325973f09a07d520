import { from32, type Hash, type Hex } from "../hex.js";
import { pointOf, rawSignature } from "../p256.js";
import type { Evidence } from "../witness.js";
import { SingleSigner } from "./policy.js";

/**
 * P256Signer signs with a P-256 key: a non-extractable one of WebCrypto, or one in a key service or hardware. It signs
 * alone for the account of its default policy, or as one of several signers.
 */
export class P256Signer extends SingleSigner {
  readonly #sign: (message: Uint8Array) => Promise<Uint8Array>;
  /** keys of WebCrypto, which can be stored in IndexedDB */
  readonly keys: CryptoKeyPair | undefined;

  /**
   * `point` is x ‖ y of the public key. `sign` signs a message of 32 bytes by ECDSA with SHA-256, and returns r ‖ s or
   * DER. Key services call this the message type RAW. For a service that signs a digest, pass the message's SHA-256.
   */
  constructor(point: Hex, sign: (message: Uint8Array) => Promise<Uint8Array>, options: { number?: bigint; keys?: CryptoKeyPair } = {}) {
    super({ type: "p256", point }, options.number);
    this.#sign = sign;
    this.keys = options.keys;
  }

  /** generate makes a new, non-extractable key of WebCrypto. Keep its `keys`: without them the account is lost. */
  static async generate(options: { number?: bigint } = {}): Promise<P256Signer> {
    return P256Signer.of(await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]), options);
  }

  /** of returns the signer for a key of WebCrypto, such as a stored one. */
  static async of(keys: CryptoKeyPair, options: { number?: bigint } = {}): Promise<P256Signer> {
    const point = pointOf(new Uint8Array(await crypto.subtle.exportKey("raw", keys.publicKey)));
    const sign = async (message: Uint8Array): Promise<Uint8Array> => {
      return new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, keys.privateKey, message as Uint8Array<ArrayBuffer>));
    };
    return new P256Signer(point, sign, { ...options, keys });
  }

  protected override async answer(hash: Hash): Promise<Evidence> {
    return { type: "p256", signature: rawSignature(await this.#sign(from32(hash))) };
  }
}
