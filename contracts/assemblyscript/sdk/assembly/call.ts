import { BINARY } from "./arguments";
import * as host from "./host";
import { I128 } from "./i128";
import { copy, same } from "./memory";
import { Reader } from "./reader";
import { require, revertWith } from "./revert";
import { Account, Bytes, Hash } from "./types";
import { U128 } from "./u128";
import { Unpacker } from "./unpacker";
import { Writer } from "./writer";

/** The outcome of a call of another contract, with the numbers of docs/protocol.md ("Host functions"). */
export enum CallStatus {
  Ok = 0,
  Reverted = 1,
  /** It trapped, or ran out of gas or stack. */
  Failed = 2,
  NoContract = 3,
  NoFunction = 4,
  BalanceTooLow = 5,
  ReentryRefused = 6,
  /** The calls were nested too deep, or used too much memory. */
  Limits = 7,
  /** The contract to be created exists already. */
  Exists = 8,
}

/**
 * A call of another contract's function: set the arguments, then send it. Arguments use the binary form, in the order
 * of the parameters and with their types. It costs less than JSON, and contracts of both SDKs accept it.
 */
export class Call {
  private readonly name: Writer = new Writer();
  private args: Writer = new Writer();
  private coins: u64 = 0;
  private limit: u64 = u64.MAX_VALUE;
  private whole: bool = false;
  private packed: bool = true;

  constructor(
    private readonly contract: Account,
    name: string,
  ) {
    this.name.text(name);
    this.args.byte(BINARY);
  }

  /** Sends coins of this contract with the call. */
  value(amount: u64): Call {
    this.coins = amount;
    return this;
  }

  /** Limits the gas of the call. A 64th of the remaining gas is always held back. */
  gas(limit: u64): Call {
    this.limit = limit;
    return this;
  }

  /** Sends the arguments as JSON, by name, which every contract accepts. Call this before setting arguments. */
  json(): Call {
    this.packed = false;
    this.args = new Writer();
    return this;
  }

  /** Announces that the next argument is a present one of an optional type. */
  some(): Call {
    if (this.packed) this.args.byte(1);
    return this;
  }

  /** Sets an absent argument of an optional type. */
  none(): Call {
    if (this.packed) this.args.byte(0);
    return this;
  }

  u8(name: string, value: u8): Call {
    if (this.packed) this.args.integer<u8>(value);
    else this.member(name).u8(value);
    return this;
  }

  u16(name: string, value: u16): Call {
    if (this.packed) this.args.integer<u16>(value);
    else this.member(name).u16(value);
    return this;
  }

  u32(name: string, value: u32): Call {
    if (this.packed) this.args.integer<u32>(value);
    else this.member(name).u32(value);
    return this;
  }

  u64(name: string, value: u64): Call {
    if (this.packed) this.args.integer<u64>(value);
    else this.member(name).u64(value);
    return this;
  }

  i8(name: string, value: i8): Call {
    if (this.packed) this.args.integer<i8>(value);
    else this.member(name).i8(value);
    return this;
  }

  i16(name: string, value: i16): Call {
    if (this.packed) this.args.integer<i16>(value);
    else this.member(name).i16(value);
    return this;
  }

  i32(name: string, value: i32): Call {
    if (this.packed) this.args.integer<i32>(value);
    else this.member(name).i32(value);
    return this;
  }

  i64(name: string, value: i64): Call {
    if (this.packed) this.args.integer<i64>(value);
    else this.member(name).i64(value);
    return this;
  }

  bool(name: string, value: bool): Call {
    if (this.packed) this.args.byte(value ? 1 : 0);
    else this.member(name).bool(value);
    return this;
  }

  u128(name: string, value: U128): Call {
    if (this.packed) this.args.packU128(value);
    else this.member(name).u128(value);
    return this;
  }

  i128(name: string, value: I128): Call {
    if (this.packed) this.args.packI128(value);
    else this.member(name).i128(value);
    return this;
  }

  /** A record, a tuple, fixed bytes or a union. */
  object<T>(name: string, value: T): Call {
    // @ts-ignore: added by the type's decorator
    if (this.packed) value.__pack(this.args);
    // @ts-ignore: added by the type's decorator
    else value.__write(this.member(name));
    return this;
  }

