import * as host from "./host";
import { copy } from "./memory";
import { require, revert } from "./revert";
import { decodeText } from "./text";
import { Account, Bytes, Bytes32, Hash } from "./types";
import { U128 } from "./u128";
import { Writer } from "./writer";

/** The protocol's limits, in bytes. */
const MAX_KEY: u32 = 256;
const MAX_VALUE: u32 = 16384;

/** Where keys are put together, and where values are read to. */
const KEY = memory.data(256);
const VALUE = memory.data(16384);

/** Fields of a record, read one after the other. */
export class Fields {
  constructor(
    private at: usize,
    private readonly end: usize,
  ) {}

  /** The next so many bytes. */
  take(length: u32): usize {
    const at = this.at;
    require(this.end - at >= length, "a stored value is of another type");
    this.at = at + length;
    return at;
  }

  /** A field: integers little-endian, 32 bytes as they are, else the length as a u32 and the bytes. */
  read<T>(): T {
    if (isInteger<T>()) return load<T>(this.take(sizeof<T>()));
    // @ts-ignore: a constant
    if (idof<T>() == idof<Account>() || idof<T>() == idof<Hash>()) return decode<T>(this.take(32), 32);
    const length = load<u32>(this.take(4));
    return decode<T>(this.take(length), length);
  }
}

/** Writes a field as [[Fields]] reads it. */
export function writeField<T>(to: Writer, field: T): void {
  if (!isInteger<T>() && !(field instanceof Bytes32)) {
    const at = to.length;
    to.integer<u32>(0);
    encode<T>(to, field);
    store<u32>(to.start + at, to.length - at - 4);
  } else {
    encode<T>(to, field);
  }
}

/** Writes a value as storage holds it. */
export function encode<T>(to: Writer, value: T): void {
  if (isInteger<T>()) {
    // @ts-ignore: an integer
    to.integer<T>(value);
  } else if (isString<T>()) {
    // @ts-ignore: a string
    to.text(value);
  } else if (value instanceof Bytes32) {
    to.raw(changetype<usize>(value), 32);
  } else if (idof<T>() == idof<Bytes>()) {
    // @ts-ignore: bytes
    to.raw(changetype<usize>(value), value.length);
  } else {
    // @ts-ignore: what @record adds
    value.__encode(to);
  }
}

/** Reads a value that [[encode]] wrote. */
export function decode<T>(from: usize, length: u32): T {
  if (isInteger<T>()) {
    require(length == sizeof<T>(), "a stored value is of another type");
    return load<T>(from);
  } else if (isString<T>()) {
    // @ts-ignore: a string
    return decodeText(from, length);
  } else if (idof<T>() == idof<Account>() || idof<T>() == idof<Hash>()) {
    require(length == 32, "a stored value is of another type");
    const value = __new(32, idof<T>());
    copy(value, from, 32);
    return changetype<T>(value);
  } else if (idof<T>() == idof<Bytes>()) {
    const value = __new(length, idof<Bytes>());
    copy(value, from, length);
    return changetype<T>(value);
  } else {
    // @ts-ignore: what @record adds; it does not use `this`
    return changetype<T>(0).__decode(new Fields(from, from + length));
  }
}

/** What stands for an absent value: 0, false, "", no bytes, the zero account. Records have none. */
function zero<T>(): T {
  if (isInteger<T>()) {
    // @ts-ignore: an integer
    return <T>0;
  } else if (isString<T>()) {
    // @ts-ignore: a string
    return "";
  } else if (idof<T>() == idof<Account>() || idof<T>() == idof<Hash>()) {
    return instantiate<T>();
  } else if (idof<T>() == idof<Bytes>()) {
    return changetype<T>(__new(0, idof<Bytes>()));
  } else if (idof<T>() == idof<U128>()) {
    return changetype<T>(U128.from(0));
  } else {
    revert("the record is absent");
    return changetype<T>(0);
  }
}

