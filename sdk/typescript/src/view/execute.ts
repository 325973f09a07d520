import { schnorr } from "@noble/curves/secp256k1.js";
import { blake3 } from "@noble/hashes/blake3.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Network } from "../address.js";
import type { SignedHeader } from "../block.js";
import { CodecError, Reader } from "../codec.js";
import { sha256 } from "../hash.js";
import { concat, from32, toHex, type Account, type Hex } from "../hex.js";
import { checkPolicy } from "../policy.js";
import { accountKey, authorityAt, decodeRecord } from "../record.js";
import { verifyAnyP256, verifyMessage } from "../verify/signatures.js";
import { decodeWitness, type Witness } from "../witness.js";
import { UnansweredError, compile, type Module } from "./module.js";

/** The verified part of the state, and the call. It may be posted to a worker. */
export interface Verified {
  header: SignedHeader;
  network: Network;
  contract: Account;
  function: string;
  args: Uint8Array;
  /** by key in hex; null for a proven absence */
  values: Map<Hex, Uint8Array | null>;
  /** by hash */
  codes: Map<Hex, Uint8Array>;
}

/** The outcome of a view call. `data` is its result, or its revert data. */
export interface Outcome {
  outcome: "success" | "reverted" | "trap" | "view_wrote_state" | "no_such_contract" | "no_such_function";
  data: Uint8Array;
}

/**
 * IncompleteError: the call reads a key or runs a code that is not in the proof, or the proof has more than the call
 * uses.
 */
export class IncompleteError extends Error {
  override name = "IncompleteError";
}

// The chain allows 32. With 16, all memories together stay within the chain's 256 pages at any growth.
const MAX_DEPTH = 16;
const MAX_LOAD = 524_288;
const MAX_HOST_CALLS = 1_000_000;
const MAX_ARGS = 65_536;
const zeroAccount = new Uint8Array(32);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Ends a call from inside of a host function. */
class Ended extends Error {
  constructor(readonly outcome: "reverted" | "trap") {
    super(outcome);
  }
}

interface Frame {
  id: Uint8Array;
  caller: Uint8Array;
  args: Uint8Array;
  output: Uint8Array;
  result: Uint8Array;
  wrote: boolean;
  memory: WebAssembly.Memory | undefined;
  module: Module;
}

/**
 * execute makes a view call like the chain, but without gas. Nothing bounds its time, so run it in a worker that can be
 * ended. It throws an {@link IncompleteError} or an {@link UnansweredError}.
 */
export function execute(verified: Verified): Outcome {
  return new Execution(verified).run();
}

class Execution {
  #frames: Frame[] = [];
  #modules = new Map<Hex, Module>();
  #read = new Set<Hex>();
  #calls = 0;
  #load = 0;
  constructor(readonly verified: Verified) {}

  run(): Outcome {
    const { contract, function: name, args, values, codes } = this.verified;
    const parameters = this.#get(Uint8Array.of(0, 1));
    this.#get(accountKey(toHex(zeroAccount)));
    if (!parameters) throw new IncompleteError("the chain has no parameters");
    const id = from32(contract);
    const module = this.#find(id);
    let outcome: Outcome = { outcome: "no_such_contract", data: new Uint8Array() };
    if (module) outcome = this.#callable(module, name) ? this.#enter(module, name, id, zeroAccount, args) : { ...outcome, outcome: "no_such_function" };
    if (this.#read.size !== values.size) throw new IncompleteError(`the witness proves ${values.size} keys, and the call reads ${this.#read.size}`);
    if (this.#modules.size !== codes.size) throw new IncompleteError(`the witness has ${codes.size} codes, and the call runs ${this.#modules.size}`);
    return outcome;
  }

  #get(key: Uint8Array): Uint8Array | null {
    const hex = toHex(key);
    const value = this.verified.values.get(hex);
    if (value === undefined) throw new IncompleteError(`the call reads key ${hex}, which the witness does not prove`);
    this.#read.add(hex);
    return value;
  }

  #codeHash(id: Uint8Array): Uint8Array | undefined {
    return this.#get(concat(Uint8Array.of(2), id))?.subarray(0, 32);
  }

  /** find loads a contract's code; undefined if there is no contract. */
  #find(id: Uint8Array): Module | undefined {
    const hash = this.#codeHash(id);
    if (!hash) return undefined;
    const hex = toHex(hash);
    const known = this.#modules.get(hex);
    if (known) return known;
    const code = this.verified.codes.get(hex);
    if (!code) throw new IncompleteError(`the call runs code ${hex}, which the witness lacks`);
    if (this.#load > MAX_LOAD) throw new UnansweredError("unsupported", "the call loads so much code that the chain may refuse it");
    const module = compile(code);
    this.#load += module.load;
    this.#modules.set(hex, module);
    return module;
  }

