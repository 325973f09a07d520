import { CodecError, Reader, Writer } from "./codec.js";
import { CairnError } from "./errors.js";
import { fromHex, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { parseJSON } from "./json.js";

/** An ABI as a constant: what svc_getContractAbi gives, written with `as const` (docs/protocol.md, "ABI"). */
export interface Abi extends AbiForm {
  readonly abi?: number;
  readonly functions: readonly AbiFunction[];
  readonly events: readonly { readonly name: string; readonly args: readonly Parameter[] }[];
  readonly errors?: readonly { readonly name: string; readonly code: number; readonly fields?: readonly Parameter[] }[];
}
/** What of an ABI says how values are written. */
export interface AbiForm {
  /** whether the contract takes the binary form, in which arguments are sent then */
  readonly binary?: boolean;
  readonly types?: readonly AbiType[];
}
/** A record or an enum. */
export interface AbiType {
  readonly name: string;
  readonly kind: "record" | "enum";
  readonly fields?: readonly Parameter[];
  readonly variants?: readonly { readonly name: string; readonly fields?: readonly Parameter[] }[];
}
export interface AbiFunction {
  readonly name: string;
  readonly mode: "read" | "write" | "init";
  readonly payable?: boolean;
  readonly args: readonly Parameter[];
  readonly returns?: string;
}
export interface Parameter {
  readonly name: string;
  readonly type: string;
}

interface Values {
  bool: boolean;
  u8: number;
  u16: number;
  u32: number;
  u64: bigint;
  u128: bigint;
  i8: number;
  i16: number;
  i32: number;
  i64: bigint;
  i128: bigint;
  string: string;
  bytes: Uint8Array;
  account: Account;
  hash: Hash;
}

type Types = readonly AbiType[];

/** ValueOf is the TypeScript type of a type of the ABI: ValueOf<"u64?[]"> is (bigint | null)[]. N are the named types. */
export type ValueOf<T extends string, N extends Types = []> = T extends `${infer Item}[]` ? ValueOf<Item, N>[]
  : T extends `${infer Item}?` ? ValueOf<Item, N> | null
  : T extends keyof Values ? Values[T]
  : T extends `bytes${number}` ? Uint8Array
  : T extends `(${infer Items})` ? (Items extends `${string}(${string}` ? unknown[] : TupleOf<Items, N>)
  : Extract<N[number], { name: T }> extends infer D ? NamedOf<D, N> : never;
type TupleOf<T extends string, N extends Types> = T extends `${infer First},${infer Rest}`
  ? [ValueOf<First, N>, ...TupleOf<Rest, N>] : [ValueOf<T, N>];
type NamedOf<D, N extends Types> = D extends { kind: "record"; fields: infer F extends readonly Parameter[] } ? ArgsOf<F, N>
  : D extends { kind: "enum"; variants: infer V extends readonly { name: string; fields?: readonly Parameter[] }[] } ? VariantOf<V[number], N>
  : never;
type VariantOf<V, N extends Types> = V extends { name: infer S extends string; fields: infer F extends readonly Parameter[] }
  ? { [K in S]: ArgsOf<F, N> } : V extends { name: infer S } ? S : never;

/** ArgsOf are a function's arguments by name; what may be missing may be left out. */
export type ArgsOf<P extends readonly Parameter[], N extends Types = []> =
  & { [A in P[number] as A["type"] extends `${string}?` ? never : A["name"]]: ValueOf<A["type"], N> }
  & { [A in P[number] as A["type"] extends `${string}?` ? A["name"] : never]?: ValueOf<A["type"], N> };

/** AbiError: a value is not of its type of the ABI. */
export class AbiError extends CairnError {
  override name = "AbiError";
}

/** The first bytes of data that is neither JSON nor text. */
const BINARY = 1;
const PASSED = 2;

/** encodeArguments gives the arguments in hex in the form that the contract takes. It throws an AbiError. */
export function encodeArguments(parameters: readonly Parameter[], args: object = {}, abi: AbiForm = {}): Hex {
  const object = new Converter(abi, "in").fields(parameters, args);
  if (!abi.binary) return parameters.length === 0 ? "0x" : toHex(new TextEncoder().encode(JSON.stringify(object)));
  return packed((to) => pack(abi, parameters, object, to));
}

/** decodeArguments reads arguments, or an event's data, in either form. It throws an AbiError. */
export function decodeArguments(parameters: readonly Parameter[], data: Hex, abi: AbiForm = {}, at = "arguments"): Record<string, unknown> {
  const given = data === "0x" ? {} : read(data, at, (from) => unpack(abi, parameters, from));
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new AbiError(`${at} is no object`);
  // A newer version of a contract may say more of an event than its ABI did.
  const known = Object.entries(given).filter(([name]) => parameters.some((p) => p.name === name));
  return new Converter(abi, "out").fields(parameters, Object.fromEntries(known), at);
}

/** decodeResult reads what a function returned, in either form. It throws an AbiError. */
export function decodeResult(type: string | undefined, data: Hex, abi: AbiForm = {}, at = "result"): unknown {
  if (type === undefined) return undefined;
  return new Converter(abi, "out").value(type, read(data, at, (from) => unpackValue(abi, type, from)), at);
}

/** Why a call reverted: a text, or a typed error with its fields. `by` is the contract whose error it is, if not the one called. */
export interface Revert {
  text?: string;
  error?: string;
  code?: number;
  data?: Record<string, unknown>;
  by?: Account;
}

/** decodeRevert reads the data of a call that reverted. What is neither a typed error nor printable text is given in hex. */
export function decodeRevert(abi: Pick<Abi, "errors" | "types">, data: Hex): Revert {
  const bytes = fromHex(data);
  if (bytes.length > 32 && bytes[0] === PASSED) return { text: toHex(bytes.subarray(33)), by: toHex(bytes.subarray(1, 33)) };
  const typed = typedError(abi, data, bytes);
  if (typed) return typed;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text: /^[^\p{C}\p{Zl}\p{Zp}]*$/u.test(text) ? text : data };
  } catch {
    return { text: data };
  }
}

