// Reads values of ABI types from a form. Names within a form are paths of numbers, so they contain no text of a
// contract.
import { AbiError, decodeResult, fromHex, shapeOf, toHex, type AbiForm, type Account, type Shape } from "@cairn-chain/sdk";

/** Parts describe the inputs for a type: one text, or fields for its parts. */
export type Parts = { kind: "text" } | Exclude<Shape, { kind: "base" | "fixed" }>;

const MAX_FIELDS = 60; // per value; one with more is entered as JSON

/**
 * partsOf returns the inputs for a type. Lists of plain values, and types that the ABI does not explain, are one text.
 */
export function partsOf(type: string, abi: AbiForm): Parts {
  const shape = shaped(type, abi);
  if (!shape || shape.kind === "base" || shape.kind === "fixed") return { kind: "text" };
  if (isPlain(type, abi)) return { kind: "text" };
  return fieldsOf(type, abi) > MAX_FIELDS ? { kind: "text" } : shape;
}

/** isPlain reports whether a type is a plain value or a list of plain values. */
function isPlain(type: string, abi: AbiForm): boolean {
  const shape = shaped(type, abi);
  return shape?.kind === "list" ? isPlain(shape.of, abi) : shape?.kind === "base" || shape?.kind === "fixed";
}

function shaped(type: string, abi: AbiForm): Shape | undefined {
  try {
    return shapeOf(abi, type);
  } catch (error) {
    if (error instanceof AbiError) return undefined; // a contract may name a type that it does not declare
    throw error;
  }
}

/**
 * fieldsOf counts the fields of a type, up to MAX_FIELDS + 1. List items and optional values appear only on request.
 */
function fieldsOf(type: string, abi: AbiForm, room = MAX_FIELDS + 1): number {
  const shape = shaped(type, abi);
  let inside: readonly string[] = [];
  if (shape?.kind === "tuple") inside = shape.items;
  if (shape?.kind === "named") {
    const named = (shape.type.variants ?? [shape.type]).flatMap((one) => one.fields ?? []);
    inside = named.map((field) => field.type);
  }
  let count = 1;
  for (const one of inside) if (count < room) count += fieldsOf(one, abi, room - count);
  return count;
}

/** readField reads a value of a type from a form, below a path. It throws if a text does not fit the type. */
export function readField(type: string, path: string, form: FormData, abi: AbiForm, account: (text: string) => Account): unknown {
  const parts = partsOf(type, abi);
  const inside = (of: string, at: string | number): unknown => readField(of, `${path}.${at}`, form, abi, account);
  switch (parts.kind) {
    case "text":
      return readText(type, String(form.get(path) ?? ""), abi, account);
    case "optional":
      return form.has(path) ? inside(parts.of, 0) : null;
    case "list":
      return form.getAll(path).map((key) => inside(parts.of, String(key)));
    case "tuple":
      return parts.items.map(inside);
    case "named": {
      const variant = parts.type.variants?.[Number(form.get(path))];
      const fields = (parts.type.kind === "enum" ? variant?.fields : parts.type.fields) ?? [];
      const values = Object.fromEntries(fields.map((field, i) => [field.name, inside(field.type, i)]));
      if (parts.type.kind === "record") return values;
      return fields.length === 0 ? variant?.name : { [variant!.name]: values };
    }
  }
}

/** readText reads a value from one text. Lists are separated by commas or are JSON; composed values are JSON. */
export function readText(type: string, typed: string, abi: AbiForm, account: (text: string) => Account): unknown {
  const text = typed.trim();
  const shape = shaped(type, abi);
  if (shape?.kind === "list" && isPlain(type, abi)) {
    const items = text.startsWith("[") ? (JSON.parse(text) as unknown[]).map(String) : text === "" ? [] : text.split(",");
    return items.map((item) => readText(shape.of, item, abi, account));
  }
  if (shape?.kind === "fixed" || type === "bytes") return fromHex(text || "0x");
  if (shape?.kind !== "base") return decodeResult(type, toHex(new TextEncoder().encode(text)), abi, type);
  if (/^[ui]\d/.test(type)) return whole(text);
  if (type === "bool") return text === "true";
  if (type === "account") return account(text);
  return type === "hash" ? text.toLowerCase() : typed;
}

function whole(text: string): bigint {
  const digits = text.replace(/,/g, "");
  if (!/^-?\d+$/.test(digits)) throw new AbiError(text === "" ? "a number is missing" : `“${text.slice(0, 80)}” is no whole number`);
  return BigInt(digits);
}
