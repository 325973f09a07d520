import type { Abi, AbiCell, AbiForm } from "./abi.js";
import { AbiError, Converter, bits, flag, isInteger, shapeOf, unpackValue } from "./abivalues.js";
import { Reader } from "./codec.js";
import { equalBytes, fromHex, toHex, type Hex } from "./hex.js";

/** Slot is the meaning of a key in a contract's storage. */
export interface Slot {
  readonly cell: AbiCell;
  /** a map's key or a list's index; undefined for a cell, and for a list's length */
  readonly key?: unknown;
  /** the type of the stored value */
  readonly value: string;
}

type Described = AbiForm & Pick<Abi, "storage">;

/** The protocol's limits for storage, in bytes. */
const MAX_KEY = 256;
const MAX_VALUE = 16 << 10;
/** nesting depth of types */
const MAX_DEPTH = 16;

/**
 * storageSlot reads a key of a contract's storage by its ABI (docs/protocol.md, "Storage in the ABI"); undefined if the
 * ABI does not describe it. It never throws, whatever the contract's ABI and the key contain.
 */
export function storageSlot(abi: Described, key: Hex): Slot | undefined {
  const bytes = bytesOf(key, MAX_KEY);
  const parts = bytes && cut(abi.storage?.encoding, bytes);
  const cell = parts && cellOf(abi, parts.name);
  if (!parts || !cell) return undefined;
  const { rest } = parts;
  if (!rest) return cell.kind === "map" ? undefined : { cell, value: cell.kind === "list" ? "u32" : cell.value };
  if (cell.kind === "list" && rest.length === 4) {
    const index = new DataView(rest.buffer, rest.byteOffset).getUint32(0, abi.storage!.encoding === "prefixed");
    return { cell, key: index, value: cell.value };
  }
  if (cell.kind !== "map") return undefined;
  try {
    return { cell, key: decode(abi, cell.key!, rest, true), value: cell.value };
  } catch (error) {
    if (error instanceof AbiError) return undefined;
    throw error;
  }
}

/**
 * decodeStored reads a value of a type in the form of a contract's storage. It throws an AbiError if the value has
 * another type.
 */
export function decodeStored(abi: Described, type: string, data: Hex): unknown {
  const bytes = bytesOf(data, MAX_VALUE);
  if (!bytes) throw new AbiError(`what is stored is no hex of at most ${MAX_VALUE} bytes`);
  return decode(abi, type, bytes);
}

/** storageKey returns the storage key of a cell, or of a list's length. */
export function storageKey(abi: Described, cell: AbiCell): Hex {
  const name = new TextEncoder().encode(cell.name);
  return toHex(abi.storage?.encoding === "bare" ? name : Uint8Array.of(name.length, ...name));
}

function bytesOf(hex: string, most: number): Uint8Array | undefined {
  return hex.length <= 2 + 2 * most && /^0x(?:[0-9a-fA-F]{2})*$/.test(hex) ? fromHex(hex) : undefined;
}

/** cut divides a key into a name and the part after it; undefined for an unknown encoding. */
function cut(encoding: string | undefined, key: Uint8Array): { name: Uint8Array; rest: Uint8Array | undefined } | undefined {
  if (encoding === "bare") {
    const end = key.indexOf(0);
    return end < 0 ? { name: key, rest: undefined } : { name: key.subarray(0, end), rest: key.subarray(end + 1) };
  }
  const end = 1 + (key[0] ?? key.length); // undefined for an empty key
  if (encoding !== "prefixed" || end > key.length) return undefined;
  return { name: key.subarray(1, end), rest: end === key.length ? undefined : key.subarray(end) };
}

function cellOf(abi: Described, name: Uint8Array): AbiCell | undefined {
  const cells: unknown = abi.storage?.cells;
  const is = (cell: AbiCell | null): boolean => {
    const typed = typeof cell?.value === "string" && (cell.kind === "map" ? typeof cell.key === "string" : cell.key === undefined);
    return typed && ["cell", "map", "list"].includes(cell.kind) && typeof cell.name === "string" && cell.name !== "";
  };
  if (!Array.isArray(cells)) return undefined;
  return (cells as AbiCell[]).find((cell) => is(cell) && equalBytes(new TextEncoder().encode(cell.name), name));
}

