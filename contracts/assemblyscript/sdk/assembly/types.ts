import { require } from "./revert";

/** Bytes of any length. In JSON: `0x` and hex digits. */
export type Bytes = StaticArray<u8>;

/** 32 bytes. The object's address is the address of the bytes, so host functions take it directly. */
export class Bytes32 {
  private a: u64 = 0;
  private b: u64 = 0;
  private c: u64 = 0;
  private d: u64 = 0;

  /** Whether the 32 bytes are equal. */
  // @ts-ignore: decorator
  @operator("==")
  equals(other: Bytes32): bool {
    return this.a == other.a && this.b == other.b && this.c == other.c && this.d == other.d;
  }

  /** Whether they differ. */
  // @ts-ignore: decorator
  @operator("!=")
  differs(other: Bytes32): bool {
    return !this.equals(other);
  }

  /** Whether all bytes are 0. */
  isZero(): bool {
    return (this.a | this.b | this.c | this.d) == 0;
  }
}

/** An account: a user's key or a contract's ID. `new Account()` is the zero account. */
export class Account extends Bytes32 {}

/** A hash of 32 bytes. */
export class Hash extends Bytes32 {}

/** A value that may be absent: `T?` in the ABI, `null` in JSON. */
// @ts-ignore: decorator
@final
export class Option<T> {
  constructor(
    /** Whether there is a value. */
    readonly exists: bool,
    private readonly held: T,
  ) {}

  static some<T>(value: T): Option<T> {
    return new Option<T>(true, value);
  }

  static none<T>(): Option<T> {
    if (isReference<T>()) return new Option<T>(false, changetype<T>(0));
    // @ts-ignore: an integer
    return new Option<T>(false, <T>0);
  }

  /** The value; reverts if there is none. */
  get value(): T {
    require(this.exists, "the value is absent");
    return this.held;
  }
}