  string(name: string, value: string): Call {
    if (this.packed) this.args.packString(value);
    else this.member(name).string(value);
    return this;
  }

  bytes(name: string, value: Bytes): Call {
    if (this.packed) this.args.packBytes(value);
    else this.member(name).bytes(value);
    return this;
  }

  account(name: string, value: Account): Call {
    if (this.packed) this.args.packBytes32(value);
    else this.member(name).bytes32(value);
    return this;
  }

  hash(name: string, value: Hash): Call {
    if (this.packed) this.args.packBytes32(value);
    else this.member(name).bytes32(value);
    return this;
  }

  /** Sets all arguments, already encoded. */
  raw(args: Bytes): Call {
    this.args = new Writer();
    this.args.raw(changetype<usize>(args), args.length);
    this.whole = true;
    return this;
  }

  private member(name: string): Writer {
    this.args.byte(this.args.length == 0 ? 0x7b : 0x2c);
    this.args.string(name);
    this.args.byte(0x3a);
    return this.args;
  }

  /** Calls the function. If it fails, the current call reverts too, with the callee's reason if there is one. */
  send(): Result {
    const result = this.trySend();
    result.check();
    return result;
  }

  /** Calls the function. The result has the outcome. */
  trySend(): Result {
    this.close();
    return new Result(
      this.contract,
      host.call(
        changetype<usize>(this.contract), this.name.start, this.name.length, this.args.start, this.args.length, this.coins, this.limit,
      ),
    );
  }

  /** Calls the function in a view: it can change nothing. If it fails, the current call reverts too, as with send. */
  view(): Result {
    this.close();
    const result = new Result(
      this.contract,
      host.call_view(changetype<usize>(this.contract), this.name.start, this.name.length, this.args.start, this.args.length, this.limit),
    );
    result.check();
    return result;
  }

  /**
   * Creates a contract with the code of the call's contract, the template. Its name is the call's function name, of at
   * most 64 bytes. The arguments go to its init, whose caller is this contract. The new contract's ID follows from this
   * contract, the template's code and the salt: see `instanceOf`. If the creation fails, the current call reverts too,
   * as with send.
   */
  create(salt: Hash): Account {
    const made = this.tryCreate(salt);
    made.result.check();
    return made.contract;
  }

  /** Creates a contract as create does. The result has the outcome. */
  tryCreate(salt: Hash): Created {
    this.close();
    const made = new Account();
    const none = this.packed && !this.whole && this.args.length == 1; // a template without init takes no argument
    const status = host.create(
      changetype<usize>(this.contract), changetype<usize>(salt), this.name.start, this.name.length, this.args.start,
      none ? 0 : this.args.length, this.coins, this.limit, changetype<usize>(made),
    );
    return new Created(new Result(this.contract, status), made);
  }

  private close(): void {
    if (this.args.length && !this.whole && !this.packed) this.args.byte(0x7d);
  }
}

/** The outcome of the creation of a contract. */
export class Created {
  constructor(
    /** The result of its init, if it ran. */
    readonly result: Result,
    /** The new contract, if there is one. */
    readonly contract: Account,
  ) {}
}

/** The result of a call of another contract. Its value is read as the type in the callee's ABI, in either form. */
export class Result {
  private readonly at: usize;
  private readonly length: u32;

  constructor(
    private readonly callee: Account,
    readonly status: CallStatus,
  ) {
    this.at = received();
    this.length = host.result_len();
  }

  /** A reader of the result of a call in the binary form, such as for lists. */
  unpack(): Unpacker {
    require(this.packed, "the result of a call is of another type");
    return new Unpacker(this.at + 1, this.length - 1, "the result of a call is of another type");
  }

  /** A reader of the result of a call in JSON, such as for lists. */
  text(): Reader {
    return new Reader(this.at, this.length, "result");
  }

  private get packed(): bool {
    return this.length > 0 && load<u8>(this.at) == BINARY;
  }

  u8(): u8 {
    if (!this.packed) return this.text().u8();
    const reader = this.unpack();
    const value = reader.integer<u8>();
    reader.end();
    return value;
  }

