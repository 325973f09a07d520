import { AbiError, Converter, pack, unpack, unpackValue } from "./abivalues.js";
import { CodecError, Reader, Writer } from "./codec.js";
import { fromHex, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { parseJSON } from "./json.js";

export { AbiError } from "./abivalues.js";

/** An ABI as a constant: the result of svc_getContractAbi, written with `as const` (docs/protocol.md, "ABI"). */
export interface Abi extends AbiForm {
  readonly storage?: AbiStorage;
  readonly abi?: number;
  readonly functions: readonly AbiFunction[];
  readonly events: readonly { readonly name: string; readonly args: readonly Parameter[] }[];
  readonly errors?: readonly { readonly name: string; readonly code: number; readonly fields?: readonly Parameter[] }[];
}
/** The part of an ABI that defines how values are encoded. */
export interface AbiForm {
  /** whether the contract accepts the binary form, in which arguments are then sent */
  readonly binary?: boolean;
  readonly types?: readonly AbiType[];
}
/** The declared storage of a contract. Its encoding is "prefixed" or "bare". */
export interface AbiStorage {
  readonly encoding: string;
  readonly cells: readonly AbiCell[];
}
/** A name in storage: a "cell" of one value, a "map" of values by key, or a "list" of values by index. */
export interface AbiCell {
  readonly name: string;
  readonly kind: string;
  readonly key?: string;
  readonly value: string;
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

/** ValueOf is the TypeScript type of an ABI type: ValueOf<"u64?[]"> is (bigint | null)[]. N are the named types. */
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

/** ArgsOf are a function's arguments by name. Optional ones may be left out. */
export type ArgsOf<P extends readonly Parameter[], N extends Types = []> =
  & { [A in P[number] as A["type"] extends `${string}?` ? never : A["name"]]: ValueOf<A["type"], N> }
  & { [A in P[number] as A["type"] extends `${string}?` ? A["name"] : never]?: ValueOf<A["type"], N> };

/** The first bytes of data that is neither JSON nor text. */
const BINARY = 1;
const PASSED = 2;

/** encodeArguments returns the arguments in hex, in the form that the contract accepts. It throws an AbiError. */
export function encodeArguments(parameters: readonly Parameter[], args: object = {}, abi: AbiForm = {}): Hex {
  const object = new Converter(abi, "in").fields(parameters, args);
  if (!abi.binary) return parameters.length === 0 ? "0x" : toHex(new TextEncoder().encode(JSON.stringify(object)));
  return packed((to) => pack(abi, parameters, object, to));
}

/** decodeArguments reads arguments, or an event's data, in either form. It throws an AbiError. */
export function decodeArguments(parameters: readonly Parameter[], data: Hex, abi: AbiForm = {}, at = "arguments"): Record<string, unknown> {
  const given = data === "0x" ? {} : read(data, at, (from) => unpack(abi, parameters, from));
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new AbiError(`${at} is no object`);
  // A newer version of a contract may add fields to an event.
  const known = Object.entries(given).filter(([name]) => parameters.some((p) => p.name === name));
  return new Converter(abi, "out").fields(parameters, Object.fromEntries(known), at);
}

/** decodeResult reads a function's result, in either form. It throws an AbiError. */
export function decodeResult(type: string | undefined, data: Hex, abi: AbiForm = {}, at = "result"): unknown {
  if (type === undefined) return undefined;
  return new Converter(abi, "out").value(type, read(data, at, (from) => unpackValue(abi, type, from)), at);
}

/**
 * The reason for a revert: a text, or a typed error with its fields. `by` is the contract of the error, if not the
 * called one.
 */
export interface Revert {
  text?: string;
  error?: string;
  code?: number;
  data?: Record<string, unknown>;
  by?: Account;
}

/**
 * decodeRevert reads the data of a reverted call. Data that is neither a typed error nor printable text is returned in
 * hex.
 */
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

/** read returns the JSON of data in either form. */
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

function packed(write: (to: Writer) => void): Hex {
  const to = new Writer();
  to.u8(BINARY);
  write(to);
  return toHex(to.done());
}
