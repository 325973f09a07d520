// What transactions, events and traces say, by the ABI that a contract declares. Whatever does not fit it is shown as bytes.
import {
  AbiError,
  decodeArguments as sdkArguments,
  decodeResult as sdkResult,
  decodeRevert,
  decodeStored,
  storageKey,
  storageSlot,
  toHex,
  type Abi,
  type AbiCell,
  type AbiForm,
  type Hex as HexData,
  type rpc,
} from "@cairn-chain/sdk";

/** Value is an argument or result as text, with the type that the ABI gives it. */
export interface Value {
  name: string;
  type: string;
  /** an account or hash is 0x and 64 digits */
  text: string;
}

const MAX_VALUES = 100;

/** valueText writes a value that the SDK gave for an ABI's type. */
export function valueText(value: unknown): string {
  if (value === null) return "none";
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_VALUES).map(valueText);
    return `[${items.join(", ")}${value.length > MAX_VALUES ? `, … ${value.length} in all` : ""}]`;
  }
  if (typeof value !== "object") return String(value);
  const members = Object.entries(value).map(([name, member]) => `${name}: ${valueText(member)}`);
  return `{${members.join(", ")}}`;
}

/** decodeArguments reads arguments, or an event, by their parameters; undefined where it is not what they say. */
export function decodeArguments(
  parameters: readonly rpc.ABIParameter[],
  data: string,
  abi: AbiForm = {},
): Value[] | undefined {
  const values = decoded(() => sdkArguments(parameters, data as HexData, abi));
  return values && parameters.map(({ name, type }) => ({ name, type, text: valueText(values[name]) }));
}

/** decodeResult reads what a function returned; undefined where it is not of its type. */
export function decodeResult(type: string | undefined, data: string, abi: AbiForm = {}): Value | undefined {
  if (type === undefined) return undefined;
  const text = decoded(() => valueText(sdkResult(type, data as HexData, abi)));
  return text === undefined ? undefined : { name: "", type, text };
}

/** Storage is what of an ABI says what is in a contract's storage. */
type Storage = AbiForm & Pick<Abi, "storage">;

/** Place is what a key of storage stands for: a cell's name, of a map its key, of a list the index, and the type of what is there. */
export interface Place {
  name: string;
  key?: Value;
  type: string;
}

/** placeOf reads a key of storage; undefined where the ABI does not name it. */
export function placeOf(abi: Storage | null, key: string): Place | undefined {
  const slot = storageSlot(abi ?? {}, key as HexData);
  if (!slot) return undefined;
  const place = { name: slot.cell.name, type: slot.value };
  if (slot.key === undefined) return place;
  return { ...place, key: { name: "", type: slot.cell.key ?? "u32", text: valueText(slot.key) } };
}

/** decodeStorage reads what is stored; undefined where it is not of its type. */
export function decodeStorage(abi: Storage | null, type: string, data: string): Value | undefined {
  const text = decoded(() => valueText(decodeStored(abi ?? {}, type, data as HexData)));
  return text === undefined ? undefined : { name: "", type, text };
}

/** ownKey is the key of what is under a cell's name alone: the value of a cell, the length of a list. A map has none. */
export function ownKey(abi: Storage, cell: AbiCell): HexData | undefined {
  return cell.kind === "map" ? undefined : storageKey(abi, cell);
}

/** decoded is what read gives; undefined where what it reads is not of its types. */
function decoded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof AbiError) return undefined;
    throw error;
  }
}

/** revertText is why a call reverted, for people, by the ABI of the contract; undefined where that has no words for it. */
export function revertText(abi: rpc.ABI | null, data: string): string | undefined {
  const { error, data: fields, text, by } = decodeRevert(abi ?? {}, data as HexData);
  if (error !== undefined) return fields ? `${error} ${valueText(fields)}` : error;
  return by === undefined ? text : `${text} (from ${by})`;
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
  const below = call.belowGas;
  return { own: call.gasUsed - host - below, host, below };
}
