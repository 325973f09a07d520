import { copy, copy32 } from "./memory";
import { Bytes, Bytes32 } from "./types";
import { I128 } from "./i128";
import { U128 } from "./u128";

/** The largest integer that every JSON reader represents exactly (RFC 8259, section 6). */
const MAX_EXACT: u64 = (1 << 53) - 1;

/** A growing buffer, with methods that write JSON (RFC 8259) and the binary form. */
export class Writer {
  /** The address of the bytes. */
  start: usize = 0;
  /** The number of bytes. */
  length: u32 = 0;
  private capacity: u32 = 0;
  /** Whether integers of any size become JSON numbers. */
  protected numbers: bool = false;

  /** Makes room for more bytes and returns their address. */
  extend(count: u32): usize {
    const at = this.length;
    const length = at + count;
    if (length > this.capacity) this.reserve(max(length, max(64, this.capacity * 2)));
    this.length = length;
    return this.start + at;
  }

  /** Grows the buffer to a total size, which must exceed the current one. */
  protected reserve(capacity: u32): void {
    this.start = this.capacity == 0 ? heap.alloc(capacity) : heap.realloc(this.start, capacity);
    this.capacity = capacity;
  }

  /** Writes one byte. */
  byte(value: u32): void {
    store<u8>(this.extend(1), value);
  }

  /** Writes the bytes of a range. */
  raw(from: usize, length: u32): void {
    copy(this.extend(length), from, length);
  }

  /** Writes an integer of any width, little-endian. */
  integer<T extends number>(value: T): void {
    store<T>(this.extend(sizeof<T>()), value);
  }

  /** Writes a string as UTF-8; an unpaired surrogate becomes U+FFFD. */
  text(value: string): void {
    let at = changetype<usize>(value);
    const end = at + ((<usize>value.length) << 1);
    for (; at < end && load<u16>(at) < 0x80; at += 2) this.byte(load<u16>(at));
    while (at < end) {
      const point = codePoint(at, end);
      at += point < 0x10000 ? 2 : 4;
      this.utf8(point);
    }
  }

  /** Writes a code point as UTF-8. */
  utf8(point: u32): void {
    if (point < 0x80) {
      this.byte(point);
      return;
    }
    let shift: u32 = point < 0x800 ? 6 : point < 0x10000 ? 12 : 18;
    this.byte(((0xff80 >> (shift / 6)) & 0xff) | (point >> shift)); // 110…, 1110…, 11110…
    while (shift) {
      shift -= 6;
      this.byte(0x80 | ((point >> shift) & 0x3f));
    }
  }

  bool(value: bool): void {
    if (value) this.text("true");
    else this.text("false");
  }

  nothing(): void {
    this.text("null");
  }

  /** Writes decimal digits. */
  decimal(value: u64): void {
    let length: u32 = 1;
    for (let rest = value; rest >= 10; rest /= 10) length++;
    for (let at = this.extend(length) + length; length; length--) {
      store<u8>(--at, 48 + <u32>(value % 10));
      value /= 10;
    }
  }

  u8(value: u8): void {
    this.decimal(value);
  }

  u16(value: u16): void {
    this.decimal(value);
  }

  u32(value: u32): void {
    this.decimal(value);
  }

  i8(value: i8): void {
    this.i64(value);
  }

  i16(value: i16): void {
    this.i64(value);
  }

  i32(value: i32): void {
    this.i64(value);
  }

  /** A decimal string, or a number in an event. */
  u128(value: U128): void {
    if (!this.numbers) this.byte(0x22);
    value.digits(this);
    if (!this.numbers) this.byte(0x22);
  }

  /** A decimal string, or a number in an event. */
  i128(value: I128): void {
    if (!this.numbers) this.byte(0x22);
    value.digits(this);
    if (!this.numbers) this.byte(0x22);
  }

  /** Writes one name of a concatenated list of names, each preceded by its length. */
  variant(names: usize, position: i32): void {
    for (; position > 0; position--) names += 1 + <u32>load<u8>(names);
    this.byte(0x22);
    this.raw(names + 1, load<u8>(names));
    this.byte(0x22);
  }

