import { overflow, require } from "./revert";
import { Fields } from "./storage";
import { Writer } from "./writer";

const LOW: u64 = 0xffffffff;

/** An integer from 0 to 2^128 - 1. Arithmetic that leaves this range reverts. */
export class U128 {
  constructor(
    /** The lower 64 bits. */
    public lo: u64,
    /** The upper 64 bits. */
    public hi: u64,
  ) {}

  static from(value: u64): U128 {
    return new U128(value, 0);
  }

  /** The product of two integers, which always fits. */
  static product(a: u64, b: u64): U128 {
    const low = (a & LOW) * (b & LOW);
    const cross = (a >> 32) * (b & LOW) + (low >> 32);
    const other = (a & LOW) * (b >> 32) + (cross & LOW);
    return new U128((other << 32) | (low & LOW), (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32));
  }

  /** The value as a u64; reverts if it does not fit. */
  toU64(): u64 {
    if (this.hi) overflow();
    return this.lo;
  }

  isZero(): bool {
    return (this.lo | this.hi) == 0;
  }

  // @ts-ignore: decorator
  @operator("==")
  equals(other: U128): bool {
    return this.lo == other.lo && this.hi == other.hi;
  }

  // @ts-ignore: decorator
  @operator("!=")
  differs(other: U128): bool {
    return !this.equals(other);
  }

  // @ts-ignore: decorator
  @operator("<")
  below(other: U128): bool {
    return this.hi < other.hi || (this.hi == other.hi && this.lo < other.lo);
  }

  // @ts-ignore: decorator
  @operator(">")
  above(other: U128): bool {
    return other.below(this);
  }

  // @ts-ignore: decorator
  @operator("<=")
  atMost(other: U128): bool {
    return !other.below(this);
  }

  // @ts-ignore: decorator
  @operator(">=")
  atLeast(other: U128): bool {
    return !this.below(other);
  }

  // @ts-ignore: decorator
  @operator("+")
  plus(other: U128): U128 {
    const lo = this.lo + other.lo;
    const hi = this.hi + other.hi;
    const carry: u64 = lo < this.lo ? 1 : 0;
    if (hi < this.hi || hi + carry < hi) overflow();
    return new U128(lo, hi + carry);
  }

  // @ts-ignore: decorator
  @operator("-")
  minus(other: U128): U128 {
    if (this.below(other)) overflow();
    return new U128(this.lo - other.lo, this.hi - other.hi - (this.lo < other.lo ? 1 : 0));
  }

  // @ts-ignore: decorator
  @operator("*")
  times(other: U128): U128 {
    if (this.hi && other.hi) overflow();
    const cross = this.hi ? U128.product(this.hi, other.lo) : U128.product(this.lo, other.hi);
    if (cross.hi) overflow();
    return U128.product(this.lo, other.lo).plus(new U128(0, cross.lo));
  }

  // @ts-ignore: decorator
  @operator("/")
  by(other: U128): U128 {
    return this.divided(other).quotient;
  }

  // @ts-ignore: decorator
  @operator("%")
  modulo(other: U128): U128 {
    return this.divided(other).rest;
  }

  /** a · b / c, rounded down, for any size of the product. Reverts if c is 0 or the quotient does not fit. */
  static mulDiv(a: U128, b: U128, c: U128): U128 {
    require(!c.isZero(), "division by zero");
    // The product in four words, the lowest first.
    const low = U128.product(a.lo, b.lo);
    const cross = U128.product(a.lo, b.hi);
    const other = U128.product(a.hi, b.lo);
    const middle = new U128(low.hi, 0).plus(U128.from(cross.lo)).plus(U128.from(other.lo));
    const high = U128.product(a.hi, b.hi).plus(U128.from(cross.hi)).plus(U128.from(other.hi)).plus(U128.from(middle.hi));
    if (!high.below(c)) overflow();
    return divide(high, new U128(low.lo, middle.lo), c).quotient;
  }

