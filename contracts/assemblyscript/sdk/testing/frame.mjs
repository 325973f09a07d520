// One call of a contract: a fresh instance and the host functions of docs/protocol.md ("Host functions").
import { isUtf8 } from "node:buffer";
import { blake3, ecdsaRecover, keccak256, p256Verify, schnorrVerify, sha256, tagged } from "./cryptography.mjs";
import { witnessHolds } from "./witness.mjs";

const MAX_DEPTH = 32;
const MAX_OUTPUT = 65536;

/** Thrown by a call that does not return. */
export class Trap extends Error {
  constructor(reason, reverted = false, data = Buffer.alloc(0)) {
    super(reason);
    this.reason = reason;
    this.reverted = reverted;
    this.data = data;
  }
}

export class Frame {
  #output = Buffer.alloc(0);
  #result = Buffer.alloc(0);
  #memory;

  /** @param call { id, caller, sender, value, args, view, active } active lists the contracts on the call stack */
  constructor(chain, call) {
    this.chain = chain;
    Object.assign(this, call);
  }

  /** Runs an exported function and returns its result. */
  run(module, name) {
    const instance = new WebAssembly.Instance(module, { cairn: this.#host() });
    this.#memory = instance.exports.memory;
    try {
      instance.exports[name]();
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) throw new Trap(`trap: ${error.message}`);
      throw error;
    }
    return this.#output;
  }

  /** A range of the instance's memory. */
  #range(pointer, length) {
    const start = pointer >>> 0;
    const end = start + (length >>> 0);
    if (end > this.#memory.buffer.byteLength) throw new Trap("trap: a range outside of the memory");
    return Buffer.from(this.#memory.buffer, start, end - start);
  }

  #bytes(pointer, length, limit = Infinity) {
    if (length >>> 0 > limit) throw new Trap("trap: a length over its limit");
    return Buffer.from(this.#range(pointer, length));
  }

  #text(pointer, length) {
    const bytes = this.#bytes(pointer, length, 64);
    if (!isUtf8(bytes)) throw new Trap("trap: a name that is not UTF-8");
    return bytes.toString();
  }

  #account(pointer) {
    return "0x" + this.#bytes(pointer, 32).toString("hex");
  }

