import { I128 } from "./i128";
import { copy, copy32 } from "./memory";
import { revert } from "./revert";
import { characterLength, decodeText } from "./text";
import { Account, Bytes, Hash } from "./types";
import { U128 } from "./u128";

/** A strict reader of the binary form (docs/protocol.md, "ABI"). A value of another type than expected reverts. */
export class Unpacker {
  private at: usize;
  private readonly limit: usize;

  /** @param problem the reason for a revert if the bytes have other types */
  constructor(
    start: usize,
    length: u32,
    private readonly problem: string,
  ) {
    this.at = start;
    this.limit = start + length;
  }

  private fail(): void {
    revert(this.problem);
  }

  /** Skips a number of bytes and returns their address. */
  private take(count: u32): usize {
    const at = this.at;
    if (this.limit - at < count) this.fail();
    this.at = at + count;
    return at;
  }

  /** Reverts unless everything was read. */
  end(): void {
    if (this.at != this.limit) this.fail();
  }

  /** An integer of any width. */
  integer<T extends number>(): T {
    return load<T>(this.take(sizeof<T>()));
  }

  bool(): bool {
    const byte = this.integer<u8>();
    if (byte > 1) this.fail();
    return byte != 0;
  }

  u128(): U128 {
    const at = this.take(16);
    return new U128(load<u64>(at), load<u64>(at, 8));
  }

  i128(): I128 {
    const at = this.take(16);
    return new I128(load<u64>(at), load<u64>(at, 8));
  }

  /** The number of the elements that follow. Each has at least one byte. */
  count(): u32 {
    const count = this.integer<u64>();
    if (count > <u64>(this.limit - this.at)) this.fail();
    return <u32>count;
  }

  string(): string {
    const length = this.count();
    const start = this.take(length);
    const end = start + length;
    for (let at = start; at < end; ) {
      const size = characterLength(at, end);
      if (!size) this.fail();
      at += size;
    }
    return decodeText(start, length);
  }

  bytes(): Bytes {
    return this.fixed(this.count());
  }

  /** Reads a fixed number of bytes. */
  fixed(length: u32): Bytes {
    const from = this.take(length);
    const value = new StaticArray<u8>(length);
    copy(changetype<usize>(value), from, length);
    return value;
  }

  account(): Account {
    return changetype<Account>(this.bytes32(idof<Account>()));
  }

  hash(): Hash {
    return changetype<Hash>(this.bytes32(idof<Hash>()));
  }

  private bytes32(type: u32): usize {
    const from = this.take(32);
    const value = __new(32, type);
    copy32(value, from);
    return value;
  }

  /** A record, a tuple, fixed bytes or a union. */
  object<T>(): T {
    // @ts-ignore: added by the type's decorator; it does not use `this`
    return changetype<T>(0).__unpackNew(this);
  }

  /** Reads the position of a variant, below count. */
  variant(count: u32): i32 {
    const position = this.integer<u32>();
    if (position >= count) this.fail();
    return position;
  }
}
