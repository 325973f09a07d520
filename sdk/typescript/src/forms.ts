// The JSON of the protocol's structures (docs/protocol.md, "JSON"), in both directions. Members have the names of their fields.
import type { Network } from "./address.js";
import { MAX_U64 } from "./amounts.js";
import type { Header } from "./block.js";
import { CodecError } from "./codec.js";
import type { Genesis } from "./genesis.js";
import { fromHex, toHex, type Hex } from "./hex.js";
import type { InclusionProof } from "./lists.js";
import type { MerkleProof } from "./merkle.js";
import type { Parameters } from "./parameters.js";
import type { Policy, PublicSigner, Recovery, Rule } from "./policy.js";
import type { ChainLog, ChainReceipt } from "./receipt.js";
import type { Payload, Step, StepPayload, Transaction } from "./transaction.js";
import type { Evidence, Proof, Sighash, Witness } from "./witness.js";

/** Form converts a value to JSON and back. */
export interface Form<T> {
  /** read strictly reads a result of JSON.parse or {@link parseJSON}. It throws a {@link CodecError}. */
  read(json: unknown): T;
  /** write returns a value for JSON.stringify: integers above 2^53 - 1 are decimal texts. */
  write(value: T): unknown;
}

type Written = Record<string, unknown>;

function wrong(expected: string, json: unknown): never {
  throw new CodecError(`${expected} is expected, not ${JSON.stringify(json, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))?.slice(0, 80)}`);
}

function readInteger(json: unknown, most: bigint): bigint {
  const number = typeof json === "bigint" || (typeof json === "number" && Number.isSafeInteger(json));
  const value = number || (typeof json === "string" && /^(0|[1-9]\d{0,19})$/.test(json)) ? BigInt(json as number | bigint | string) : undefined;
  return value !== undefined && value >= 0n && value <= most ? value : wrong(`an integer up to ${most}`, json);
}

const u64: Form<bigint> = {
  read: (json) => readInteger(json, MAX_U64),
  write: (value) => (value > BigInt(Number.MAX_SAFE_INTEGER) ? String(value) : Number(value)),
};
const unsigned = (bits: number): Form<number> => ({ read: (json) => Number(readInteger(json, (1n << BigInt(bits)) - 1n)), write: (value) => value });
const bool: Form<boolean> = { read: (json) => (typeof json === "boolean" ? json : wrong("true or false", json)), write: (value) => value };
const text: Form<string> = { read: (json) => (typeof json === "string" ? json : wrong("a text", json)), write: (value) => value };

/** hex is the form of bytes, with a fixed length if one is given. It also reads texts without 0x, as in files. */
function hex(length?: number): Form<Hex> {
  const digits = length === undefined ? "(?:[0-9a-fA-F]{2})*" : `[0-9a-fA-F]{${2 * length}}`;
  const form = new RegExp(`^(?:0x)?(${digits})$`);
  return {
    read: (json) => {
      const found = typeof json === "string" ? form.exec(json) : null;
      return found ? `0x${found[1]!.toLowerCase()}` : wrong(length === undefined ? "hex" : `${length} bytes of hex`, json);
    },
    write: (value) => value,
  };
}
const hash = hex(32);
const bytes: Form<Uint8Array | Hex> = {
  read: (json) => fromHex(hex().read(json)),
  write: (value) => (typeof value === "string" ? value : toHex(value)),
};

function nullable<T>(form: Form<T>): Form<T | null> {
  return { read: (json) => (json === null ? null : form.read(json)), write: (value) => (value === null ? null : form.write(value)) };
}

function list<T>(form: Form<T>): Form<T[]> {
  return { read: (json) => (Array.isArray(json) ? json.map((item) => form.read(item)) : wrong("a list", json)), write: (value) => value.map(form.write) };
}

type Members<T> = { [K in keyof T]-?: Form<T[K]> };

