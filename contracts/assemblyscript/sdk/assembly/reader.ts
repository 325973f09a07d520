import { revertWith } from "./revert";
import { same } from "./memory";
import { characterLength, decodeText } from "./text";
import { Account, Bytes, Bytes32, Hash } from "./types";
import { I128 } from "./i128";
import { U128 } from "./u128";
import { Writer } from "./writer";

/** A strict reader of JSON (RFC 8259). A value of another type than expected reverts with a reason that names it. */
export class Reader {
  private at: usize;
  private readonly end: usize;
  /** The address of the decoded bytes of the last string: in the text itself if it has no escapes. */
  decoded: usize = 0;
  decodedLength: u32 = 0;
  /** The address of the name of the member being read, which begins with its length in a byte; 0 for the whole text. */
  member: usize = 0;

  /** @param whole the name of the whole text in reasons */
  constructor(
    start: usize,
    length: u32,
    private readonly whole: string,
  ) {
    this.at = start;
    this.end = start + length;
  }

  /** Ends the call with a reason that names the value being read. */
  fail(problem: string, type: string = ""): void {
    const reason = new Writer();
    if (this.member) reason.raw(this.member + 1, load<u8>(this.member));
    else reason.text(this.whole);
    reason.text(": ");
    reason.text(problem);
    reason.text(type);
    revertWith(reason);
  }

  /** Ends the call because a value does not have the given type. */
  refuse(type: string): void {
    this.fail("not a valid ", type);
  }

  malformed(): void {
    this.fail("malformed JSON");
  }

  /** The next byte other than white space, without consuming it; 0 at the end. */
  peek(): u32 {
    for (; this.at < this.end; this.at++) {
      const byte = <u32>load<u8>(this.at);
      if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return byte;
    }
    return 0;
  }

  /** Skips a byte if it is the next one. */
  skip(byte: u32): bool {
    if (this.peek() != byte) return false;
    this.at++;
    return true;
  }

  /** Whether only white space remains. */
  atEnd(): bool {
    this.peek();
    return this.at == this.end;
  }

  /** Skips a word if it is next. */
  private word(text: string): bool {
    this.peek();
    const length = <usize>text.length;
    if (this.end - this.at < length) return false;
    for (let i: usize = 0; i < length; i++) {
      if (load<u8>(this.at + i) != load<u8>(changetype<usize>(text) + (i << 1))) return false;
    }
    this.at += length;
    return true;
  }

  bool(): bool {
    if (this.word("true")) return true;
    if (!this.word("false")) this.refuse("bool");
    return false;
  }

  /** Skips null if it is next. */
  nothing(): bool {
    return this.word("null");
  }

  u8(): u8 {
    return <u8>this.unsigned("u8", u8.MAX_VALUE);
  }

  u16(): u16 {
    return <u16>this.unsigned("u16", u16.MAX_VALUE);
  }

  u32(): u32 {
    return <u32>this.unsigned("u32", u32.MAX_VALUE);
  }

  u64(): u64 {
    return this.unsigned("u64", u64.MAX_VALUE);
  }

  private unsigned(type: string, limit: u64): u64 {
    this.number(type);
    return this.digits(type, limit);
  }

  i8(): i8 {
    return <i8>this.signed("i8", i8.MAX_VALUE);
  }

  i16(): i16 {
    return <i16>this.signed("i16", i16.MAX_VALUE);
  }

  i32(): i32 {
    return <i32>this.signed("i32", i32.MAX_VALUE);
  }

  i64(): i64 {
    return this.signed("i64", i64.MAX_VALUE);
  }

  private signed(type: string, limit: i64): i64 {
    this.number(type);
    if (!this.decodedLength || load<u8>(this.decoded) != 0x2d) return this.digits(type, limit);
    this.decoded++;
    this.decodedLength--;
    const magnitude = this.digits(type, <u64>limit + 1);
    if (magnitude == 0) this.refuse(type);
    return 0 - magnitude;
  }

  u128(): U128 {
    this.number("u128");
    return this.wide("u128");
  }

