import { from32, type Hash, type Hex } from "../hex.js";
import { pointOf, rawSignature } from "../p256.js";
import type { Evidence } from "../witness.js";
import { SingleSigner } from "./policy.js";

/**
 * P256Signer signs with a key of P-256: one of WebCrypto that nothing can extract, or of a key service or hardware. It signs alone for the
 * account of its default policy, or as one of several.
 */
export class P256Signer extends SingleSigner {
  readonly #sign: (message: Uint8Array) => Promise<Uint8Array>;
  /** of WebCrypto; may be kept in IndexedDB */
  readonly keys: CryptoKeyPair | undefined;

  /**
   * `point` is x ‖ y of the public key. `sign` signs a message of 32 bytes by ECDSA with SHA-256, and gives r ‖ s or DER: key services call
   * that the message type RAW. A call that signs a digest gets the message's SHA-256.
   */
  constructor(point: Hex, sign: (message: Uint8Array) => Promise<Uint8Array>, options: { number?: bigint; keys?: CryptoKeyPair } = {}) {
    super({ type: "p256", point }, options.number);
    this.#sign = sign;
    this.keys = options.keys;
  }

  /** generate makes a new key of WebCrypto that nothing can extract. Keep its `keys`: without them the account is lost. */
  static async generate(options: { number?: bigint } = {}): Promise<P256Signer> {
    return P256Signer.of(await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]), options);
  }

  /** of is the signer of a key of WebCrypto, such as one that was kept. */
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