/** struct is the form of an object with exactly its members; a name such as gasLimit is written gas_limit. */
function struct<T extends object>(members: Members<T>, names: (name: string) => string = snake): Form<T> {
  const all = Object.entries(members) as [keyof T & string, Form<T[keyof T]>][];
  return {
    read: (json) => {
      if (typeof json !== "object" || json === null || Array.isArray(json)) return wrong("an object", json);
      const given = new Map(Object.entries(json));
      const value = all.map(([name, form]) => {
        const written = names(name);
        if (!given.has(written)) throw new CodecError(`the member ${written} is missing`);
        const member = form.read(given.get(written));
        given.delete(written);
        return [name, member];
      });
      for (const name of given.keys()) throw new CodecError(`unknown member ${name}`);
      return Object.fromEntries(value) as T;
    },
    write: (value) => Object.fromEntries(all.map(([name, form]) => [names(name), form.write(value[name])])),
  };
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const same = (name: string): string => name;

type Variant<T, K> = Omit<Extract<T, { type: K }>, "type">;

/** variants is the form of an object with `type` and the members of the named variant. */
function variants<T extends { type: string }>(forms: { [K in T["type"]]: Form<Variant<T, K>> }): Form<T> {
  const of = (type: unknown): Form<object> => {
    const form = typeof type === "string" && Object.hasOwn(forms, type) ? forms[type as T["type"]] : undefined;
    return (form as Form<object> | undefined) ?? wrong(Object.keys(forms).join(" or "), type);
  };
  return {
    read: (json) => {
      if (typeof json !== "object" || json === null) return wrong("an object", json);
      const { type, ...rest } = json as Written;
      return { type, ...of(type).read(rest) } as unknown as T;
    },
    write: ({ type, ...rest }) => ({ type, ...(of(type).write(rest) as Written) }),
  };
}

const signer = variants<PublicSigner>({
  key: struct({ key: hash }), p256: struct({ point: hex(64) }), passkey: struct({ point: hex(64), verified: bool }),
});
const rule = struct<Rule>({ threshold: unsigned(8), signers: list(signer) });
const recovery = struct<Recovery>({ rule, delay: u64 });
const policy = struct<Policy>({ number: u64, owner: rule, recovery: nullable(recovery) });

const signature = hex(64);
const sighash: Form<Sighash> = { read: (json) => (json === 0 || json === 1 ? json : wrong("0 or 1", json)), write: (value) => value };
const evidence = variants<Evidence>({
  key: struct({ signature }), text: struct({ signature, sighash }), p256: struct({ signature }),
  passkey: struct({ authenticator: hex(37), client: hex(), signature }),
});
const proof = struct<Proof>({ signer: unsigned(8), evidence });
const witness = variants<Witness>({
  key: struct({ signature }), text: struct({ signature, sighash }), policy: struct({ policy, proofs: list(proof) }),
});

const parameters = struct<Parameters>({
  version: unsigned(32), gasLimit: u64, blockBytes: unsigned(32), targetBps: unsigned(16), minBaseFee: u64, maxBaseFee: u64, producer: hash,
  feeRecipient: hash, admin: hash, notice: u64, upgrade: nullable(struct({ version: unsigned(32), from: u64 })),
});
const action = variants<StepPayload>({ transfer: struct({ memo: nullable(hash) }), call: struct({ function: text, args: bytes }) });
const step = struct<Step>({ target: hash, value: u64, action });
const payload = variants<Payload>({
  transfer: struct({ memo: nullable(hash) }), call: struct({ function: text, args: bytes }),
  deploy: struct({ name: text, code: bytes, initArgs: bytes }), configure: struct({ parameters }), batch: struct({ steps: list(step) }),
  set_policy: struct({ recovery: bool, policy: nullable(policy) }), instantiate: struct({ name: text, initArgs: bytes }),
});

const merkleProof = struct<MerkleProof>({
  key: hex(), value: nullable(hex()), siblings: list(hash),
  end: variants<MerkleProof["end"]>({ leaf: struct({}), empty: struct({}), other: struct({ path: hash, valueHash: hash }, same) }),
});
const inclusionProof = struct<InclusionProof>({ number: unsigned(32), n: unsigned(32), leaf: hash, siblings: list(hash) });

const network: Form<Network> = {
  read: (json) => (json === "mainnet" || json === "testnet" || json === "regtest" ? json : wrong("a network", json)), write: (value) => value,
};
const transaction = struct<Transaction>({
  sender: hash, target: hash, chainId: u64, nonce: u64, gasLimit: u64, maxFeePerGas: u64, maxPriorityFeePerGas: u64, value: u64,
  payer: nullable(hash), validUntil: nullable(u64), payload,
});
const header = struct<Header>({
  version: unsigned(32), chainId: u64, height: u64, parent: hash, timestamp: u64, producer: hash, transactionsRoot: hash, receiptsRoot: hash,
  stateRoot: hash, gasUsed: u64, gasLimit: u64, baseFee: u64,
});
const log = struct<ChainLog>({ contract: hash, name: text, topics: list(hash), data: hex() });
const status: Form<0 | 1> = sighash;
const receipt = struct<ChainReceipt>({ status, gasUsed: u64, contract: nullable(hash), output: hex(), logs: list(log) });
const genesis = struct<Genesis>({
  chainId: u64, network, time: u64, baseFee: u64, parameters, allocations: list(struct({ account: hash, balance: u64 })),
});

/**
 * forms has the JSON forms of the protocol's structures: in RPC's `witness`, `policy`, `parameters` and `steps`, and in
 * files.
 */
export const forms = {
  policy, signer, rule, witness, proof, evidence, parameters, transaction, payload, step, header, receipt, genesis, merkleProof, inclusionProof,
};