  i128(): I128 {
    this.number("i128");
    const negative = this.decodedLength > 0 && load<u8>(this.decoded) == 0x2d;
    if (negative) {
      this.decoded++;
      this.decodedLength--;
    }
    const size = this.wide("i128");
    const least = size.lo == 0 && size.hi == (<u64>1) << 63;
    if (negative ? size.isZero() || (size.hi >> 63 && !least) : size.hi >> 63) this.refuse("i128");
    return I128.of(size, negative);
  }

  private wide(type: string): U128 {
    const length = this.decodedLength;
    const value = new U128(0, 0);
    let good = length == 1 || (length > 0 && load<u8>(this.decoded) != 0x30);
    for (let i: u32 = 0; good && i < length; i++) {
      const digit = <u32>load<u8>(this.decoded + i) - 0x30;
      good = digit <= 9 && value.appendDigit(digit);
    }
    if (!good) this.refuse(type);
    return value;
  }

  /** Reads the text of a number, or of a string that stands for one. */
  private number(type: string): void {
    if (this.peek() == 0x22) {
      this.decode(type);
      return;
    }
    this.decoded = this.at;
    for (; this.at < this.end; this.at++) {
      const byte = <u32>load<u8>(this.at);
      if (byte - 0x30 > 9 && byte != 0x2b && byte != 0x2d && byte != 0x2e && (byte | 0x20) != 0x65) break;
    }
    this.decodedLength = <u32>(this.at - this.decoded);
  }

  private digits(type: string, limit: u64): u64 {
    let value: u64 = 0;
    const length = this.decodedLength;
    let good = length == 1 || (length > 0 && load<u8>(this.decoded) != 0x30);
    for (let i: u32 = 0; i < length; i++) {
      const digit = <u32>load<u8>(this.decoded + i) - 0x30;
      if (digit > 9 || value > limit / 10 || value * 10 > limit - digit) {
        good = false;
        break;
      }
      value = value * 10 + digit;
    }
    if (!good) this.refuse(type);
    return value;
  }

  string(): string {
    this.decode("string");
    return decodeText(this.decoded, this.decodedLength);
  }

  bytes(): Bytes {
    this.decode("bytes");
    const value = new StaticArray<u8>(this.decodedLength < 2 ? 0 : (this.decodedLength - 2) / 2);
    this.hex("bytes", changetype<usize>(value), value.length);
    return value;
  }

  /** Reads a fixed number of bytes. */
  fixed(type: string, count: u32): Bytes {
    this.decode(type);
    const value = new StaticArray<u8>(count);
    this.hex(type, changetype<usize>(value), count);
    return value;
  }

  account(): Account {
    const value = new Account();
    this.bytes32("account", value);
    return value;
  }

  hash(): Hash {
    const value = new Hash();
    this.bytes32("hash", value);
    return value;
  }

  private bytes32(type: string, into: Bytes32): void {
    this.decode(type);
    this.hex(type, changetype<usize>(into), 32);
  }

  /** Writes the bytes of the decoded string: 0x and two digits for each. */
  private hex(type: string, to: usize, count: u32): void {
    let at = this.decoded;
    if (this.decodedLength != 2 + 2 * count || load<u16>(at) != 0x7830) {
      this.refuse(type);
      return;
    }
    for (const end = to + count; to < end; to++) {
      at += 2;
      const high = hexValue(load<u8>(at));
      const low = hexValue(load<u8>(at, 1));
      if ((high | low) > 15) this.refuse(type);
      store<u8>(to, (high << 4) | low);
    }
  }

  /** Begins a list of a type. Returns whether it has elements. */
  list(type: string): bool {
    if (!this.skip(0x5b)) this.refuse(type);
    return !this.skip(0x5d);
  }

  /** Continues after an element of a list. Returns whether there is another one. */
  more(): bool {
    if (this.skip(0x2c)) return true;
    if (!this.skip(0x5d)) this.malformed();
    return false;
  }

  /** Moves to the next item of a tuple of a type. */
  item(type: string): void {
    if (!this.skip(0x2c)) this.refuse(type);
  }

  /** Ends a tuple of a type. */
  closed(type: string): void {
    if (!this.skip(0x5d)) this.refuse(type);
  }

  /** Reads a name and returns its position in a concatenated list of count names, each preceded by its length. */
  variant(type: string, names: usize, count: u32): i32 {
    this.decode(type);
    const index = this.find(names, count);
    if (index < 0) this.refuse(type);
    return index;
  }

