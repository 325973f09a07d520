import type { Client } from "./client.js";
import { CairnError } from "./errors.js";
import type { BlockRef, Event } from "./generated.js";
import { fromHex, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { parseJSON } from "./json.js";
import type { Payload } from "./transaction.js";

/** An ABI as a constant: what svc_getContractAbi gives, written with `as const`. */
export interface Abi {
  readonly functions: readonly AbiFunction[];
  readonly events: readonly { readonly name: string; readonly args: readonly Parameter[] }[];
}
export interface AbiFunction {
  readonly name: string;
  readonly mode: "read" | "write" | "init";
  readonly args: readonly Parameter[];
  readonly returns?: string;
}
interface Parameter {
  readonly name: string;
  readonly type: string;
}

interface Values {
  bool: boolean;
  u8: number;
  u32: number;
  u64: bigint;
  i64: bigint;
  string: string;
  bytes: Uint8Array;
  account: Account;
  hash: Hash;
}

/** ValueOf is the TypeScript type of a type of the ABI: ValueOf<"u64?[]"> is (bigint | null)[]. */
export type ValueOf<T extends string> = T extends `${infer Item}[]` ? ValueOf<Item>[]
  : T extends `${infer Item}?` ? ValueOf<Item> | null
  : T extends keyof Values ? Values[T] : never;

/** ArgsOf are a function's arguments by name; what may be missing may be left out. */
export type ArgsOf<P extends readonly Parameter[]> =
  & { [A in P[number] as A["type"] extends `${string}?` ? never : A["name"]]: ValueOf<A["type"]> }
  & { [A in P[number] as A["type"] extends `${string}?` ? A["name"] : never]?: ValueOf<A["type"]> };

type ResultOf<F extends AbiFunction> = F extends { returns: infer R extends string } ? ValueOf<R> : undefined;
type Given<F extends AbiFunction> = F["args"] extends readonly [] ? [args?: Record<string, never>] : [args: ArgsOf<F["args"]>];

/** Contract has a function for each of the contract's: views are answered by the node, calls give what to send. */
export interface Contract<A extends Abi> {
  readonly id: Account;
  readonly view: { [F in Extract<A["functions"][number], { mode: "read" }> as F["name"]]:
    (...args: [...Given<F>, block?: BlockRef]) => Promise<ResultOf<F>> };
  /** what a sender sends: sender.send(gold.call.transfer({ to, amount: 150n })) */
  readonly call: { [F in Extract<A["functions"][number], { mode: "write" }> as F["name"]]:
    (...args: [...Given<F>, value?: bigint]) => Payload };
  /** events pages through the contract's events of a name, ascending; `cursor` of the last goes on from there. */
  events<N extends A["events"][number]["name"]>(name: N, options?: { cursor?: string; fromBlock?: number; limit?: number }): Promise<
    { event: Event; args: ArgsOf<Extract<A["events"][number], { name: N }>["args"]> }[]
  >;
}

/** AbiError: a value is not of its type of the ABI. */
export class AbiError extends CairnError {
  override name = "AbiError";
}

/** contract types a deployed contract by its ABI. */
export function contract<const A extends Abi>(abi: A, id: Account, client: Client): Contract<A> {
  const view: Record<string, unknown> = Object.create(null);
  const call: Record<string, unknown> = Object.create(null);
  for (const f of abi.functions) {
    if (f.mode === "read") {
      view[f.name] = async (args?: object, block: BlockRef = "latest") => {
        const data = await client.call("svc_viewCall", id, f.name, encodeArguments(f.args, args), block);
        return f.returns === undefined ? undefined : decodeValue(f.returns, parseResult(data), f.name);
      };
    } else if (f.mode === "write") {
      call[f.name] = (args?: object, value = 0n): Payload => {
        return { type: "call", value, contract: id, function: f.name, args: fromHex(encodeArguments(f.args, args)) };
      };
    }
  }
  const events = async (name: string, options: { cursor?: string; fromBlock?: number; limit?: number } = {}): Promise<unknown> => {
    const declared = abi.events.find((e) => e.name === name);
    const filter = {
      contract_id: id, event_name: name, ...(options.limit !== undefined && { limit: options.limit }),
      ...(options.cursor !== undefined ? { cursor: options.cursor } : options.fromBlock !== undefined && { from_block: options.fromBlock }),
    };
    const found = await client.call("svc_getEvents", filter);
    return found.map((event) => ({ event, args: decodeArguments(declared?.args ?? [], parseResult(event.data), name) }));
  };
  return { id, view, call, events } as unknown as Contract<A>;
}

/** encodeArguments gives the JSON of arguments in hex: integers over 2^53 as decimal strings, bytes in hex. It throws an AbiError. */
export function encodeArguments(parameters: readonly Parameter[], args: object = {}): Hex {
  const given = args as Record<string, unknown>;
  for (const name of Object.keys(given)) if (!parameters.some((p) => p.name === name)) throw new AbiError(`there is no argument ${name}`);
  const members = parameters.map((p) => [p.name, encodeValue(p.type, Object.hasOwn(given, p.name) ? given[p.name] : undefined, p.name)]);
  return members.length === 0 ? "0x" : toHex(new TextEncoder().encode(JSON.stringify(Object.fromEntries(members))));
}

const bounds: Record<string, [bigint, bigint]> = {
  u8: [0n, 255n], u32: [0n, (1n << 32n) - 1n], u64: [0n, (1n << 64n) - 1n], i64: [-(1n << 63n), (1n << 63n) - 1n],
};

function encodeValue(type: string, value: unknown, at: string): unknown {
  if (type.endsWith("?")) return value === undefined || value === null ? null : encodeValue(type.slice(0, -1), value, at);
  if (type.endsWith("[]")) {
    if (!Array.isArray(value)) throw new AbiError(`${at} is no array`);
    return value.map((item, i) => encodeValue(type.slice(0, -2), item, `${at}[${i}]`));
  }
  switch (type) {
    case "bool":
      if (typeof value === "boolean") return value;
      break;
    case "string":
      if (typeof value === "string") return value;
      break;
    case "bytes":
      if (value instanceof Uint8Array) return toHex(value);
      break;
    case "account":
    case "hash":
      if (typeof value === "string" && /^0x[0-9a-f]{64}$/.test(value)) return value;
      break;
    default: {
      const bound = bounds[type];
      const integer = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
      if (bound && typeof integer === "bigint" && integer >= bound[0] && integer <= bound[1]) {
        return type === "u64" || type === "i64" ? integer.toString() : Number(integer);
      }
    }
  }
  throw new AbiError(`${at} is not of the type ${type}`);
}

function decodeArguments(parameters: readonly Parameter[], value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new AbiError(`${at} has no object of arguments`);
  const given = value as Record<string, unknown>;
  const member = (name: string): unknown => (Object.hasOwn(given, name) ? given[name] : undefined);
  return Object.fromEntries(parameters.map((p) => [p.name, decodeValue(p.type, member(p.name), p.name)]));
}

function decodeValue(type: string, value: unknown, at: string): unknown {
  if (type.endsWith("?")) return value === undefined || value === null ? null : decodeValue(type.slice(0, -1), value, at);
  if (type.endsWith("[]")) {
    if (!Array.isArray(value)) throw new AbiError(`${at} is no array`);
    return value.map((item, i) => decodeValue(type.slice(0, -2), item, `${at}[${i}]`));
  }
  if (type === "bytes" && typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value)) return fromHex(value);
  const bound = bounds[type];
  if (!bound) {
    const text = type === "account" || type === "hash" ? String(value).toLowerCase() : value;
    return encodeValue(type, text, at) as unknown;
  }
  const integer = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? BigInt(value) : value;
  const checked = BigInt(encodeValue(type, integer, at) as string | number);
  return type === "u64" || type === "i64" ? checked : Number(checked);
}

function parseResult(data: Hex): unknown {
  try {
    return parseJSON(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fromHex(data)));
  } catch {
    throw new AbiError("the contract's answer is not JSON");
  }
}
