import * as host from "./host";
import { same } from "./memory";
import { Reader } from "./reader";
import { revertWith, require } from "./revert";
import { Writer } from "./writer";

/** The longest name that a reason repeats, in bytes. */
const MAX_SHOWN: u32 = 64;

/** The call's arguments: a JSON object by parameter name, or nothing at all, which is the empty object. */
export class Arguments extends Reader {
  private seen: u32 = 0;
  private current: i32 = -1;
  private begun: bool = false;

  /**
   * @param names the parameters' names one after the other, each behind a byte that is its length
   * @param count how many there are, 32 at most
   * @param optional a bit for each parameter that may be left out, the lowest the first
   */
  constructor(
    private readonly names: usize,
    private readonly count: u32,
    private readonly optional: u32,
  ) {
    super(received(), host.args_len());
  }

  /** Goes on to the next member and gives the index of its parameter; −1 when all have been read. */
  next(): i32 {
    if (!this.begun && this.atEnd()) return this.finish();
    if (!this.begun) {
      if (!this.skip(0x7b)) this.fail("not a JSON object");
      this.begun = true;
      if (this.skip(0x7d)) return this.finish();
    } else if (!this.skip(0x2c)) {
      this.current = -1;
      if (!this.skip(0x7d)) this.malformed();
      return this.finish();
    }
    this.current = -1;
    if (this.peek() != 0x22) this.malformed();
    this.decode("");
    const index = this.find();
    if (!this.skip(0x3a)) this.malformed();
    const bit: u32 = 1 << index;
    this.current = index;
    if (this.seen & bit) this.fail("given twice");
    this.seen |= bit;
    // No value begins so: an object is of no type, and the others end one.
    const first = this.peek();
    if (first == 0x7b || first == 0x7d || first == 0x5d || first == 0x2c || first == 0x3a || first == 0) this.malformed();
    return index;
  }

  /** The index of the parameter whose name was just decoded. */
  private find(): i32 {
    let at = this.names;
    for (let i: u32 = 0; i < this.count; i++) {
      const length = <u32>load<u8>(at++);
      if (length == this.decodedLength && same(at, this.decoded, length)) return i;
      at += length;
    }
    const reason = new Writer();
    reason.text("unknown argument");
    if (this.decodedLength <= MAX_SHOWN) {
      reason.byte(0x20);
      reason.raw(this.decoded, this.decodedLength);
    }
    revertWith(reason);
    return -1;
  }

  private finish(): i32 {
    if (!this.atEnd()) this.malformed();
    const missing = ~(this.seen | this.optional) & <u32>((<u64>1 << this.count) - 1);
    if (missing) {
      this.current = ctz(missing);
      this.fail("missing");
    }
    return -1;
  }

  protected subject(to: Writer): void {
    if (this.current < 0) {
      to.text("arguments");
      return;
    }
    let at = this.names;
    for (let i = this.current; i > 0; i--) at += 1 + <u32>load<u8>(at);
    to.raw(at + 1, load<u8>(at));
  }
}

/** Where the arguments are. */
function received(): usize {
  const start = heap.alloc(host.args_len());
  host.args_read(start);
  return start;
}

/** Reverts where coins come with a call of a function that takes none. */
export function refuseCoins(): void {
  require(host.value() == 0, "the function takes no coins");
}

/** Ends a function: its result is the call's return data. */
export function answer(result: Writer): void {
  host.return_data(result.start, result.length);
}
