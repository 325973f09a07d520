import * as host from "./host";
import { copy } from "./memory";
import { Bytes32 } from "./types";
import { U128 } from "./u128";
import { Writer } from "./writer";

const TOPICS = memory.data(96);

/** An event in the making: its data, a JSON object, and its topics. */
export class EventWriter extends Writer {
  private topics: u32 = 0;

  constructor() {
    super();
    this.numbers = true; // as NEP-20 wants amounts in events
  }

  /** A topic of 32 bytes. */
  topic32(value: Bytes32): void {
    copy(this.topic(), changetype<usize>(value), 32);
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
  topicWide(value: U128): void {
    const at = this.topic();
    store<u64>(at, 0);
    store<u64>(at, 0, 8);
    store<u64>(at, bswap<u64>(value.hi), 16);
    store<u64>(at, bswap<u64>(value.lo), 24);
  }

  private topic(): usize {
    return TOPICS + 32 * this.topics++;
  }

  /** Emits it. */
  send(name: usize, length: u32): void {
    host.emit(name, length, TOPICS, this.topics, this.start, this.length);
  }
}

/** Emits an event: an instance of a class with the decorator @event. */
export function emit<T>(event: T): void {
  // @ts-ignore: what @event adds
  event.__emit();
}