  u16(): u16 {
    if (!this.packed) return this.text().u16();
    const reader = this.unpack();
    const value = reader.integer<u16>();
    reader.end();
    return value;
  }

  u32(): u32 {
    if (!this.packed) return this.text().u32();
    const reader = this.unpack();
    const value = reader.integer<u32>();
    reader.end();
    return value;
  }

  u64(): u64 {
    if (!this.packed) return this.text().u64();
    const reader = this.unpack();
    const value = reader.integer<u64>();
    reader.end();
    return value;
  }

  i8(): i8 {
    if (!this.packed) return this.text().i8();
    const reader = this.unpack();
    const value = reader.integer<i8>();
    reader.end();
    return value;
  }

  i16(): i16 {
    if (!this.packed) return this.text().i16();
    const reader = this.unpack();
    const value = reader.integer<i16>();
    reader.end();
    return value;
  }

  i32(): i32 {
    if (!this.packed) return this.text().i32();
    const reader = this.unpack();
    const value = reader.integer<i32>();
    reader.end();
    return value;
  }

  i64(): i64 {
    if (!this.packed) return this.text().i64();
    const reader = this.unpack();
    const value = reader.integer<i64>();
    reader.end();
    return value;
  }

  bool(): bool {
    if (!this.packed) return this.text().bool();
    const reader = this.unpack();
    const value = reader.bool();
    reader.end();
    return value;
  }

  u128(): U128 {
    if (!this.packed) return this.text().u128();
    const reader = this.unpack();
    const value = reader.u128();
    reader.end();
    return value;
  }

  i128(): I128 {
    if (!this.packed) return this.text().i128();
    const reader = this.unpack();
    const value = reader.i128();
    reader.end();
    return value;
  }

  string(): string {
    if (!this.packed) return this.text().string();
    const reader = this.unpack();
    const value = reader.string();
    reader.end();
    return value;
  }

  bytes(): Bytes {
    if (!this.packed) return this.text().bytes();
    const reader = this.unpack();
    const value = reader.bytes();
    reader.end();
    return value;
  }

  account(): Account {
    if (!this.packed) return this.text().account();
    const reader = this.unpack();
    const value = reader.account();
    reader.end();
    return value;
  }

  hash(): Hash {
    if (!this.packed) return this.text().hash();
    const reader = this.unpack();
    const value = reader.hash();
    reader.end();
    return value;
  }

  /** A record, a tuple, fixed bytes or a union. */
  object<T>(): T {
    if (!this.packed) return this.text().object<T>();
    const reader = this.unpack();
    const value = reader.object<T>();
    reader.end();
    return value;
  }

  /** The bytes that the call returned. */
  data(): Bytes {
    const data = new StaticArray<u8>(this.length);
    copy(changetype<usize>(data), this.at, this.length);
    return data;
  }

  /** Whether the call succeeded. */
  get ok(): bool {
    return this.status == CallStatus.Ok;
  }

  /** Reverts unless the call succeeded. */
  check(): void {
    if (this.ok) return;
    if (this.status == CallStatus.Reverted) {
      const reason = new Writer();
      if (isTyped(this.at, this.length)) {
        // Callers must not take it for a typed error of this contract.
        reason.byte(PASSED);
        reason.packBytes32(this.callee);
      }
      reason.raw(this.at, this.length);
      revertWith(reason);
    }
    const reason = new Writer();
    reason.text("the call of another contract failed with code ");
    reason.decimal(this.status);
    revertWith(reason);
  }
}

/** The address of the result of the last call. */
function received(): usize {
  const start = heap.alloc(host.result_len());
  host.result_read(start);
  return start;
}

/** The first byte of a typed error that this contract passes on from another one. */
const PASSED: u8 = 2;

/** Whether revert data is a typed error of the contract that reverted, in either form. */
function isTyped(at: usize, length: u32): bool {
  if (!length) return false;
  return load<u8>(at) == BINARY || (length >= 9 && same(at, memory.data<u8>([123, 34, 101, 114, 114, 111, 114, 34, 58]), 9)); // {"error":
}