  #give(bytes, out) {
    this.#range(out, bytes.length).set(bytes);
  }

  #key(pointer, length) {
    return this.id + this.#bytes(pointer, length, 256).toString("hex");
  }

  #changes() {
    if (this.view) throw new Trap("trap: a view changes nothing");
  }

  #host() {
    const { chain } = this;
    const id = (account) => Buffer.from(account.slice(2), "hex");
    return {
      args_len: () => this.args.length,
      args_read: (out) => this.#give(this.args, out),
      return_data: (at, length) => (this.#output = this.#bytes(at, length, MAX_OUTPUT)),
      revert: (at, length) => {
        const data = this.#bytes(at, length, MAX_OUTPUT);
        throw new Trap(data.toString(), true, data);
      },
      storage_read: (at, length, out, capacity) => {
        const value = chain.storage.get(this.#key(at, length));
        const into = this.#range(out, capacity);
        if (!value) return -1;
        value.copy(into);
        return value.length;
      },
      storage_write: (at, length, value, size) => this.#write(this.#key(at, length), this.#bytes(value, size, 16384)),
      storage_delete: (at, length) => this.#write(this.#key(at, length), Buffer.alloc(0)),
      caller: (out) => this.#give(id(this.caller), out),
      sender: (out) => this.#give(id(this.sender), out),
      self: (out) => this.#give(id(this.id), out),
      value: () => this.value,
      block_height: () => chain.height,
      block_time: () => chain.time,
      chain_id: () => chain.chainId,
      gas_left: () => 1_000_000_000n,
      is_view: () => Number(this.view),
      balance: (account) => chain.balance(this.#account(account)),
      transfer: (to, amount) => this.#pay(this.#account(to), BigInt.asUintN(64, amount)),
      code_hash: (account, out) => this.#codeHash(this.#account(account), out),
      call: (contract, name, nameLength, args, length, value) =>
        this.#call(contract, name, nameLength, args, length, BigInt.asUintN(64, value), this.view),
      call_view: (contract, name, nameLength, args, length) => this.#call(contract, name, nameLength, args, length, 0n, true),
      result_len: () => this.#result.length,
      result_read: (out) => this.#give(this.#result, out),
      emit: (name, nameLength, topics, count, data, length) => this.#emit(name, nameLength, topics, count, data, length),
      sha256: (at, length, out) => this.#give(sha256(this.#bytes(at, length)), out),
      keccak256: (at, length, out) => this.#give(keccak256(this.#bytes(at, length)), out),
      blake3: (at, length, out) => this.#give(blake3(this.#bytes(at, length)), out),
      schnorr_verify: (key, at, length, signature) =>
        Number(schnorrVerify(this.#bytes(key, 32), this.#bytes(at, length), this.#bytes(signature, 64))),
      ecdsa_recover: (hash, signature, out) => this.#recover(this.#bytes(hash, 32), this.#bytes(signature, 65), out),
      p256_verify: (point, digest, signature) =>
        Number(p256Verify(this.#bytes(point, 64), this.#bytes(digest, 32), this.#bytes(signature, 64))),
      account_verify: (account, at, length, witness, witnessLength) => {
        const [of, message] = [this.#bytes(account, 32), this.#bytes(at, length, 1024)];
        return Number(witnessHolds(chain.chainId, id(this.id), of, message, this.#bytes(witness, witnessLength, 8192)));
      },
      create: (template, salt, name, nameLength, args, length, value, gas, out) =>
        this.#create(template, salt, name, nameLength, args, length, BigInt.asUintN(64, value), out),
      replace_code: (template) => this.#replaceCode(this.#account(template)),
      debug: (at, length) => console.log(this.#bytes(at, length, 1024).toString()),
    };
  }

  #write(key, value) {
    this.#changes();
    if (value.length) this.chain.storage.set(key, value);
    else this.chain.storage.delete(key);
  }

  #pay(to, amount) {
    this.#changes();
    if (this.chain.balance(this.id) < amount) return 5;
    this.chain.move(this.id, to, amount);
    this.#logPayment(amount);
    return 0;
  }

  /** Counts a log of the given length in bytes; the call reverts if the transaction has no room for it. */
  #log(bytes) {
    if (!this.chain.log(bytes)) throw new Trap("too many logs", true, Buffer.from("too many logs"));
  }

  #logPayment(amount) {
    if (amount > 0n) this.#log("NativeTransfer".length + 2 * 32 + 8);
  }

  #codeHash(account, out) {
    const contract = this.chain.contract(account);
    if (contract) this.#give(sha256(contract.code), out);
    return Number(contract !== undefined);
  }

  #recover(hash, signature, out) {
    const key = ecdsaRecover(hash, signature);
    if (key) this.#give(key, out);
    return Number(key !== undefined);
  }

  #emit(name, nameLength, topics, count, data, length) {
    this.#changes();
    if (count >>> 0 > 3) throw new Trap("trap: more than three topics");
    const emitted = this.#text(name, nameLength);
    this.#log((nameLength >>> 0) + 32 * count + (length >>> 0));
    this.chain.emit({
      contract: this.id,
      name: emitted,
      topics: Array.from({ length: count }, (_, i) => this.#account(topics + 32 * i)),
      data: JSON.parse(exactly(this.#bytes(data, length, 16384).toString())),
    });
  }

  /** The steps of `call`, in the protocol's order. */
  #call(contractPointer, namePointer, nameLength, argsPointer, argsLength, value, view) {
    const id = this.#account(contractPointer);
    const name = this.#text(namePointer, nameLength);
    const args = this.#bytes(argsPointer, argsLength, MAX_OUTPUT);
    if (value > 0n) this.#changes();
    this.#result = Buffer.alloc(0);
    const active = [...this.active, this.id];
    const contract = this.chain.contract(id);
    if (active.length >= MAX_DEPTH) return 7;
    if (!contract) return 3;
    if (!contract.callable(name)) return 4;
    if (active.includes(id) && !contract.exports("_reentrant")) return 6;
    if (this.chain.balance(this.id) < value) return 5;
    const undo = this.chain.checkpoint();
    this.chain.move(this.id, id, value);
    this.#logPayment(value);
    return this.#enter({ id, value, args, view, active }, contract.module, name, undo);
  }

  /** Runs a function of another contract and returns the code of its outcome. */
  #enter(call, module, name, undo) {
    const frame = new Frame(this.chain, { caller: this.id, sender: this.sender, ...call });
    try {
      this.#result = frame.run(module, name);
      return 0;
    } catch (error) {
      if (!(error instanceof Trap)) throw error;
      undo();
      this.#result = error.data;
      return error.reverted ? 1 : 2;
    }
  }

  /** The steps of `create`, in the protocol's order. */
  #create(templatePointer, saltPointer, namePointer, nameLength, argsPointer, argsLength, value, out) {
    const template = this.#account(templatePointer);
    const salt = this.#bytes(saltPointer, 32);
    this.#text(namePointer, nameLength);
    const args = this.#bytes(argsPointer, argsLength, MAX_OUTPUT);
    this.#range(out, 32);
    this.#changes();
    this.#result = Buffer.alloc(0);
    const active = [...this.active, this.id];
    const contract = this.chain.contract(template);
    if (active.length >= MAX_DEPTH) return 7;
    if (!contract) return 3;
    const hasInit = contract.exports("init");
    if (args.length && !hasInit) return 4;
    const made = tagged("cairn/instance/v2", Buffer.from(this.id.slice(2), "hex"), sha256(contract.code), salt);
    const id = "0x" + made.toString("hex");
    if (this.chain.contract(id)) return 8;
    if (this.chain.balance(this.id) < value) return 5;
    const undo = this.chain.checkpoint();
    this.chain.setCode(id, contract.code);
    this.chain.move(this.id, id, value);
    this.#logPayment(value);
    const code = hasInit ? this.#enter({ id, value, args, view: false, active }, contract.module, "init", undo) : 0;
    if (code === 0) this.#give(made, out);
    return code;
  }

  #replaceCode(template) {
    this.#changes();
    const contract = this.chain.contract(template);
    if (!contract) return 3;
    this.chain.setCode(this.id, contract.code);
    this.#log("CodeReplaced".length + 2 * 32);
    return 0;
  }
}

/** Rewrites JSON text: integers too large for a JavaScript number become strings. Events have numbers of any size. */
function exactly(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d+/g, (token) =>
    token[0] === '"' || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
}
