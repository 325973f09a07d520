import { CairnError } from "./errors.js";
import { concat } from "./hex.js";
import { MAX_U64 } from "./amounts.js";

/** CodecError: bytes are not the canonical encoding of the expected type, or a value has no encoding. */
export class CodecError extends CairnError {
  override name = "CodecError";
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** encode returns the bytes that a function writes. */
export function encode(write: (w: Writer) => unknown): Uint8Array {
  const w = new Writer();
  write(w);
  return w.done();
}

/** decode reads a whole input of at most limit bytes; no bytes may remain. It throws a {@link CodecError}. */
export function decode<T>(bytes: Uint8Array, limit: number, read: (r: Reader) => T): T {
  if (bytes.length > limit) throw new CodecError(`${bytes.length} bytes exceed the limit of ${limit}`);
  const r = new Reader(bytes);
  const value = read(r);
  r.end();
  return value;
}

/** Writer writes the canonical encoding (docs/protocol.md, "Encoding"). */
export class Writer {
  #parts: Uint8Array[] = [];

  u8(value: number): this {
    return this.#integer(BigInt(value), 1);
  }
  u16(value: number): this {
    return this.#integer(BigInt(value), 2);
  }
  u32(value: number): this {
    return this.#integer(BigInt(value), 4);
  }
  u64(value: bigint): this {
    return this.#integer(value, 8);
  }
  /** fixed writes bytes without their length, which the reader knows. */
  fixed(bytes: Uint8Array, length: number): this {
    if (bytes.length !== length) throw new CodecError(`${length} bytes expected, not ${bytes.length}`);
    this.#parts.push(bytes);
    return this;
  }
  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }
  /** option writes whether there is a value, and then the value. */
  option<T>(value: T | null | undefined, write: (w: this, value: T) => unknown): this {
    if (value === null || value === undefined) return this.u8(0);
    write(this.u8(1), value);
    return this;
  }
  /** list writes the number of items and the items. */
  list<T>(items: readonly T[], write: (w: this, item: T) => unknown): this {
    this.u64(BigInt(items.length));
    for (const item of items) write(this, item);
    return this;
  }
  /** bytes writes a length and the bytes. */
  bytes(bytes: Uint8Array): this {
    this.u64(BigInt(bytes.length));
    this.#parts.push(bytes);
    return this;
  }
  /** string writes a length in bytes and UTF-8. A text with an unpaired surrogate has no encoding. */
  string(text: string): this {
    const bytes = new TextEncoder().encode(text);
    if (utf8.decode(bytes) !== text) throw new CodecError("the text has an unpaired surrogate");
    return this.bytes(bytes);
  }
  done(): Uint8Array {
    return concat(...this.#parts);
  }

  #integer(value: bigint, size: number): this {
    if (typeof value !== "bigint") throw new CodecError(`an amount must be a bigint, such as 5n, not ${typeof value}: ${value}`);
    if (value < 0n || value > MAX_U64 >> BigInt(64 - 8 * size)) throw new CodecError(`${value} does not fit in ${size} bytes`);
    const bytes = new Uint8Array(size);
    for (let i = 0; i < size; i++) bytes[i] = Number((value >> BigInt(8 * i)) & 0xffn);
    this.#parts.push(bytes);
    return this;
  }
}

/** Reader strictly reads the encoding that {@link Writer} writes, and throws a {@link CodecError} for anything else. */
export class Reader {
  #at = 0;
  readonly #view: DataView;
  constructor(readonly source: Uint8Array) {
    this.#view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  }

  get offset(): number {
    return this.#at;
  }
  /** left is the number of remaining bytes. */
  get left(): number {
    return this.source.length - this.#at;
  }
  u8(): number {
    return this.#view.getUint8(this.#advance(1));
  }
  u16(): number {
    return this.#view.getUint16(this.#advance(2), true);
  }
  u32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }
  u64(): bigint {
    return this.#view.getBigUint64(this.#advance(8), true);
  }
  /** bool reads a byte that must be 0 or 1. */
  bool(): boolean {
    const byte = this.u8();
    if (byte > 1) throw new CodecError(`a byte of ${byte} where 0 or 1 is expected`);
    return byte === 1;
  }
  option<T>(read: (r: this) => T): T | null {
    return this.bool() ? read(this) : null;
  }
  /** list reads at most limit items. */
  list<T>(limit: number, read: (r: this) => T): T[] {
    return Array.from({ length: this.count(limit) }, () => read(this));
  }
  fixed(length: number): Uint8Array {
    const at = this.#advance(length);
    return new Uint8Array(this.source.subarray(at, at + length)); // a Buffer's slice would share its memory
  }
  /**
   * count reads a number of elements, at most limit, and checks it against the remaining bytes before anything is
   * allocated.
   */
  count(limit: number): number {
    const length = this.u64();
    if (length > BigInt(limit)) throw new CodecError(`a length of ${length} exceeds the limit of ${limit}`);
    return Number(length);
  }
  bytes(limit: number): Uint8Array {
    return this.fixed(this.count(limit));
  }
  string(limit: number): string {
    const bytes = this.bytes(limit);
    try {
      return utf8.decode(bytes);
    } catch {
      throw new CodecError("a text is not UTF-8");
    }
  }
  /** end throws if bytes remain. */
  end(): void {
    if (this.#at !== this.source.length) throw new CodecError(`${this.source.length - this.#at} bytes are left over`);
  }

  #advance(length: number): number {
    const at = this.#at;
    if (length > this.source.length - at) throw new CodecError("the bytes end early");
    this.#at += length;
    return at;
  }
}

