// A chain in memory for tests of contracts: it runs the compiled module in Node.js, without a node and without gas.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Frame, Trap } from "./frame.mjs";

export { Signer } from "./witness.mjs";

const MAX_LOGS = 1024; // bytes of logs in a transaction
const MAX_LOG_BYTES = 256 << 10;

/** Thrown by a failed call: reason is the revert data as text, or "trap". */
export class CallError extends Error {
  constructor(reason) {
    super(reason);
    this.name = "CallError";
    this.reason = reason;
  }
}

/** The module that cairn-test compiled; only tests run by cairn-test can call this. */
export function built() {
  const module = process.env.CAIRN_TEST_MODULE;
  if (!module) throw new Error("run the tests with cairn-test, which compiles the contract");
  return readFileSync(module);
}

/** An account for tests, the same for the same name: `0x` and 64 hex digits. */
export function account(name) {
  return "0x" + createHash("sha256").update(name).digest("hex");
}

/** The account of zeros: tokens are minted from it and burned to it. */
export const ZERO = "0x" + "0".repeat(64);

/** Contracts, storage and coins. Every call that fails leaves them as they were. */
export class Chain {
  /** The current block's. */
  height = 1n;
  time = 1_700_000_000n;
  chainId = 31337n;
  #state = { contracts: new Map(), storage: new Map(), balances: new Map(), events: [], logs: 0, logBytes: 0 };

  /** Balance of an account, a BigInt of smallest units. */
  balance(of) {
    return this.#state.balances.get(of) ?? 0n;
  }

  setBalance(of, amount) {
    this.#state.balances.set(of, BigInt(amount));
  }

  /** Deploys a module whose bytes are `code`, runs its init with the arguments, and returns the contract. */
  deploy(code, { from = account("deployer"), args, value = 0n } = {}) {
    const id = account(`contract ${this.#state.contracts.size}`);
    const contract = this.setCode(id, code);
    try {
      contract.deployed = this.run({ id, name: "init", from, args, value, init: true });
    } catch (error) {
      this.#state.contracts.delete(id);
      throw error;
    }
    return contract;
  }

  /** A contract by its ID, such as one that a contract has created. */
  contract(id) {
    return this.#state.contracts.get(id);
  }

  /** Sets the code of a contract, which it creates if necessary. */
  setCode(id, code) {
    const contract = new Contract(this, id, code);
    this.#state.contracts.set(id, contract);
    return contract;
  }

  /** A transaction's call, or a view: { result, events }. Throws a [[CallError]]. */
  run({ id, name, from, args, value = 0n, view = false, init = false }) {
    const contract = this.contract(id);
    if (init && !contract.exports("init")) return { result: undefined, events: [] };
    if (!init && !contract.callable(name)) throw new CallError(`no function ${name}`);
    const before = this.#copy();
    Object.assign(this.#state, { events: [], logs: 0, logBytes: 0 });
    try {
      this.move(from, id, BigInt(value));
      const text = args === undefined ? "" : typeof args === "string" ? args : JSON.stringify(args, jsonInteger);
      const frame = new Frame(this, { id, caller: from, sender: from, value: BigInt(value), args: Buffer.from(text), view, active: [] });
      const output = frame.run(contract.module, name);
      const { events } = this.#state;
      return { result: output.length ? JSON.parse(output.toString(), exact) : undefined, events };
    } catch (error) {
      this.#state = before;
      if (error instanceof Trap) throw new CallError(error.reason);
      throw error;
    }
  }

  #copy() {
    const { contracts, storage, balances, events, ...counts } = this.#state;
    return {
      ...counts, contracts: new Map(contracts), storage: new Map(storage), balances: new Map(balances), events: [...events],
    };
  }

  /** Returns a function that undoes all changes from here on. */
  checkpoint() {
    const before = this.#copy();
    return () => (this.#state = before);
  }

  get storage() {
    return this.#state.storage;
  }

  /** Counts a log or a payment of the transaction; false if there is no room for it. */
  log(bytes) {
    if (this.#state.logs >= MAX_LOGS || this.#state.logBytes + bytes > MAX_LOG_BYTES) return false;
    this.#state.logs++;
    this.#state.logBytes += bytes;
    return true;
  }

  emit(event) {
    this.#state.events.push(event);
  }

  /** Moves coins; false if there are not enough. */
  move(from, to, amount) {
    if (amount === 0n) return;
    if (this.balance(from) < amount) throw new CallError("the balance of the sender is too low");
    this.setBalance(from, this.balance(from) - amount);
    this.setBalance(to, this.balance(to) + amount);
  }
}

/** A deployed contract. */
export class Contract {
  constructor(chain, id, code) {
    this.chain = chain;
    this.id = id;
    this.code = code;
    this.module = new WebAssembly.Module(code);
  }

  /** The ABI in the module. */
  get abi() {
    const [section] = WebAssembly.Module.customSections(this.module, "cairn_abi");
    return JSON.parse(Buffer.from(section).toString());
  }

  /** Whether the module exports a name, such as init or _reentrant. */
  exports(name) {
    return WebAssembly.Module.exports(this.module).some((e) => e.name === name);
  }

  callable(name) {
    return (
      name !== "init" && !name.startsWith("_") &&
      WebAssembly.Module.exports(this.module).some((e) => e.kind === "function" && e.name === name)
    );
  }

  /** Calls a function in a transaction: { result, events }. Arguments are an object by name, or JSON text as it is. */
  call(name, args, { from = account("caller"), value = 0n } = {}) {
    return this.chain.run({ id: this.id, name, from, args, value });
  }

  /** The result of a view call, which can change nothing. */
  view(name, args, { from = account("caller") } = {}) {
    return this.chain.run({ id: this.id, name, from, args, view: true }).result;
  }
}

/** BigInts in arguments become numbers if every reader can represent them exactly, and decimal strings otherwise. */
function jsonInteger(_, value) {
  if (typeof value !== "bigint") return value;
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER ? Number(value) : value.toString();
}

/** Numbers in results stay numbers; contracts write larger ones as strings. */
function exact(_, value) {
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Error(`${value} is not exact`);
  return value;
}