  #callable(module: Module, name: string): boolean {
    return name !== "init" && !name.startsWith("_") && module.procedures.has(name);
  }

  #enter(module: Module, name: string, id: Uint8Array, caller: Uint8Array, args: Uint8Array): Outcome {
    const none = new Uint8Array();
    const frame: Frame = { id, caller, args, output: none, result: none, wrote: false, memory: undefined, module };
    const frames = this.#frames.length;
    this.#frames.push(frame);
    try {
      const instance = new WebAssembly.Instance(module.compiled, { cairn: this.#host(frame) });
      frame.memory = instance.exports["memory"] as WebAssembly.Memory;
      (instance.exports[name] as () => void)();
      return { outcome: "success", data: frame.output };
    } catch (error) {
      if (error instanceof Ended && error.outcome === "reverted") return { outcome: "reverted", data: frame.output };
      if (error instanceof Ended || error instanceof WebAssembly.RuntimeError) return { outcome: frame.wrote ? "view_wrote_state" : "trap", data: none };
      if (error instanceof RangeError) throw new UnansweredError("resource", "the call goes deeper than the stack here");
      throw error;
    } finally {
      this.#frames.length = frames;
    }
  }

  /** nested implements the host functions call and call_view, in the steps of docs/protocol.md. */
  #nested(frame: Frame, id: Uint8Array, name: string, args: Uint8Array, gas: bigint): number {
    if (gas < 2n ** 63n) throw new UnansweredError("unsupported", "a nested call with a bound on its gas");
    frame.result = new Uint8Array();
    if (this.#frames.length >= MAX_DEPTH) throw new UnansweredError("resource", "calls nest too deeply here");
    const module = this.#find(id);
    if (!module) return 3;
    if (!this.#callable(module, name)) return 4;
    if (!module.reentrant && this.#frames.some((f) => f.id.every((byte, i) => byte === id[i]))) return 6;
    const { outcome, data } = this.#enter(module, name, id, frame.id, args);
    if (outcome !== "success" && outcome !== "reverted") return 2;
    frame.result = data;
    return outcome === "success" ? 0 : 1;
  }

  /** verifyAccount implements the host function account_verify. */
  #verifyAccount(frame: Frame, id: Uint8Array, message: Uint8Array, encoded: Uint8Array): boolean {
    const { header, network } = this.verified;
    const account = toHex(id);
    let witness: Witness;
    try {
      witness = decodeWitness(encoded);
      if (witness.type === "policy") checkPolicy(witness.policy);
    } catch (error) {
      if (error instanceof CodecError) return false;
      throw error;
    }
    const record = decodeRecord(account, this.#get(accountKey(account)));
    const said = { chainId: header.chainId, contract: toHex(frame.id), account, message };
    return verifyMessage(said, witness, network, authorityAt(record, header.timestamp));
  }

  #host(frame: Frame): Record<string, (...args: never[]) => unknown> {
    const { header } = this.verified;
    /** range returns bytes of the memory, looked up at each call because growth moves them. */
    const range = (pointer: number, length: number, limit = 2 ** 32): Uint8Array => {
      const [from, count] = [pointer >>> 0, length >>> 0];
      const memory = new Uint8Array(frame.memory!.buffer);
      if (count > limit || from + count > memory.length) throw new Ended("trap");
      return memory.subarray(from, from + count);
    };
    const copyOf = (pointer: number, length: number, limit?: number): Uint8Array => range(pointer, length, limit).slice();
    const give = (bytes: Uint8Array, out: number): void => range(out, bytes.length).set(bytes);
    const end = (outcome: "reverted" | "trap"): never => {
      throw new Ended(outcome);
    };
    const refuseWrite = (): never => {
      frame.wrote = true;
      return end("trap");
    };
    const nameOf = (pointer: number, length: number): string => {
      const bytes = range(pointer, length, 64);
      try {
        return utf8.decode(bytes);
      } catch {
        return end("trap");
      }
    };
    const call = (contract: number, fn: number, fnLength: number, args: number, argsLength: number, value: bigint, gas: bigint): number => {
      const [id, name, given] = [copyOf(contract, 32), nameOf(fn, fnLength), copyOf(args, argsLength, MAX_ARGS)];
      if (value !== 0n) refuseWrite();
      return this.#nested(frame, id, name, given, BigInt.asUintN(64, gas));
    };
    const hash = (of: (bytes: Uint8Array) => Uint8Array) => (pointer: number, length: number, out: number): void => {
      const [message] = [copyOf(pointer, length), range(out, 32)];
      give(of(message), out);
    };
    const unsupported = (name: string) => (): never => {
      throw new UnansweredError("unsupported", `the contract asks for ${name}, which is not there in a page`);
    };
    const functions = {
      args_len: () => frame.args.length,
      args_read: (out: number) => give(frame.args, out),
      return_data: (pointer: number, length: number) => void (frame.output = copyOf(pointer, length, MAX_ARGS)),
      revert: (pointer: number, length: number) => {
        frame.output = copyOf(pointer, length, MAX_ARGS);
        end("reverted");
      },
      storage_read: (key: number, keyLength: number, out: number, capacity: number) => {
        const [name, target] = [copyOf(key, keyLength, 256), range(out, capacity)];
        const value = this.#get(concat(Uint8Array.of(3), frame.id, name));
        if (!value) return -1;
        target.set(value.subarray(0, target.length));
        return value.length;
      },
      storage_write: (key: number, keyLength: number, value: number, length: number) => {
        range(key, keyLength, 256);
        range(value, length, 16_384);
        refuseWrite();
      },
      storage_delete: (key: number, keyLength: number) => {
        range(key, keyLength, 256);
        refuseWrite();
      },
      caller: (out: number) => give(frame.caller, out),
      sender: (out: number) => give(zeroAccount, out),
      self: (out: number) => give(frame.id, out),
      value: () => 0n,
      block_height: () => header.height,
      block_time: () => header.timestamp / 1000n,
      chain_id: () => header.chainId,
      gas_left: unsupported("gas_left"),
      is_view: () => 1,
      balance: (account: number) => {
        const record = this.#get(concat(Uint8Array.of(1), copyOf(account, 32)));
        return record ? new Reader(record).u64() : 0n;
      },
      transfer: (to: number) => {
        range(to, 32);
        refuseWrite();
      },
      code_hash: (account: number, out: number) => {
        const [id, target] = [copyOf(account, 32), range(out, 32)];
        const found = this.#codeHash(id);
        if (found) target.set(found);
        return found ? 1 : 0;
      },
      call,
      call_view: (contract: number, fn: number, fnLength: number, args: number, argsLength: number, gas: bigint) => {
        return call(contract, fn, fnLength, args, argsLength, 0n, gas);
      },
      result_len: () => frame.result.length,
      result_read: (out: number) => give(frame.result, out),
      emit: (name: number, nameLength: number, topics: number, count: number, data: number, length: number) => {
        if (count >>> 0 > 3) end("trap");
        refuseWrite();
        void [name, nameLength, topics, data, length];
      },
      sha256: hash(sha256),
      keccak256: hash(keccak_256),
      blake3: hash(blake3),
      schnorr_verify: (key: number, message: number, length: number, signature: number) => {
        return schnorr.verify(copyOf(signature, 64), copyOf(message, length), copyOf(key, 32)) ? 1 : 0;
      },
      ecdsa_recover: unsupported("ecdsa_recover"),
      p256_verify: (point: number, digest: number, signature: number) => {
        const [key, of, given] = [copyOf(point, 64), copyOf(digest, 32), copyOf(signature, 64)];
        return verifyAnyP256(given, of, key) ? 1 : 0;
      },
      account_verify: (account: number, message: number, length: number, witness: number, witnessLength: number) => {
        const [of, said, shown] = [copyOf(account, 32), copyOf(message, length, 1024), copyOf(witness, witnessLength, 8192)];
        return this.#verifyAccount(frame, of, said, shown) ? 1 : 0;
      },
      create: (template: number, salt: number, name: number, nameLength: number, args: number, argsLength: number, _: bigint, __: bigint, out: number) => {
        range(template, 32);
        range(salt, 32);
        nameOf(name, nameLength);
        range(args, argsLength, MAX_ARGS);
        range(out, 32);
        return refuseWrite();
      },
      replace_code: (template: number) => {
        range(template, 32);
        return refuseWrite();
      },
      debug: (pointer: number, length: number) => void range(pointer, length, 1024),
    };
    const counted = Object.entries(functions).map(([name, f]) => [name, (...args: never[]) => {
      if (++this.#calls > MAX_HOST_CALLS) throw new UnansweredError("resource", "the call asks for too much");
      return (f as (...args: never[]) => unknown)(...args);
    }] as const);
    return Object.fromEntries(counted);
  }
}
