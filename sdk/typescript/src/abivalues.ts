// Values of ABI types, in JSON and in the binary form (docs/protocol.md, "ABI").
import type { AbiForm, AbiType, Parameter } from "./abi.js";
import { CodecError, type Reader, type Writer } from "./codec.js";
import { CairnError } from "./errors.js";
import { fromHex, toHex } from "./hex.js";

/** AbiError: a value does not have its ABI type. */
export class AbiError extends CairnError {
  override name = "AbiError";
}

/** The structure of a type. */
export type Shape =
  | { kind: "base"; name: string }
  | { kind: "fixed"; size: number }
  | { kind: "list" | "optional"; of: string }
  | { kind: "tuple"; items: string[] }
  | { kind: "named"; type: AbiType };

/**
 * shapeOf returns the structure of an ABI type, such as for an input form. It throws an AbiError for an invalid type.
 */
export function shapeOf(abi: AbiForm, type: string): Shape {
  if (type.endsWith("?")) return { kind: "optional", of: type.slice(0, -1) };
  if (type.endsWith("[]")) return { kind: "list", of: type.slice(0, -2) };
  if (type.startsWith("(") && type.endsWith(")")) return { kind: "tuple", items: split(type.slice(1, -1)) };
  if (Object.hasOwn(bounds, type) || ["bool", "string", "bytes", "account", "hash"].includes(type)) return { kind: "base", name: type };
  const size = /^bytes([1-9]\d{0,2})$/.exec(type);
  if (size && Number(size[1]) <= 256) return { kind: "fixed", size: Number(size[1]) };
  const named = abi.types?.find((t) => t.name === type);
  if (!named) throw new AbiError(`there is no type ${type}`);
  return { kind: "named", type: named };
}

/** split splits text at the commas outside of brackets. */
function split(list: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < list.length; i++) {
    if (list[i] === "(") depth++;
    if (list[i] === ")") depth--;
    if (list[i] === "," && depth === 0) {
      items.push(list.slice(from, i));
      from = i + 1;
    }
  }
  return [...items, list.slice(from)];
}

const integers = ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128"];
export const bits = (type: string): number => Number(type.slice(1));
export const isInteger = (type: string): boolean => Object.hasOwn(bounds, type);
const isWide = (type: string): boolean => bits(type) > 32;
const bounds: Record<string, [bigint, bigint]> = Object.fromEntries(integers.map((type) => {
  const size = BigInt(bits(type));
  return [type, type[0] === "u" ? [0n, (1n << size) - 1n] : [-(1n << (size - 1n)), (1n << (size - 1n)) - 1n]];
}));

/** Converter checks values against types and converts TypeScript values to JSON (in), or back (out). */
export class Converter {
  constructor(
    readonly abi: AbiForm,
    readonly way: "in" | "out",
  ) {}

  fields(parameters: readonly Parameter[], value: unknown, at?: string): Record<string, unknown> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new AbiError(`${at ?? "arguments"} is no object`);
    const given = value as Record<string, unknown>;
    for (const name of Object.keys(given)) {
      if (!parameters.some((p) => p.name === name)) throw new AbiError(`there is no argument ${name}`);
    }
    return Object.fromEntries(parameters.map((p) => {
      return [p.name, this.value(p.type, Object.hasOwn(given, p.name) ? given[p.name] : undefined, p.name)];
    }));
  }

  value(type: string, value: unknown, at: string): unknown {
    const shape = shapeOf(this.abi, type);
    switch (shape.kind) {
      case "optional":
        return value === undefined || value === null ? null : this.value(shape.of, value, at);
      case "list":
        if (!Array.isArray(value)) throw new AbiError(`${at} is no array`);
        return value.map((item, i) => this.value(shape.of, item, `${at}[${i}]`));
      case "tuple":
        if (!Array.isArray(value) || value.length !== shape.items.length) throw new AbiError(`${at} is not of the type ${type}`);
        return shape.items.map((of, i) => this.value(of, value[i], `${at}[${i}]`));
      case "fixed":
        return this.bytes(type, value, at, shape.size);
      case "named":
        return shape.type.kind === "record" ? this.fields(shape.type.fields ?? [], value, at) : this.variant(shape.type, value, at);
      default:
        return this.base(shape.name, value, at);
    }
  }

  private variant(type: AbiType, value: unknown, at: string): unknown {
    const name = typeof value === "string" ? value : Object.keys((value ?? {}) as object)[0];
    const variant = type.variants?.find((v) => v.name === name);
    const bare = !variant?.fields?.length;
    if (!variant || bare !== (typeof value === "string")) throw new AbiError(`${at} is not of the type ${type.name}`);
    if (bare) return variant.name;
    if (Object.keys(value as object).length !== 1) throw new AbiError(`${at} is not of the type ${type.name}`);
    return { [variant.name]: this.fields(variant.fields ?? [], (value as Record<string, unknown>)[variant.name], at) };
  }

  private bytes(type: string, value: unknown, at: string, size?: number): unknown {
    const good = this.way === "in" ? value instanceof Uint8Array : typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value);
    const bytes = !good ? undefined : this.way === "in" ? (value as Uint8Array) : fromHex(value as string);
    if (!bytes || (size !== undefined && bytes.length !== size)) throw new AbiError(`${at} is not of the type ${type}`);
    return this.way === "in" ? toHex(bytes) : bytes;
  }

  private base(type: string, value: unknown, at: string): unknown {
    if (type === "bytes") return this.bytes(type, value, at);
    if (type === "bool" && typeof value === "boolean") return value;
    if (type === "string" && typeof value === "string" && !/\p{Cs}/u.test(value)) return value;
    if (type === "account" || type === "hash") {
      const text = this.way === "out" && typeof value === "string" ? value.toLowerCase() : value;
      if (typeof text === "string" && /^0x[0-9a-f]{64}$/.test(text)) return text;
    }
    const bound = bounds[type];
    const integer = bound && this.integer(value);
    if (!bound || integer === undefined || integer < bound[0] || integer > bound[1]) throw new AbiError(`${at} is not of the type ${type}`);
    if (this.way === "in" && isWide(type)) return integer.toString();
    return isWide(type) ? integer : Number(integer);
  }

  private integer(value: unknown): bigint | undefined {
    if (typeof value === "bigint") return value;
    if (typeof value === "number" && Number.isSafeInteger(value)) return Object.is(value, -0) ? undefined : BigInt(value);
    return this.way === "out" && typeof value === "string" && /^(0|-?[1-9]\d{0,38})$/.test(value) ? BigInt(value) : undefined;
  }
}