  private divided(by: U128): Division {
    require(!by.isZero(), "division by zero");
    if (by.hi) return divide(new U128(0, 0), this, by);
    const result = new Division();
    result.quotient.hi = this.hi / by.lo;
    divideWords(this.hi % by.lo, this.lo, by.lo, result);
    return result;
  }
  /** Multiplies this by 10 and adds a digit; false if the result does not fit. */
  appendDigit(digit: u32): bool {
    const a = (this.lo & LOW) * 10 + digit;
    const b = (this.lo >> 32) * 10 + (a >> 32);
    const c = (this.hi & LOW) * 10 + (b >> 32);
    const d = (this.hi >> 32) * 10 + (c >> 32);
    this.lo = (b << 32) | (a & LOW);
    this.hi = (d << 32) | (c & LOW);
    return d >> 32 == 0;
  }

  /** Writes the decimal digits. */
  digits(to: Writer): void {
    if (!this.hi) {
      to.decimal(this.lo);
      return;
    }
    const upper = this.by(U128.from(PART));
    upper.digits(to);
    const rest = this.minus(upper.times(U128.from(PART))).lo;
    for (let smallest = PART / 10; smallest > 1 && rest < smallest; smallest /= 10) to.byte(0x30);
    to.decimal(rest);
  }

  /** The form in storage, which the fields of a record have too. */
  __encode(to: Writer): void {
    to.integer<u64>(this.lo);
    to.integer<u64>(this.hi);
  }

  __decode(from: Fields): U128 {
    return new U128(from.read<u64>(), from.read<u64>());
  }
}

/** A limb of 18 digits. */
const PART: u64 = 1_000_000_000_000_000_000;

class Division {
  quotient: U128 = new U128(0, 0);
  rest: U128 = new U128(0, 0);
}

/** Divides high · 2^128 + low by a divisor greater than high. */
function divide(high: U128, low: U128, by: U128): Division {
  const result = new Division();
  const rest = result.rest;
  rest.lo = high.lo;
  rest.hi = high.hi;
  for (let bit = 127; bit >= 0; bit--) {
    const out = rest.hi >> 63; // the bit that the shift loses: with it the remainder certainly exceeds the divisor
    const next = bit < 64 ? low.lo >> bit : low.hi >> (bit - 64);
    rest.hi = (rest.hi << 1) | (rest.lo >> 63);
    rest.lo = (rest.lo << 1) | (next & 1);
    if (!out && rest.below(by)) continue;
    const borrow: u64 = rest.lo < by.lo ? 1 : 0;
    rest.lo -= by.lo;
    rest.hi -= by.hi + borrow;
    if (bit < 64) result.quotient.lo |= (<u64>1) << bit;
    else result.quotient.hi |= (<u64>1) << (bit - 64);
  }
  return result;
}

/**
 * Divides high · 2^64 + low by a divisor greater than high, in two digits of 32 bits (Knuth, The Art of Computer
 * Programming, volume 2, 4.3.1, algorithm D). Sets the lower word of the quotient, and the remainder.
 */
function divideWords(high: u64, low: u64, by: u64, into: Division): void {
  const shift = clz(by);
  const divisor = by << shift;
  const top = divisor >> 32;
  const bottom = divisor & LOW;
  const upper = shift ? (high << shift) | (low >> (64 - shift)) : high;
  const lower = low << shift;
  const first = digit(upper, lower >> 32, top, bottom);
  const rest = (upper << 32) + (lower >> 32) - first * divisor;
  const second = digit(rest, lower & LOW, top, bottom);
  into.quotient.lo = (first << 32) + second;
  into.rest.lo = ((rest << 32) + (lower & LOW) - second * divisor) >> shift;
}

/**
 * The next digit of a quotient: upper · 2^32 + next divided by top · 2^32 + bottom, where top has its highest bit set.
 */
function digit(upper: u64, next: u64, top: u64, bottom: u64): u64 {
  let quotient = upper / top;
  let rest = upper - quotient * top;
  while (quotient > LOW || quotient * bottom > ((rest << 32) | next)) {
    quotient--;
    rest += top;
    if (rest > LOW) break;
  }
  return quotient;
}
