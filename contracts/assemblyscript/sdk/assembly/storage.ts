import * as host from "./host";
import { I128 } from "./i128";
import { copy, copy32 } from "./memory";
import { limit, require, revert } from "./revert";
import { decodeText } from "./text";
import { Account, Bytes, Bytes32, Hash } from "./types";
import { U128 } from "./u128";
import { Unpacker } from "./unpacker";
import { Writer } from "./writer";

/** The protocol's limits, in bytes. */
const MAX_KEY: u32 = 256;
const MAX_VALUE: u32 = 16384;

/** The buffers for keys and for values. */
const KEY = memory.data(256);
const VALUE = memory.data(16384);

const OTHER_TYPE = "a stored value is of another type";

/** Reads the fields of a record in order. */
export class Fields {
  constructor(
    private at: usize,
    private readonly end: usize,
  ) {}

  /** The remaining bytes, to be read in the binary form. */
  unpacker(): Unpacker {
    return new Unpacker(this.at, <u32>(this.end - this.at), OTHER_TYPE);
  }

  /** The next bytes, in the given number. */
  take(length: u32): usize {
    const at = this.at;
    require(this.end - at >= length, OTHER_TYPE);
    this.at = at + length;
    return at;
  }

  /**
   * Reads a field: integers are little-endian, 32 bytes have no length, and other bytes follow their length as a u32.
   */
  read<T>(): T {
    if (isInteger<T>()) return load<T>(this.take(sizeof<T>()));
    // @ts-ignore: a constant
    if (idof<T>() == idof<Account>() || idof<T>() == idof<Hash>()) return decode<T>(this.take(32), 32);
    const length = load<u32>(this.take(4));
    return decode<T>(this.take(length), length);
  }
}

/** Writes a field in the form that [[Fields]] reads. */
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

/** Writes a value in the form that storage holds. */
export function encode<T>(to: Writer, value: T): void {
  if (isInteger<T>()) {
    // @ts-ignore: an integer
    to.integer<T>(value);
  } else if (isString<T>()) {
    // @ts-ignore: a string
    to.text(value);
  } else if (value instanceof Bytes32) {
    copy32(to.extend(32), changetype<usize>(value));
  } else if (idof<T>() == idof<Bytes>()) {
    // @ts-ignore: bytes
    to.raw(changetype<usize>(value), value.length);
  } else {
    // @ts-ignore: added by @record
    value.__encode(to);
  }
}

/** Reads a value written by [[encode]]. */
export function decode<T>(from: usize, length: u32): T {
  if (isInteger<T>()) {
    require(length == sizeof<T>(), OTHER_TYPE);
    return load<T>(from);
  } else if (isString<T>()) {
    // @ts-ignore: a string
    return decodeText(from, length);
  } else if (idof<T>() == idof<Account>() || idof<T>() == idof<Hash>()) {
    require(length == 32, OTHER_TYPE);
    const value = __new(32, idof<T>());
    copy32(value, from);
    return changetype<T>(value);
  } else if (idof<T>() == idof<Bytes>()) {
    const value = __new(length, idof<Bytes>());
    copy(value, from, length);
    return changetype<T>(value);
  } else {
    // @ts-ignore: added by @record; it does not use `this`
    return changetype<T>(0).__decode(new Fields(from, from + length));
  }
}

/** The default for an absent value: 0, false, "", no bytes, the zero account. Records have none. */
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
  } else if (idof<T>() == idof<I128>()) {
    return changetype<T>(I128.from(0));
  } else {
    revert("the record is absent");
    return changetype<T>(0);
  }
}

/** Reads the value under a key. */
function readValue<T>(key: usize, length: u32): T {
  const size = host.storage_read(key, length, VALUE, MAX_VALUE);
  return size < 0 ? zero<T>() : decode<T>(VALUE, size);
}

/** Writes a value under a key. */
function writeValue<T>(key: usize, length: u32, value: T): void {
  if (isInteger<T>()) {
    store<T>(VALUE, value);
    host.storage_write(key, length, VALUE, sizeof<T>());
  } else if (value instanceof Bytes32) {
    host.storage_write(key, length, changetype<usize>(value), 32);
  } else {
    const bytes = new Writer();
    encode<T>(bytes, value);
    limit("storage value", bytes.length, MAX_VALUE);
    host.storage_write(key, length, bytes.start, bytes.length);
  }
}

function exists(key: usize, length: u32): bool {
  return host.storage_read(key, length, VALUE, 0) >= 0;
}