/** pack appends the binary form of an object in canonical JSON. */
export function pack(abi: AbiForm, parameters: readonly Parameter[], object: Record<string, unknown>, to: Writer): void {
  for (const p of parameters) packValue(abi, p.type, object[p.name], to);
}

function packValue(abi: AbiForm, type: string, value: unknown, to: Writer): void {
  const shape = shapeOf(abi, type);
  switch (shape.kind) {
    case "optional":
      to.u8(value === null ? 0 : 1);
      if (value !== null) packValue(abi, shape.of, value, to);
      return;
    case "list":
      to.u64(BigInt((value as unknown[]).length));
      for (const item of value as unknown[]) packValue(abi, shape.of, item, to);
      return;
    case "tuple":
      return shape.items.forEach((of, i) => packValue(abi, of, (value as unknown[])[i], to));
    case "fixed":
      to.fixed(fromHex(value as string), shape.size);
      return;
    case "named":
      return packNamed(abi, shape.type, value, to);
    default:
      packBase(shape.name, value, to);
  }
}

function packNamed(abi: AbiForm, type: AbiType, value: unknown, to: Writer): void {
  if (type.kind === "record") return pack(abi, type.fields ?? [], value as Record<string, unknown>, to);
  const name = typeof value === "string" ? value : Object.keys(value as object)[0];
  const position = type.variants!.findIndex((v) => v.name === name);
  to.u32(position);
  if (typeof value !== "string") pack(abi, type.variants![position]!.fields ?? [], (value as Record<string, Record<string, unknown>>)[name!]!, to);
}

function packBase(type: string, value: unknown, to: Writer): void {
  if (type === "bool") to.u8(value ? 1 : 0);
  else if (type === "string") to.string(value as string);
  else if (type === "bytes") to.bytes(fromHex(value as string));
  else if (type === "account" || type === "hash") to.fixed(fromHex(value as string), 32);
  else {
    let rest = BigInt.asUintN(bits(type), BigInt(value as string | number));
    for (let i = 0; i < bits(type); i += 8, rest >>= 8n) to.u8(Number(rest & 0xffn));
  }
}

/** unpack reads the binary form as an object in JSON. */
export function unpack(abi: AbiForm, parameters: readonly Parameter[], from: Reader): Record<string, unknown> {
  return Object.fromEntries(parameters.map((p) => [p.name, unpackValue(abi, p.type, from)]));
}

export function unpackValue(abi: AbiForm, type: string, from: Reader): unknown {
  const shape = shapeOf(abi, type);
  switch (shape.kind) {
    case "optional":
      return flag(from) ? unpackValue(abi, shape.of, from) : null;
    case "list":
      return Array.from({ length: from.count(from.left) }, () => unpackValue(abi, shape.of, from));
    case "tuple":
      return shape.items.map((of) => unpackValue(abi, of, from));
    case "fixed":
      return toHex(from.fixed(shape.size));
    case "named":
      return unpackNamed(abi, shape.type, from);
    default:
      return unpackBase(shape.name, from);
  }
}

function unpackNamed(abi: AbiForm, type: AbiType, from: Reader): unknown {
  if (type.kind === "record") return unpack(abi, type.fields ?? [], from);
  const variant = type.variants?.[from.u32()];
  if (!variant) throw new CodecError(`there is no such variant of ${type.name}`);
  return variant.fields?.length ? { [variant.name]: unpack(abi, variant.fields, from) } : variant.name;
}

function unpackBase(type: string, from: Reader): unknown {
  if (type === "bool") return flag(from);
  if (type === "string") return from.string(from.left);
  if (type === "bytes") return toHex(from.bytes(from.left));
  if (type === "account" || type === "hash") return toHex(from.fixed(32));
  const bytes = from.fixed(bits(type) / 8);
  const magnitude = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return type[0] === "i" ? BigInt.asIntN(bits(type), magnitude) : magnitude;
}

export function flag(from: Reader): boolean {
  const byte = from.u8();
  if (byte > 1) throw new CodecError("a flag is neither 0 nor 1");
  return byte === 1;
}
