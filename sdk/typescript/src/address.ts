import { bech32m } from "@scure/base";
import { CairnError } from "./errors.js";
import { from32, toHex, type Account } from "./hex.js";

/** The networks, each with its address prefix. */
export type Network = "mainnet" | "testnet" | "regtest";

const prefixes: Record<Network, string> = { mainnet: "bc", testnet: "tb", regtest: "bcrt" };
const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const witnessVersion = 1;

/**
 * AddressError: a text is not an account. `at` lists the wrong characters if the checksum locates them: it can locate
 * one or two, and only detect more.
 */
export class AddressError extends CairnError {
  override name = "AddressError";
  constructor(
    readonly reason: "checksum" | "network" | "length" | "character" | "nobody",
    message: string,
    readonly at?: number[],
  ) {
    super(message);
  }
}

/**
 * parseAccount reads an address of the network, or an account in hex: 64 digits, or the 66 digits of a compressed key,
 * with or without 0x. It throws an {@link AddressError}. Addresses have a checksum, hex has none: see
 * `client.checkRecipient`.
 */
export function parseAccount(text: string, network: Network): Account {
  const hex = /^(?:0x)?(?:0[23])?([0-9a-fA-F]{64})$/.exec(text);
  return hex?.[1] === undefined ? parseAddress(text, network) : `0x${hex[1].toLowerCase()}`;
}

const FIELD = 2n ** 256n - 2n ** 32n - 977n;

/**
 * isKey reports whether an account can be a key's: whether it is the x coordinate of a point on the curve secp256k1.
 * Half of all values of 32 bytes are. Accounts of policies and contracts need not be.
 */
export function isKey(account: Account): boolean {
  from32(account);
  const x = BigInt(account);
  if (x >= FIELD) return false;
  // y² = x³ + 7 has a solution if its power (p - 1) / 2 is 1 (Euler's criterion).
  let [power, base] = [1n, (x ** 3n + 7n) % FIELD];
  for (let exponent = (FIELD - 1n) / 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) power = (power * base) % FIELD;
    base = (base * base) % FIELD;
  }
  return power === 1n;
}

/** nobody returns the error for an account that is not a key and that the chain does not know. */
export function nobody(account: Account): AddressError {
  return new AddressError("nobody", `nobody can have the key ${account}, and the chain does not know the account: look for a typing error`);
}

/** formatAddress writes an account as an address: bech32m with witness version 1. */
export function formatAddress(account: Account, network: Network): string {
  return bech32m.encode(prefixes[network], [witnessVersion, ...bech32m.toWords(from32(account))]);
}

function parseAddress(text: string, network: Network): Account {
  const prefix = prefixes[network];
  const lower = text === text.toUpperCase() ? text.toLowerCase() : text;
  const separator = lower.lastIndexOf("1");
  const other = (Object.keys(prefixes) as Network[]).find((n) => n !== network && lower.startsWith(prefixes[n] + "1"));
  if (!lower.startsWith(prefix + "1")) {
    if (other) throw new AddressError("network", `an address of ${other}, not of ${network}`);
    throw new AddressError("network", `an address of ${network} begins with ${prefix}1p`, [0]);
  }
  const expected = prefix.length + 1 + 1 + 52 + 6; // separator, version, 32 bytes in groups of 5 bits, checksum
  if (lower.length !== expected) {
    throw new AddressError("length", `an address of ${network} has ${expected} characters, not ${lower.length}`);
  }
  const strange = [...lower].flatMap((c, i) => (i > prefix.length && !charset.includes(c) ? [i] : []));
  if (strange.length > 0 || separator !== prefix.length) {
    throw new AddressError("character", `no address has the character ${JSON.stringify(lower[strange[0] ?? 0])}`, strange);
  }
  const words = [...lower.slice(prefix.length + 1)].map((c) => charset.indexOf(c));
  const at = wrongCharacters(prefix, words);
  if (at) {
    const places = at.map((i) => i + prefix.length + 1);
    const where = places.length > 0 ? `: look at character ${places.map((i) => i + 1).join(" and ")}` : "";
    throw new AddressError("checksum", `the address has a typing error${where}`, places);
  }
  const program = bech32m.fromWordsUnsafe(words.slice(1, -6));
  if (words[0] !== witnessVersion || program?.length !== 32) {
    throw new AddressError("character", "the address is no taproot address", [prefix.length + 1]);
  }
  return toHex(program);
}

const generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const bech32mConstant = 0x2bc830a3;

/** step computes one step of BIP-173's polymod. */
function step(checksum: number, value: number): number {
  const top = checksum >>> 25;
  let next = ((checksum & 0x1ffffff) << 5) ^ value;
  for (let i = 0; i < 5; i++) if ((top >>> i) & 1) next ^= generator[i]!;
  return next;
}

/**
 * wrongCharacters returns undefined if the checksum is right. Otherwise it returns the one or two words whose change
 * would correct it, or none if more are wrong. The code detects any four errors, and so can locate any two.
 */
function wrongCharacters(prefix: string, words: number[]): number[] | undefined {
  const codes = [...prefix].map((c) => c.charCodeAt(0));
  let syndrome = 1;
  for (const value of [...codes.map((c) => c >>> 5), 0, ...codes.map((c) => c & 31), ...words]) syndrome = step(syndrome, value);
  syndrome ^= bech32mConstant;
  if (syndrome === 0) return undefined;
  const single = new Map<number, number>(); // change of the checksum by an error → the error's position
  for (let at = 0; at < words.length; at++) {
    for (let error = 1; error < 32; error++) {
      let effect = step(0, error);
      for (let i = at + 1; i < words.length; i++) effect = step(effect, 0);
      single.set(effect, at);
    }
  }
  const one = single.get(syndrome);
  if (one !== undefined) return [one];
  for (const [effect, first] of single) {
    const second = single.get(syndrome ^ effect);
    if (second !== undefined && second > first) return [first, second];
  }
  return [];
}