/** A key in the making. */
class Key {
  private length: u32 = 0;

  /** Begins anew: there is one key at a time. */
  reset(): void {
    this.length = 0;
  }

  /** Appends bytes. */
  raw(from: usize, length: u32): Key {
    require(this.length + length <= MAX_KEY, "too long for storage");
    copy(KEY + this.length, from, length);
    this.length += length;
    return this;
  }

  read<T>(): T {
    const length = host.storage_read(KEY, this.length, VALUE, MAX_VALUE);
    return length < 0 ? zero<T>() : decode<T>(VALUE, length);
  }

  write<T>(value: T): void {
    const bytes = new Writer();
    encode<T>(bytes, value);
    require(bytes.length <= MAX_VALUE, "too long for storage");
    host.storage_write(KEY, this.length, bytes.start, bytes.length);
  }

  exists(): bool {
    return host.storage_read(KEY, this.length, VALUE, 0) >= 0;
  }

  delete(): void {
    host.storage_delete(KEY, this.length);
  }
}

const key = new Key();

/** A name in storage and what begins with it. */
class Named {
  constructor(private readonly name: string) {}

  /** The key that is the name alone. */
  protected root(): Key {
    const bytes = new Writer();
    bytes.text(this.name);
    key.reset();
    return key.raw(bytes.start, bytes.length);
  }

  /** The keys under the name: a byte 0 sets them apart from those of a longer name. */
  protected under(): Key {
    const zero = memory.data<u8>([0]);
    return this.root().raw(zero, 1);
  }
}

/** One stored value. Its key is its name; an absent one reads as zero. */
export class Cell<T> extends Named {
  constructor(name: string) {
    super(name);
  }

  get(): T {
    return this.root().read<T>();
  }

  set(value: T): void {
    this.root().write<T>(value);
  }

  exists(): bool {
    return this.root().exists();
  }

  delete(): void {
    this.root().delete();
  }
}

/** Stored values by key: of integers the bytes big-endian, of strings the UTF-8. An absent value reads as zero. */
export class Map<K, V> extends Named {
  constructor(name: string) {
    super(name);
  }

  get(key: K): V {
    return this.at(key).read<V>();
  }

  set(key: K, value: V): void {
    this.at(key).write<V>(value);
  }

  has(key: K): bool {
    return this.at(key).exists();
  }

  delete(key: K): void {
    this.at(key).delete();
  }

  private at(key: K): Key {
    const bytes = new Writer();
    if (isInteger<K>()) {
      // @ts-ignore: an integer
      bytes.integer<K>(bswap<K>(key));
    } else {
      encode<K>(bytes, key);
    }
    return this.under().raw(bytes.start, bytes.length);
  }
}

/** Stored values by position, from 0 on. The length is under the name. */
export class List<T> extends Named {
  constructor(name: string) {
    super(name);
  }

  get length(): u32 {
    return this.root().read<u32>();
  }

  /** The value at a position; reverts beyond the end. */
  get(index: u32): T {
    return this.within(index).read<T>();
  }

  /** Replaces the value at a position; reverts beyond the end. */
  set(index: u32, value: T): void {
    this.within(index).write<T>(value);
  }

  /** Appends a value and gives its position. */
  push(value: T): u32 {
    const length = this.length;
    this.at(length).write<T>(value);
    this.root().write<u32>(length + 1);
    return length;
  }

  /** Removes the last value and gives it; reverts where there is none. */
  pop(): T {
    const length = this.length;
    require(length > 0, "the list has no such item");
    const last = this.at(length - 1);
    const value = last.read<T>();
    last.delete();
    if (length == 1) this.root().delete();
    else this.root().write<u32>(length - 1);
    return value;
  }

  private within(index: u32): Key {
    require(index < this.length, "the list has no such item");
    return this.at(index);
  }

  private at(index: u32): Key {
    store<u32>(VALUE, bswap<u32>(index));
    return this.under().raw(VALUE, 4);
  }
}
