// What transactions, events and traces say, by the ABI that a contract declares. Whatever does not fit it is shown as bytes.
import { parseJSON, type rpc } from "cairn-sdk";

/** Value is an argument or result as text, with the type that the ABI gives it. */
export interface Value {
  name: string;
  type: string;
  /** an account or hash is 0x and 64 digits */
  text: string;
}

const MAX_VALUES = 100;

function json(hex: string): unknown {
  const bytes = Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return parseJSON(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
}

const integers = /^-?\d{1,20}$/;

/** valueText writes a value of an ABI's type; undefined where it is none. */
export function valueText(type: string, value: unknown): string | undefined {
  if (type.endsWith("?")) return value === null || value === undefined ? "none" : valueText(type.slice(0, -1), value);
  if (type.endsWith("[]")) {
    if (!Array.isArray(value)) return undefined;
    const items = value.slice(0, MAX_VALUES).map((item) => valueText(type.slice(0, -2), item));
    if (items.includes(undefined)) return undefined;
    return `[${items.join(", ")}${value.length > MAX_VALUES ? `, … ${value.length} in all` : ""}]`;
  }
  switch (type) {
    case "bool":
      return typeof value === "boolean" ? String(value) : undefined;
    case "u8":
    case "u32":
    case "u64":
    case "i64":
      return (typeof value === "string" || typeof value === "number" || typeof value === "bigint") &&
        integers.test(String(value))
        ? String(value)
        : undefined;
    case "string":
      return typeof value === "string" ? value : undefined;
    case "bytes":
      return typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value) ? value : undefined;
    case "account":
    case "hash":
      return typeof value === "string" && /^0x[0-9a-fA-F]{64}$/.test(value) ? value.toLowerCase() : undefined;
  }
  return undefined;
}

/** decodeArguments reads the JSON of arguments or of an event by its parameters; undefined where it is not what they say. */
export function decodeArguments(parameters: readonly rpc.ABIParameter[], data: string): Value[] | undefined {
  if (parameters.length === 0) return data === "0x" ? [] : undefined;
  let object: unknown;
  try {
    object = json(data);
  } catch {
    return undefined;
  }
  if (typeof object !== "object" || object === null || Array.isArray(object)) return undefined;
  const given = object as Record<string, unknown>;
  const values: Value[] = [];
  for (const { name, type } of parameters) {
    const text = valueText(type, Object.hasOwn(given, name) ? given[name] : undefined);
    if (text === undefined) return undefined;
    values.push({ name, type, text });
  }
  return values;
}

/** decodeResult reads what a function returned; undefined where it is not of its type. */
export function decodeResult(type: string | undefined, data: string): Value | undefined {
  if (type === undefined) return undefined;
  try {
    const text = valueText(type, json(data));
    return text === undefined ? undefined : { name: "", type, text };
  } catch {
    return undefined;
  }
}

/** isToken reports whether a contract declares what a NEP-20 token has. */
export function isToken(abi: rpc.ABI | null): boolean {
  const names = new Set(abi?.functions.map((f) => f.name));
  return ["symbol", "decimals", "totalSupply", "balanceOf", "transfer"].every((name) => names.has(name));
}

/** Gas is where a call's gas went: own + host + below is what it used. */
export interface Gas {
  own: bigint;
  host: bigint;
  below: bigint;
}

/** gasOf splits what a call of a trace used. */
export function gasOf(call: rpc.TraceCall): Gas {
  const host = Object.values(call.hostGas).reduce((sum, gas) => sum + gas, 0n);
  const below = call.calls.reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  return { own: call.gasUsed - host - below, host, below };
}
