import { overflow } from "./revert";
import { Fields } from "./storage";
import { U128 } from "./u128";
import { Writer } from "./writer";

/** An integer from -2^127 to 2^127 - 1. Arithmetic that leaves this range reverts; a quotient is rounded towards 0. */
export class I128 {
  constructor(
    /** The lower 64 bits of the two's complement. */
    public lo: u64,
    /** The upper 64 bits. */
    public hi: u64,
  ) {}

  static from(value: i64): I128 {
    return new I128(value, value < 0 ? -1 : 0);
  }

  /** The number with a sign and a magnitude; reverts if it does not fit. */
  static of(size: U128, negative: bool): I128 {
    const top = size.hi >> 63;
    if (top && !(negative && size.hi == (<u64>1) << 63 && size.lo == 0)) overflow();
    if (!negative) return new I128(size.lo, size.hi);
    return new I128(0 - size.lo, ~size.hi + (size.lo ? 0 : 1));
  }

  /** The value as an i64; reverts if it does not fit. */
  toI64(): i64 {
    if (this.hi != <u64>(<i64>this.lo >> 63)) overflow();
    return this.lo;
  }

  get isNegative(): bool {
    return <i64>this.hi < 0;
  }

  /** The value without its sign. */
  get size(): U128 {
    if (!this.isNegative) return new U128(this.lo, this.hi);
    return new U128(0 - this.lo, ~this.hi + (this.lo ? 0 : 1));
  }

  isZero(): bool {
    return (this.lo | this.hi) == 0;
  }

  // @ts-ignore: decorator
  @operator("==")
  equals(other: I128): bool {
    return this.lo == other.lo && this.hi == other.hi;
  }

  // @ts-ignore: decorator
  @operator("!=")
  differs(other: I128): bool {
    return !this.equals(other);
  }

  // @ts-ignore: decorator
  @operator("<")
  below(other: I128): bool {
    return <i64>this.hi < <i64>other.hi || (this.hi == other.hi && this.lo < other.lo);
  }

  // @ts-ignore: decorator
  @operator(">")
  above(other: I128): bool {
    return other.below(this);
  }

  // @ts-ignore: decorator
  @operator("<=")
  atMost(other: I128): bool {
    return !other.below(this);
  }

  // @ts-ignore: decorator
  @operator(">=")
  atLeast(other: I128): bool {
    return !this.below(other);
  }

  // @ts-ignore: decorator
  @operator("+")
  plus(other: I128): I128 {
    const lo = this.lo + other.lo;
    const hi = this.hi + other.hi + (lo < this.lo ? 1 : 0);
    if (<i64>((this.hi ^ hi) & (other.hi ^ hi)) < 0) overflow();
    return new I128(lo, hi);
  }

  // @ts-ignore: decorator
  @operator("-")
  minus(other: I128): I128 {
    const hi = this.hi - other.hi - (this.lo < other.lo ? 1 : 0);
    if (<i64>((this.hi ^ other.hi) & (this.hi ^ hi)) < 0) overflow();
    return new I128(this.lo - other.lo, hi);
  }

  // @ts-ignore: decorator
  @operator("*")
  times(other: I128): I128 {
    const size = this.size.times(other.size);
    return I128.of(size, !size.isZero() && this.isNegative != other.isNegative);
  }

  // @ts-ignore: decorator
  @operator("/")
  by(other: I128): I128 {
    const size = this.size.by(other.size);
    return I128.of(size, !size.isZero() && this.isNegative != other.isNegative);
  }

  /** The remainder of a division, with the sign of this number. */
  // @ts-ignore: decorator
  @operator("%")
  modulo(other: I128): I128 {
    const size = this.size.modulo(other.size);
    return I128.of(size, !size.isZero() && this.isNegative);
  }

  /** Writes the decimal digits. */
  digits(to: Writer): void {
    if (this.isNegative) to.byte(0x2d);
    this.size.digits(to);
  }

  /** The form in storage, which the fields of a record have too. */
  __encode(to: Writer): void {
    to.integer<u64>(this.lo);
    to.integer<u64>(this.hi);
  }

  __decode(from: Fields): I128 {
    return new I128(from.read<u64>(), from.read<u64>());
  }
}
