import * as host from "./host";
import { Reader } from "./reader";
import { revertWith } from "./revert";
import { Account, Bytes, Hash } from "./types";
import { Writer } from "./writer";

/** How a call of another contract ended, as docs/protocol.md ("Host functions") numbers it. */
export enum CallStatus {
  Ok = 0,
  Reverted = 1,
  /** It trapped, or ran out of gas or stack. */
  Failed = 2,
  NoContract = 3,
  NoFunction = 4,
  BalanceTooLow = 5,
  ReentryRefused = 6,
  /** Calls too deep, or too much memory. */
  Limits = 7,
}

/** A call of another contract's function: its arguments are set by name, then it is sent. */
export class Call {
  private readonly name: Writer = new Writer();
  private readonly args: Writer = new Writer();
  private coins: u64 = 0;
  private limit: u64 = u64.MAX_VALUE;
  private whole: bool = false;

  constructor(
    private readonly contract: Account,
    name: string,
  ) {
    this.name.text(name);
  }

  /** Coins of this contract that go with the call. */
  value(amount: u64): Call {
    this.coins = amount;
    return this;
  }

  /** The most gas that it gets. A 64th of what is left is always held back. */
  gas(limit: u64): Call {
    this.limit = limit;
    return this;
  }

  bool(name: string, value: bool): Call {
    this.member(name).bool(value);
    return this;
  }

  u64(name: string, value: u64): Call {
    this.member(name).u64(value);
    return this;
  }

  i64(name: string, value: i64): Call {
    this.member(name).i64(value);
    return this;
  }

  string(name: string, value: string): Call {
    this.member(name).string(value);
    return this;
  }

  bytes(name: string, value: Bytes): Call {
    this.member(name).bytes(value);
    return this;
  }

  account(name: string, value: Account): Call {
    this.member(name).bytes32(value);
    return this;
  }

  hash(name: string, value: Hash): Call {
    this.member(name).bytes32(value);
    return this;
  }

  /** All arguments as they are, instead of such by name. */
  raw(args: Bytes): Call {
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

  /** Calls the function. Where it fails this call reverts too, with the callee's reason if it gave one. */
  send(): Result {
    const result = this.trySend();
    result.check();
    return result;
  }

  /** Calls the function; the result says how it ended. */
  trySend(): Result {
    this.close();
    return new Result(
      host.call(
        changetype<usize>(this.contract), this.name.start, this.name.length, this.args.start, this.args.length, this.coins, this.limit,
      ),
    );
  }

  /** Calls the function in a view: it can change nothing. Where it fails this call reverts too, as send does. */
  view(): Result {
    this.close();
    const result = new Result(
      host.call_view(changetype<usize>(this.contract), this.name.start, this.name.length, this.args.start, this.args.length, this.limit),
    );
    result.check();
    return result;
  }

  private close(): void {
    if (this.args.length && !this.whole) this.args.byte(0x7d);
  }
}

/** What a call of another contract gave. Its value is read as the type that the callee's ABI says. */
export class Result extends Reader {
  constructor(readonly status: CallStatus) {
    super(received(), host.result_len());
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
      reason.raw(received(), host.result_len());
      revertWith(reason);
    }
    const reason = new Writer();
    reason.text("the call of another contract failed with code ");
    reason.decimal(this.status);
    revertWith(reason);
  }

  protected subject(to: Writer): void {
    to.text("result");
  }
}

/** Where the result of the last call is. */
function received(): usize {
  const start = heap.alloc(host.result_len());
  host.result_read(start);
  return start;
}