  /** Writes a number, or a decimal string if it is above 2^53 − 1 and not in an event. */
  u64(value: u64): void {
    this.signed(value, false);
  }

  /** Writes a number, or a decimal string if it is beyond ±(2^53 − 1) and not in an event. */
  i64(value: i64): void {
    this.signed(value < 0 ? 0 - value : value, value < 0);
  }

  private signed(magnitude: u64, negative: bool): void {
    const quoted = magnitude > MAX_EXACT && !this.numbers;
    if (quoted) this.byte(0x22);
    if (negative) this.byte(0x2d);
    this.decimal(magnitude);
    if (quoted) this.byte(0x22);
  }

  string(value: string): void {
    this.byte(0x22);
    let at = changetype<usize>(value);
    for (const end = at + (<usize>value.length << 1); at < end; ) {
      const point = codePoint(at, end);
      at += point < 0x10000 ? 2 : 4;
      if (point < 0x20) {
        this.text("\\u00");
        this.hexByte(point);
        continue;
      }
      if (point == 0x22 || point == 0x5c) this.byte(0x5c);
      this.utf8(point);
    }
    this.byte(0x22);
  }

  private hexByte(value: u32): void {
    const at = this.extend(2);
    store<u8>(at, hexDigit(value >> 4));
    store<u8>(at, hexDigit(value & 15), 1);
  }

  private hex(from: usize, length: u32): void {
    let to = this.extend(2 * length + 4);
    store<u32>(to, 0x783022); // "0x
    to += 3;
    const end = from + length;
    for (; from + 4 <= end; from += 4, to += 8) store<u64>(to, hexDigits(load<u32>(from)));
    for (; from < end; from++, to += 2) store<u16>(to, <u16>hexDigits(load<u8>(from)));
    store<u8>(to, 0x22);
  }

  bytes(value: Bytes): void {
    this.hex(changetype<usize>(value), value.length);
  }

  bytes32(value: Bytes32): void {
    this.hex(changetype<usize>(value), 32);
  }

  packString(value: string): void {
    const at = this.length;
    this.integer<u64>(0);
    this.text(value);
    store<u64>(this.start + at, this.length - at - 8);
  }

  packBytes(value: Bytes): void {
    this.integer<u64>(value.length);
    this.raw(changetype<usize>(value), value.length);
  }

  packBytes32(value: Bytes32): void {
    copy32(this.extend(32), changetype<usize>(value));
  }

  packU128(value: U128): void {
    this.integer<u64>(value.lo);
    this.integer<u64>(value.hi);
  }

  packI128(value: I128): void {
    this.integer<u64>(value.lo);
    this.integer<u64>(value.hi);
  }
}

/**
 * The eight hex digits of four bytes, each byte's high digit first. Each digit is spread to a byte, then all become
 * ASCII at once.
 */
function hexDigits(bytes: u64): u64 {
  let x = (bytes | (bytes << 16)) & 0x0000ffff0000ffff;
  x = (x | (x << 8)) & 0x00ff00ff00ff00ff;
  x = ((x >> 4) & 0x000f000f000f000f) | ((x & 0x000f000f000f000f) << 8);
  const letters = ((x + 0x0606060606060606) >> 4) & 0x0101010101010101;
  return x + 0x3030303030303030 + letters * 39;
}

function hexDigit(value: u32): u32 {
  return value + (value < 10 ? 48 : 87);
}

/** The code point at an address in a UTF-16 string. */
function codePoint(at: usize, end: usize): u32 {
  const unit = <u32>load<u16>(at);
  if ((unit & 0xf800) != 0xd800) return unit;
  if (unit < 0xdc00 && at + 2 < end) {
    const second = <u32>load<u16>(at, 2);
    if ((second & 0xfc00) == 0xdc00) return 0x10000 + ((unit & 0x3ff) << 10) + (second & 0x3ff);
  }
  return 0xfffd;
}
