import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { HDKey } from "@scure/bip32";
import * as bip39 from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { formatAddress, type Network } from "./address.js";
import { CairnError } from "./errors.js";
import { from32, toHex, type Account, type Hash, type Hex } from "./hex.js";
import type { PublicSigner } from "./policy.js";
import { checkMessage, type Cosigner, type Statement } from "./statement.js";
import { messageHash, type SignedMessage } from "./text.js";
import { KEY_SAMPLE, checkRole, signedHash, type Signer, type Transaction } from "./transaction.js";
import type { Evidence, Role, Witness } from "./witness.js";

/** KeyError: a mnemonic or private key is invalid. The message contains no part of it. */
export class KeyError extends CairnError {
  override name = "KeyError";
}

/** The path of a key: m/86'/coin'/account'/0/index. account and index are 0 by default. */
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

/** keyFromMnemonic derives a key by BIP-39, BIP-32 and BIP-86, with the taproot tweak. It throws a {@link KeyError}. */
export function keyFromMnemonic(mnemonic: string, path: KeyPath): KeySigner {
  return new Wallet(mnemonic, path).key(path.index);
}

const HARDENED = 2 ** 31;
/** The version bytes of extended keys (BIP-32): xpub and xprv of the mainnet, tpub and tprv of all others. */
const VERSIONS = { main: { private: 0x0488ade4, public: 0x0488b21e }, test: { private: 0x04358394, public: 0x043587cf } };
const versions = (network: Network): { private: number; public: number } => (network === "mainnet" ? VERSIONS.main : VERSIONS.test);

function checkIndex(index: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= HARDENED) throw new KeyError("account and index are 0 to 2^31 - 1");
}

/** Wallet derives the keys of one account of a mnemonic. It computes the mnemonic's seed, the slow part, once. */
export class Wallet {
  readonly #chain: HDKey;
  /** the account's extended public key, which gives its addresses and signs nothing: see {@link AccountKey} */
  readonly accountKey: AccountKey;

  /** It throws a {@link KeyError} for an invalid mnemonic. */
  constructor(mnemonic: string, { network, account = 0, passphrase = "" }: Omit<KeyPath, "index">) {
    const words = mnemonic.normalize("NFKD").trim().split(/\s+/).join(" ");
    if (!bip39.validateMnemonic(words, wordlist)) throw new KeyError("not a mnemonic: a word or the checksum is wrong");
    checkIndex(account);
    const seed = bip39.mnemonicToSeedSync(words, passphrase);
    const node = HDKey.fromMasterSeed(seed, versions(network)).derive(`m/86'/${network === "mainnet" ? 0 : 1}'/${account}'`);
    this.#chain = node.deriveChild(0);
    this.accountKey = new AccountKey(node.publicExtendedKey, network);
  }

  /** key returns the key at m/86'/coin'/account'/0/index. */
  key(index = 0): KeySigner {
    checkIndex(index);
    const { privateKey } = this.#chain.deriveChild(index);
    if (!privateKey) throw new KeyError("the path has no private key");
    return new KeySigner(tweak(privateKey));
  }
}

/**
 * AccountKey makes an account's addresses from its extended public key (BIP-32, BIP-86): a server that hands out addresses needs no
 * mnemonic. Do not publish it: its holder knows all addresses and, with a single private key of the account, all
 * private keys.
 */
export class AccountKey {
  readonly #chain: HDKey;

  /**
   * It accepts xpub… on the mainnet, and tpub… on all other networks. It throws a {@link KeyError}, which contains no
   * part of the text.
   */
  constructor(
    readonly text: string,
    readonly network: Network,
  ) {
    let node: HDKey;
    try {
      node = HDKey.fromExtendedKey(text, versions(network));
    } catch {
      throw new KeyError(`not an extended public key of the network: ${network === "mainnet" ? "xpub…" : "tpub…"}`);
    }
    if (node.privateKey) throw new KeyError("an extended private key: give the public one");
    if (node.depth !== 3) throw new KeyError("not the extended key of an account, which is three steps below the master key");
    this.#chain = node.deriveChild(0);
  }

  /** account returns the account of the key at an index. */
  account(index = 0): Account {
    checkIndex(index);
    const { publicKey } = this.#chain.deriveChild(index);
    if (!publicKey) throw new KeyError("the path has no public key");
    const point = schnorr.utils.lift_x(BigInt(toHex(publicKey.subarray(1))));
    const t = secp256k1.Point.Fn.fromBytes(schnorr.utils.taggedHash("TapTweak", schnorr.utils.pointToBytes(point)));
    return toHex(schnorr.utils.pointToBytes(point.add(secp256k1.Point.BASE.multiply(t))));
  }

  /** address returns the address of the key at an index. */
  address(index = 0): string {
    return formatAddress(this.account(index), this.network);
  }

  toString(): string {
    return this.text;
  }
}

/** tweak applies BIP-341's tweak without a script tree. A Bitcoin wallet shows the account of the resulting key too. */
function tweak(privateKey: Uint8Array): Uint8Array {
  const order = secp256k1.Point.Fn;
  const point = secp256k1.Point.BASE.multiply(order.fromBytes(privateKey));
  const d = point.y % 2n === 0n ? order.fromBytes(privateKey) : order.neg(order.fromBytes(privateKey));
  const t = order.fromBytes(schnorr.utils.taggedHash("TapTweak", schnorr.utils.pointToBytes(point)));
  return order.toBytes(order.add(d, t));
}

/**
 * KeySigner signs with a private key for its account, or as a signer of a policy. Its private bytes are in no property
 * that prints.
 */
export class KeySigner implements Signer, Cosigner {
  readonly account: Account;
  readonly signer: PublicSigner;
  readonly #secret: Uint8Array;
  readonly #auxiliary: Uint8Array | undefined;

  /**
   * Uses a key of 32 bytes without a tweak. auxiliary replaces the random bytes of BIP-340, for reproducible signatures
   * in tests. It throws a {@link KeyError}.
   */
  constructor(secret: Uint8Array, auxiliary?: Uint8Array) {
    try {
      this.account = toHex(schnorr.getPublicKey(secret));
    } catch {
      throw new KeyError("not a private key: 32 bytes from 1 to the group order - 1");
    }
    this.signer = { type: "key", key: this.account };
    this.#secret = Uint8Array.from(secret);
    this.#auxiliary = auxiliary;
  }

  async sign(tx: Transaction, role: Role): Promise<Witness> {
    checkRole(tx, role, this.account);
    return this.#witness(signedHash(tx, role));
  }

  async signMessage(message: SignedMessage): Promise<Witness> {
    checkMessage(message, this.account);
    return this.#witness(messageHash(message));
  }

  async evidence({ hash }: Statement): Promise<Evidence> {
    return this.#witness(hash);
  }

  sample(): Witness {
    return KEY_SAMPLE;
  }

  #witness(hash: Hash): { type: "key"; signature: Hex } {
    return { type: "key", signature: toHex(schnorr.sign(from32(hash), this.#secret, this.#auxiliary)) };
  }
}
