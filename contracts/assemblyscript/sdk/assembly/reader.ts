import { revertWith } from "./revert";
import { decodeText } from "./text";
import { Account, Bytes, Bytes32, Hash } from "./types";
import { Writer } from "./writer";

/** A strict reader of JSON (RFC 8259). What does not have the expected type reverts with a reason that names it. */
export class Reader {
  private at: usize;
  private readonly end: usize;
  /** Where the decoded bytes of the last string are: in the text itself where it has no escapes. */
  protected decoded: usize = 0;
  protected decodedLength: u32 = 0;

  constructor(start: usize, length: u32) {
    this.at = start;
    this.end = start + length;
  }

  /** What is being read, as reasons name it. */
  protected subject(to: Writer): void {
    to.text("value");
  }

  /** Ends the call with a reason that says what is being read. */
  protected fail(problem: string, type: string = ""): void {
    const reason = new Writer();
    this.subject(reason);
    reason.text(": ");
    reason.text(problem);
    reason.text(type);
    revertWith(reason);
  }

  /** Ends the call because a value is not of a type. */
  protected refuse(type: string): void {
    this.fail("not a valid ", type);
  }

  protected malformed(): void {
    this.fail("malformed JSON");
  }

  /** The next byte that is no white space, which stays; 0 at the end. */
  protected peek(): u32 {
    for (; this.at < this.end; this.at++) {
      const byte = <u32>load<u8>(this.at);
      if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return byte;
    }
    return 0;
  }

  /** Passes over a byte if it is the next one. */
  protected skip(byte: u32): bool {
    if (this.peek() != byte) return false;
    this.at++;
    return true;
  }

  /** Whether only white space is left. */
  protected atEnd(): bool {
    this.peek();
    return this.at == this.end;
  }

  /** Passes over a word if it comes next. */
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

  /** Passes over null if it comes next. */
  nothing(): bool {
    return this.word("null");
  }

  u8(): u8 {
    return <u8>this.unsigned("u8", u8.MAX_VALUE);
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

  i64(): i64 {
    this.number("i64");
    if (!this.decodedLength || load<u8>(this.decoded) != 0x2d) return this.digits("i64", i64.MAX_VALUE);
    this.decoded++;
    this.decodedLength--;
    return 0 - this.digits("i64", 1 << 63);
  }

  /** Takes the text of a number, or of a string in its place. */
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

  /** Begins a list of a type; whether it has elements. */
  list(type: string): bool {
    if (!this.skip(0x5b)) this.refuse(type);
    return !this.skip(0x5d);
  }

  /** Goes on after an element of a list; whether there is another one. */
  more(): bool {
    if (this.skip(0x2c)) return true;
    if (!this.skip(0x5d)) this.malformed();
    return false;
  }

  /** Decodes a string to UTF-8, which it checks. */
  protected decode(type: string): void {
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

  /** The four digits of an escape. */
  private unit(): u32 {
    let unit: u32 = 0;
    for (let i = 0; i < 4; i++) {
      const digit = this.at < this.end ? hexValue(load<u8>(this.at++)) : 16;
      if (digit > 15) this.malformed();
      unit = (unit << 4) | digit;
    }
    return unit;
  }

  /** The length of the UTF-8 character that comes next and begins with first (RFC 3629, section 4). */
  private character(first: u32): u32 {
    if (first < 0x20) this.malformed();
    if (first < 0x80) return 1;
    const length: u32 = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    let good = first >= 0xc2 && first <= 0xf4 && this.end - this.at >= length;
    for (let i: u32 = 1; good && i < length; i++) {
      const byte = <u32>load<u8>(this.at + i);
      good = (byte & 0xc0) == 0x80;
      if (i > 1) continue;
      if (first == 0xe0) good = good && byte >= 0xa0; // an overlong form
      if (first == 0xed) good = good && byte < 0xa0; // a surrogate
      if (first == 0xf0) good = good && byte >= 0x90; // an overlong form
      if (first == 0xf4) good = good && byte < 0x90; // above U+10FFFF
    }
    if (!good) this.malformed();
    return length;
  }
}

/** The value of a hexadecimal digit; more than 15 if it is none. */
function hexValue(digit: u32): u32 {
  if (digit - 48 < 10) return digit - 48;
  digit |= 0x20;
  return digit - 97 < 6 ? digit - 87 : 255;
}
