import * as host from "./host";
import { copy32 } from "./memory";
import { limit } from "./revert";
import { Bytes32 } from "./types";
import { Writer } from "./writer";

/** The protocol's limit for an event's data, in bytes. */
const MAX_DATA: u32 = 16384;

/** The initial size of the buffer, in bytes. Most events fit, because growing costs instructions. */
const SIZE: u32 = 320;

const TOPICS = memory.data(96);

/** Builds an event: its data, a JSON object, and its topics. */
export class EventWriter extends Writer {
  private topics: u32 = 0;

  constructor() {
    super();
    this.numbers = true; // as NEP-20 requires for amounts in events
    this.reserve(SIZE);
  }

  /** A topic of 32 bytes. */
  topic32(value: Bytes32): void {
    copy32(this.topic(), changetype<usize>(value));
  }

  /** A topic that is an integer: 32 bytes big-endian, negative ones in two's complement. */
  topicInteger(value: u64, negative: bool): void {
    const at = this.topic();
    const fill: u64 = negative ? -1 : 0;
    store<u64>(at, fill);
    store<u64>(at, fill, 8);
    store<u64>(at, fill, 16);
    store<u64>(at, bswap<u64>(value), 24);
  }

  /** A topic that is an integer of 128 bits. */
  topicWide(lo: u64, hi: u64, negative: bool): void {
    const at = this.topic();
    const fill: u64 = negative ? -1 : 0;
    store<u64>(at, fill);
    store<u64>(at, fill, 8);
    store<u64>(at, bswap<u64>(hi), 16);
    store<u64>(at, bswap<u64>(lo), 24);
  }

  private topic(): usize {
    return TOPICS + 32 * this.topics++;
  }

  /** Emits it. */
  send(name: usize, length: u32): void {
    limit("event", this.length, MAX_DATA);
    host.emit(name, length, TOPICS, this.topics, this.start, this.length);
  }
}

/** Emits an event: an instance of a class with the decorator @event. */
export function emit<T>(event: T): void {
  // @ts-ignore: added by @event
  event.__emit();
}
