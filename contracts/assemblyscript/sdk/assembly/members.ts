import { Reader } from "./reader";
import { revertWith } from "./revert";
import { Writer } from "./writer";

/** The longest name that an error message quotes, in bytes. */
const MAX_SHOWN: u32 = 64;

/** Reads the members of the next JSON object: the call's arguments, or the fields of a record. */
export class Members {
  private seen: u32 = 0;
  private begun: bool = false;
  private readonly outer: usize;

  /**
   * @param names the members' names, concatenated, each preceded by its length in a byte @param count the number of
   * members, at most 16 @param optional a bit for each member, the lowest for the first, set if it may be left out
   */
  constructor(
    private readonly from: Reader,
    private readonly names: usize,
    private readonly count: u32,
    private readonly optional: u32,
  ) {
    this.outer = from.member;
  }

  /** Moves to the next member and returns its index; -1 after the last one. */
  next(): i32 {
    const from = this.from;
    from.member = this.outer;
    if (!this.begun) {
      if (!from.skip(0x7b)) from.fail("not a JSON object");
      this.begun = true;
      if (from.skip(0x7d)) return this.finish();
    } else if (!from.skip(0x2c)) {
      if (!from.skip(0x7d)) from.malformed();
      return this.finish();
    }
    if (from.peek() != 0x22) from.malformed();
    from.decode("");
    const index = from.find(this.names, this.count);
    if (index < 0) this.unknown();
    if (!from.skip(0x3a)) from.malformed();
    const bit: u32 = 1 << index;
    from.member = this.name(index);
    if (this.seen & bit) from.fail("given twice");
    this.seen |= bit;
    // No value begins with a character that ends one.
    const first = from.peek();
    if (first == 0x7d || first == 0x5d || first == 0x2c || first == 0x3a || first == 0) from.malformed();
    return index;
  }

  private unknown(): void {
    const reason = new Writer();
    reason.text("unknown argument");
    if (this.from.decodedLength <= MAX_SHOWN) {
      reason.byte(0x20);
      reason.raw(this.from.decoded, this.from.decodedLength);
    }
    revertWith(reason);
  }

  private finish(): i32 {
    const missing = ~(this.seen | this.optional) & <u32>((<u64>1 << this.count) - 1);
    if (missing) {
      this.from.member = this.name(ctz(missing));
      this.from.fail("missing");
    }
    return -1;
  }

  /** The address of a member's name. */
  private name(index: i32): usize {
    let at = this.names;
    for (let i = index; i > 0; i--) at += 1 + <u32>load<u8>(at);
    return at;
  }
}