function typedError(abi: Pick<Abi, "errors" | "types">, data: Hex, bytes: Uint8Array): Revert | undefined {
  const found = (is: (e: NonNullable<Abi["errors"]>[number]) => boolean) => abi.errors?.find(is);
  const revert = (e: { name: string; code: number; fields?: readonly Parameter[] }, given: unknown): Revert => {
    const fields = new Converter(abi, "out").fields(e.fields ?? [], given, e.name);
    return { error: e.name, code: e.code, ...(e.fields?.length && { data: fields }) };
  };
  try {
    if (bytes[0] === BINARY) {
      const from = new Reader(bytes.subarray(1));
      const code = from.u32();
      const e = found((e) => e.code === code);
      const given = e && unpack(abi, e.fields ?? [], from);
      from.end();
      return e && revert(e, given);
    }
    const json = read(data, "error", () => undefined) as { error?: unknown; code?: unknown; data?: unknown } | null;
    const e = found((e) => e.name === json?.error && e.code === json.code);
    return e && revert(e, json?.data ?? {});
  } catch (error) {
    if (error instanceof AbiError || error instanceof CodecError) return undefined; // shown as it is
    throw error;
  }
}

/** read gives the JSON of data in either form. */
function read(data: Hex, at: string, unpacked: (from: Reader) => unknown): unknown {
  const bytes = fromHex(data);
  try {
    if (bytes[0] !== BINARY) return parseJSON(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    const from = new Reader(bytes.subarray(1));
    const value = unpacked(from);
    from.end();
    return value;
  } catch (error) {
    if (error instanceof AbiError) throw error;
    throw new AbiError(`${at}: what the contract gave is ${bytes[0] === BINARY ? "not of its type" : "not JSON"}`);
  }
}

/** What a type is made of. */
type Shape =
  | { kind: "base"; name: string }
  | { kind: "fixed"; size: number }
  | { kind: "list" | "optional"; of: string }
  | { kind: "tuple"; items: string[] }
  | { kind: "named"; type: AbiType };

function shapeOf(abi: AbiForm, type: string): Shape {
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

/** split gives what commas outside of brackets separate. */
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
const bits = (type: string): number => Number(type.slice(1));
const isWide = (type: string): boolean => bits(type) > 32;
const bounds: Record<string, [bigint, bigint]> = Object.fromEntries(integers.map((type) => {
  const size = BigInt(bits(type));
  return [type, type[0] === "u" ? [0n, (1n << size) - 1n] : [-(1n << (size - 1n)), (1n << (size - 1n)) - 1n]];
}));

/** Converter checks values against types, and makes of TypeScript's values those of JSON (in), or the other way round (out). */
class Converter {
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

function packed(write: (to: Writer) => void): Hex {
  const to = new Writer();
  to.u8(BINARY);
  write(to);
  return toHex(to.done());
}

/** pack appends the binary form of an object in canonical JSON. */
function pack(abi: AbiForm, parameters: readonly Parameter[], object: Record<string, unknown>, to: Writer): void {
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
function unpack(abi: AbiForm, parameters: readonly Parameter[], from: Reader): Record<string, unknown> {
  return Object.fromEntries(parameters.map((p) => [p.name, unpackValue(abi, p.type, from)]));
}

function unpackValue(abi: AbiForm, type: string, from: Reader): unknown {
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

function flag(from: Reader): boolean {
  const byte = from.u8();
  if (byte > 1) throw new CodecError("a flag is neither 0 nor 1");
  return byte === 1;
}