// A cell, a map or a list consists of its name only: at the object's address are the length in a byte, the name, and a
// byte 0. So a top-level declaration costs nothing at the start of a call.

/** The address of the key that is only the name. */
function nameOf(object: usize): usize {
  return object + 1;
}

function nameLength(object: usize): u32 {
  return load<u8>(object);
}

/**
 * Begins a key under a name, in KEY, and returns its length. A byte 0 after the name separates it from longer names.
 */
function begin(object: usize): u32 {
  const length = nameLength(object) + 1;
  copy(KEY, nameOf(object), length);
  return length;
}

/**
 * Converts the name of a cell, map or list created in a function to its form in memory: a length, the name, and a byte
 * 0.
 */
function named(name: string): usize {
  const bytes = new Writer();
  bytes.byte(0);
  bytes.text(name);
  const length = bytes.length - 1;
  limit("storage name", length, MAX_KEY - 1);
  for (let i: u32 = 1; i <= length; i++) require(load<u8>(bytes.start + i) != 0, "a name in storage has no byte 0");
  bytes.byte(0);
  store<u8>(bytes.start, length);
  return bytes.start;
}

/** One stored value. Its key is its name; an absent one reads as zero. */
// @ts-ignore: decorator
@final
export class Cell<T> {
  constructor(name: string) {
    return changetype<Cell<T>>(named(name));
  }

  get(): T {
    return readValue<T>(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)));
  }

  set(value: T): void {
    writeValue<T>(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)), value);
  }

  exists(): bool {
    return exists(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)));
  }

  delete(): void {
    host.storage_delete(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)));
  }
}

/** Stored values by key. Integer keys are stored big-endian, string keys as UTF-8. An absent value reads as zero. */
// @ts-ignore: decorator
@final
export class Map<K, V> {
  constructor(name: string) {
    return changetype<Map<K, V>>(named(name));
  }

  get(key: K): V {
    return readValue<V>(KEY, this.at(key));
  }

  set(key: K, value: V): void {
    writeValue<V>(KEY, this.at(key), value);
  }

  has(key: K): bool {
    return exists(KEY, this.at(key));
  }

  delete(key: K): void {
    host.storage_delete(KEY, this.at(key));
  }

  /** Builds the key in KEY and returns its length. */
  private at(key: K): u32 {
    const start = begin(changetype<usize>(this));
    if (isInteger<K>()) {
      limit("storage key", start + sizeof<K>(), MAX_KEY);
      store<K>(KEY + start, bswap<K>(key));
      return start + sizeof<K>();
    } else if (key instanceof Bytes32) {
      limit("storage key", start + 32, MAX_KEY);
      copy32(KEY + start, changetype<usize>(key));
      return start + 32;
    } else {
      const bytes = new Writer();
      encode<K>(bytes, key);
      const length = start + bytes.length;
      limit("storage key", length, MAX_KEY);
      copy(KEY + start, bytes.start, bytes.length);
      return length;
    }
  }
}

/** Stored values by position, from 0 on. The name is the key of the length. */
// @ts-ignore: decorator
@final
export class List<T> {
  constructor(name: string) {
    return changetype<List<T>>(named(name));
  }

  get length(): u32 {
    return readValue<u32>(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)));
  }

  /** The value at a position; reverts beyond the end. */
  get(index: u32): T {
    return readValue<T>(KEY, this.within(index));
  }

  /** Replaces the value at a position; reverts beyond the end. */
  set(index: u32, value: T): void {
    writeValue<T>(KEY, this.within(index), value);
  }

  /** Appends a value and returns its position. */
  push(value: T): u32 {
    const length = this.length;
    writeValue<T>(KEY, this.at(length), value);
    writeValue<u32>(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)), length + 1);
    return length;
  }

  /** Removes and returns the last value; reverts if there is none. */
  pop(): T {
    const length = this.length;
    require(length > 0, "the list has no such item");
    const key = this.at(length - 1);
    const value = readValue<T>(KEY, key);
    host.storage_delete(KEY, key);
    if (length == 1) host.storage_delete(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)));
    else writeValue<u32>(nameOf(changetype<usize>(this)), nameLength(changetype<usize>(this)), length - 1);
    return value;
  }

  private within(index: u32): u32 {
    require(index < this.length, "the list has no such item");
    return this.at(index);
  }

  /** Builds the key in KEY and returns its length. */
  private at(index: u32): u32 {
    const start = begin(changetype<usize>(this));
    limit("storage key", start + 4, MAX_KEY);
    store<u32>(KEY + start, bswap<u32>(index));
    return start + 4;
  }
}
