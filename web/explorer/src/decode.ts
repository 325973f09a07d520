// Decodes transactions, events and traces by a contract's declared ABI. Data that does not fit the ABI is shown as
// bytes.
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

/** Value is an argument or result as text, with its ABI type. */
export interface Value {
  name: string;
  type: string;
  /** accounts and hashes are 0x and 64 digits */
  text: string;
}

const MAX_VALUES = 100;

/** valueText writes a value that the SDK decoded for an ABI type. */
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

/** decodeArguments reads arguments, or an event, by their parameters; undefined if they do not fit. */
export function decodeArguments(
  parameters: readonly rpc.ABIParameter[],
  data: string,
  abi: AbiForm = {},
): Value[] | undefined {
  const values = decoded(() => sdkArguments(parameters, data as HexData, abi));
  return values && parameters.map(({ name, type }) => ({ name, type, text: valueText(values[name]) }));
}

/** decodeResult reads a function's result; undefined if it does not have the declared type. */
export function decodeResult(type: string | undefined, data: string, abi: AbiForm = {}): Value | undefined {
  if (type === undefined) return undefined;
  const text = decoded(() => valueText(sdkResult(type, data as HexData, abi)));
  return text === undefined ? undefined : { name: "", type, text };
}

/** Storage is the part of an ABI that describes a contract's storage. */
type Storage = AbiForm & Pick<Abi, "storage">;

/** Place is the meaning of a storage key: a name, a map's key or a list's index, and the type of the value. */
export interface Place {
  name: string;
  key?: Value;
  type: string;
}

/** placeOf reads a storage key; undefined if the ABI does not describe it. */
export function placeOf(abi: Storage | null, key: string): Place | undefined {
  const slot = storageSlot(abi ?? {}, key as HexData);
  if (!slot) return undefined;
  const place = { name: slot.cell.name, type: slot.value };
  if (slot.key === undefined) return place;
  return { ...place, key: { name: "", type: slot.cell.key ?? "u32", text: valueText(slot.key) } };
}

/** decodeStorage reads a stored value; undefined if it does not have the declared type. */
export function decodeStorage(abi: Storage | null, type: string, data: string): Value | undefined {
  const text = decoded(() => valueText(decodeStored(abi ?? {}, type, data as HexData)));
  return text === undefined ? undefined : { name: "", type, text };
}

/** ownKey is the key that consists of a name only: a cell's value, or a list's length. A map has none. */
export function ownKey(abi: Storage, cell: AbiCell): HexData | undefined {
  return cell.kind === "map" ? undefined : storageKey(abi, cell);
}

/** decoded returns the result of read, or undefined if the data does not have the declared types. */
function decoded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof AbiError) return undefined;
    throw error;
  }
}

/** revertText is the readable reason for a revert, by the contract's ABI; undefined if the ABI does not describe it. */
export function revertText(abi: rpc.ABI | null, data: string): string | undefined {
  const { error, data: fields, text, by } = decodeRevert(abi ?? {}, data as HexData);
  if (error !== undefined) return fields ? `${error} ${valueText(fields)}` : error;
  return by === undefined ? text : `${text} (from ${by})`;
}

/** Gas splits the gas of a call: own + host + below is the gas used. */
export interface Gas {
  own: bigint;
  host: bigint;
  below: bigint;
}

/** gasOf splits the gas of a traced call. */
export function gasOf(call: rpc.TraceCall): Gas {
  const host = Object.values(call.hostGas).reduce((sum, gas) => sum + gas, 0n);
  const below = call.belowGas;
  return { own: call.gasUsed - host - below, host, below };
}