/** decode reads all of bytes as one value, or as the key of a map. */
function decode(abi: Described, type: string, bytes: Uint8Array, isKey = false): unknown {
  const encoding = abi.storage?.encoding;
  if (encoding !== "bare" && encoding !== "prefixed") throw new AbiError("the ABI describes no storage");
  try {
    depthOf(abi, type, new Map(), 1);
    const value = encoding === "bare" ? bare(abi, type, isKey ? bareKey(abi, type, bytes) : bytes) : whole(bytes, (from) => prefixed(abi, type, from));
    return new Converter(abi, "out").value(type, value, "what is stored");
  } catch (error) {
    if (error instanceof AbiError) throw error;
    throw new AbiError(`what is stored is not of the type ${type}`, { cause: error });
  }
}

function whole(bytes: Uint8Array, read: (from: Reader) => unknown): unknown {
  const from = new Reader(bytes);
  const value = read(from);
  from.end();
  return value;
}

/** bareKey converts the part of a key after a map's name to the form of a value: integers in keys are big-endian. */
function bareKey(abi: Described, type: string, key: Uint8Array): Uint8Array {
  const shape = shapeOf(abi, type);
  if (shape.kind === "named" && shape.type.kind === "enum") throw new AbiError("an enum is no key");
  return isInteger(type) && bits(type) <= 64 ? key.slice().reverse() : key;
}

/**
 * bare reads a value without a length before it. A string or bytes spans all of the data; other types are in the binary
 * form.
 */
function bare(abi: Described, type: string, bytes: Uint8Array): unknown {
  const { kind } = shapeOf(abi, type);
  if (kind === "list" || kind === "optional") throw new AbiError(`storage holds no ${type}`);
  if (type === "bytes") return toHex(bytes);
  if (type === "string") return utf8(bytes);
  return whole(bytes, (from) => unpackValue(abi, type, from));
}

/**
 * prefixed reads a value in which strings and bytes have their length, as u16, before them. The contract's own types
 * are in the binary form.
 */
function prefixed(abi: Described, type: string, from: Reader): unknown {
  const shape = shapeOf(abi, type);
  switch (shape.kind) {
    case "list":
      throw new AbiError(`storage holds no ${type}`);
    case "optional":
      return flag(from) ? prefixed(abi, shape.of, from) : null;
    case "tuple":
      return shape.items.map((item) => prefixed(abi, item, from));
  }
  if (type === "bytes") return toHex(from.fixed(from.u16()));
  if (type === "string") return utf8(from.fixed(from.u16()));
  return unpackValue(abi, type, from);
}

const utf8 = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/**
 * depthOf returns the nesting depth of a type. It throws if that is too large, or if a type contains itself or nothing,
 * because the number of bytes does not limit such types.
 */
function depthOf(abi: AbiForm, type: string, known: Map<string, number>, level: number): number {
  if (level > MAX_DEPTH) throw new AbiError(`a type nests deeper than ${MAX_DEPTH}`);
  const shape = shapeOf(abi, type);
  let items: string[] = [];
  if (shape.kind === "list" || shape.kind === "optional") items = [shape.of];
  if (shape.kind === "tuple") items = shape.items;
  if (shape.kind === "named") {
    const seen = known.get(type);
    if (seen !== undefined && seen > 0) return seen;
    const { kind, fields = [], variants = [] } = shape.type;
    if (seen === 0 || (kind === "record" ? fields : variants).length === 0) throw new AbiError(`the type ${type} contains itself, or nothing`);
    known.set(type, 0);
    items = [...(kind === "record" ? fields : variants.flatMap((v) => v.fields ?? []))].map((field) => field.type);
  }
  const depth = 1 + Math.max(0, ...items.map((item) => depthOf(abi, item, known, level + 1)));
  if (level + depth > MAX_DEPTH + 1) throw new AbiError(`a type nests deeper than ${MAX_DEPTH}`);
  if (shape.kind === "named") known.set(type, depth);
  return depth;
}
