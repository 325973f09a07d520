import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { HDKey } from "@scure/bip32";
import * as bip39 from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type { Network } from "./address.js";
import { blockHash, type SignedHeader } from "./block.js";
import { CairnError } from "./errors.js";
import { from32, toHex, type Account } from "./hex.js";
import type { Signer } from "./transaction.js";

/** KeyError: a mnemonic or private key is not one. Its message repeats nothing of it. */
export class KeyError extends CairnError {
  override name = "KeyError";
}

/** Where a key lies: m/86'/coin'/account'/0/index; account and index are 0 unless given. */
export interface KeyPath {
  network: Network;
  account?: number;
  index?: number;
  passphrase?: string;
}

/** generateMnemonic makes a new mnemonic of English words from the system's randomness. */
export function generateMnemonic(words: 12 | 24 = 24): string {
  return bip39.generateMnemonic(wordlist, words === 12 ? 128 : 256);
}

/** keyFromMnemonic derives a key as BIP-39, BIP-32 and BIP-86 say, with the taproot tweak. It throws a {@link KeyError}. */
export function keyFromMnemonic(mnemonic: string, path: KeyPath): Key {
  const words = mnemonic.normalize("NFKD").trim().split(/\s+/).join(" ");
  if (!bip39.validateMnemonic(words, wordlist)) throw new KeyError("not a mnemonic: a word or the checksum is wrong");
  const { network, account = 0, index = 0, passphrase = "" } = path;
  if ([account, index].some((i) => !Number.isInteger(i) || i < 0 || i >= 2 ** 31)) throw new KeyError("account and index are 0 to 2^31 - 1");
  const coin = network === "mainnet" ? 0 : 1;
  const seed = bip39.mnemonicToSeedSync(words, passphrase);
  const node = HDKey.fromMasterSeed(seed).derive(`m/86'/${coin}'/${account}'/0/${index}`);
  if (!node.privateKey) throw new KeyError("the path has no private key");
  return new Key(tweak(node.privateKey));
}

/** tweak is BIP-341's tweak with no script tree: the key whose account a Bitcoin wallet shows too. */
function tweak(privateKey: Uint8Array): Uint8Array {
  const order = secp256k1.Point.Fn;
  const point = secp256k1.Point.BASE.multiply(order.fromBytes(privateKey));
  const d = point.y % 2n === 0n ? order.fromBytes(privateKey) : order.neg(order.fromBytes(privateKey));
  const t = order.fromBytes(schnorr.utils.taggedHash("TapTweak", schnorr.utils.pointToBytes(point)));
  return order.toBytes(order.add(d, t));
}

/** Key is a private key that signs for its account. Its private bytes are in no property that prints. */
export class Key implements Signer {
  readonly account: Account;
  readonly #secret: Uint8Array;
  readonly #auxiliary: Uint8Array | undefined;

  /**
   * A key of 32 bytes as they are: not tweaked. auxiliary replaces the random bytes of BIP-340 by fixed ones, for signatures that
   * can be reproduced in tests. It throws a {@link KeyError}.
   */
  constructor(secret: Uint8Array, auxiliary?: Uint8Array) {
    try {
      this.account = toHex(schnorr.getPublicKey(secret));
    } catch {
      throw new KeyError("not a private key: 32 bytes from 1 to the group order - 1");
    }
    this.#secret = Uint8Array.from(secret);
    this.#auxiliary = auxiliary;
  }

  /** sign signs the 32 bytes of a hash. */
  async sign(hash: Uint8Array): Promise<Uint8Array> {
    return schnorr.sign(hash, this.#secret, this.#auxiliary);
  }
}

/** verifyProducer reports whether the header's signature is that of the producer that it names. */
export function verifyProducer(header: SignedHeader): boolean {
  return schnorr.verify(header.signature, from32(blockHash(header)), from32(header.producer));
}