  /** Reads the name of a variant. Returns whether its fields follow. */
  beginVariant(type: string): bool {
    const fields = this.skip(0x7b);
    this.decode(type);
    if (fields && !this.skip(0x3a)) this.refuse(type);
    return fields;
  }

  /** Ends a variant with fields. */
  endVariant(type: string): void {
    if (!this.skip(0x7d)) this.refuse(type);
  }

  /** The position of the decoded string among names; -1 if it is none of them. */
  find(names: usize, count: u32): i32 {
    for (let i: u32 = 0; i < count; i++) {
      const length = <u32>load<u8>(names++);
      if (length == this.decodedLength && same(names, this.decoded, length)) return i;
      names += length;
    }
    return -1;
  }

  /** A record, a tuple, fixed bytes or a union. */
  object<T>(): T {
    // @ts-ignore: added by the type's decorator; it does not use `this`
    return changetype<T>(0).__readNew(this);
  }

  /** Ends the call if any text remains. */
  finish(): void {
    if (!this.atEnd()) this.malformed();
  }

  /** Decodes a string to UTF-8 and validates it. */
  decode(type: string): void {
    if (!this.skip(0x22)) this.refuse(type);
    const start = this.at;
    for (; this.at < this.end; ) {
      const byte = <u32>load<u8>(this.at);
      if (byte == 0x22) {
        this.decoded = start;
        this.decodedLength = <u32>(this.at++ - start);
        return;
      }
      if (byte == 0x5c) {
        this.decodeEscaped(start);
        return;
      }
      this.at += this.character(byte);
    }
    this.malformed();
  }

  /** Decodes a string from its first escape on. */
  private decodeEscaped(start: usize): void {
    const text = new Writer();
    text.raw(start, <u32>(this.at - start));
    for (; this.at < this.end; ) {
      const byte = <u32>load<u8>(this.at);
      if (byte == 0x22) {
        this.at++;
        this.decoded = text.start;
        this.decodedLength = text.length;
        return;
      }
      if (byte == 0x5c) {
        this.escape(text);
      } else {
        const length = this.character(byte);
        text.raw(this.at, length);
        this.at += length;
      }
    }
    this.malformed();
  }

  private escape(text: Writer): void {
    const byte = this.at + 1 < this.end ? <u32>load<u8>(this.at, 1) : 0;
    this.at += 2;
    switch (byte) {
      case 0x22: // "
      case 0x2f: // /
      case 0x5c: // \
        text.byte(byte);
        break;
      case 0x62: // b
        text.byte(8);
        break;
      case 0x66: // f
        text.byte(12);
        break;
      case 0x6e: // n
        text.byte(10);
        break;
      case 0x72: // r
        text.byte(13);
        break;
      case 0x74: // t
        text.byte(9);
        break;
      case 0x75: { // u
        let point = this.unit();
        if ((point & 0xfc00) == 0xd800 && this.end - this.at >= 6 && load<u16>(this.at) == 0x755c) {
          this.at += 2;
          const second = this.unit();
          if ((second & 0xfc00) != 0xdc00) this.malformed();
          point = 0x10000 + ((point & 0x3ff) << 10) + (second & 0x3ff);
        }
        if ((point & 0xfffff800) == 0xd800) this.malformed();
        text.utf8(point);
        break;
      }
      default:
        this.malformed();
    }
  }

  /** Reads the four digits of an escape. */
  private unit(): u32 {
    let unit: u32 = 0;
    for (let i = 0; i < 4; i++) {
      const digit = this.at < this.end ? hexValue(load<u8>(this.at++)) : 16;
      if (digit > 15) this.malformed();
      unit = (unit << 4) | digit;
    }
    return unit;
  }

  /** The length of the next character, which begins with first. */
  private character(first: u32): u32 {
    const length = first < 0x20 ? 0 : characterLength(this.at, this.end);
    if (!length) this.malformed();
    return length;
  }
}

/** The value of a hexadecimal digit; more than 15 for any other character. */
function hexValue(digit: u32): u32 {
  if (digit - 48 < 10) return digit - 48;
  digit |= 0x20;
  return digit - 97 < 6 ? digit - 87 : 255;
}
