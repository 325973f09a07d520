import { ProtocolError } from "./errors.js";
import { shapes } from "./generated.js";

/**
 * convert returns the JSON of a result with its quantities as bigint, by a shape of generated.ts. It throws a
 * ProtocolError.
 */
export function convert(shape: string | undefined, value: unknown): unknown {
  if (shape === undefined || value === null || value === undefined) return value;
  switch (shape[0]) {
    case "q":
      if (typeof value !== "string" || !/^0x(0|[1-9a-f][0-9a-f]{0,15})$/.test(value)) throw bad("a quantity", value);
      return BigInt(value);
    case "b":
      if (typeof value === "bigint") return value;
      if (typeof value === "string" && /^(0|[1-9]\d{0,19})$/.test(value)) return BigInt(value); // over 2^53 - 1
      return BigInt(integer(value));
    case "n":
      return integer(value);
    case "f":
      if (typeof value !== "number" && typeof value !== "bigint") throw bad("a number", value);
      return Number(value);
    case "[": {
      if (!Array.isArray(value)) throw bad("an array", value);
      const of = shape.slice(1);
      for (let i = 0; i < value.length; i++) value[i] = convert(of, value[i]);
      return value;
    }
    case "{":
      members(value, Object.keys(object(value)), () => shape.slice(1));
      return value;
  }
  if (typeof value === "string") return value; // the hash in place of an object that was not requested
  const known = shapes[shape];
  if (known) members(value, Object.keys(known), (name) => known[name]);
  else object(value);
  return value;
}

/** members converts the named members of an object. */
function members(value: unknown, names: string[], shape: (name: string) => string | undefined): void {
  const of = object(value);
  for (const name of names) {
    if (Object.hasOwn(of, name)) of[name] = convert(shape(name), of[name]);
  }
}

function object(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw bad("an object", value);
  return value as Record<string, unknown>;
}

function integer(value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (typeof value !== "bigint") throw bad("an integer", value);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ProtocolError("unsafe_integer", `${value} is over 2^53 - 1`);
  return Number(value);
}

function bad(what: string, value: unknown): ProtocolError {
  return new ProtocolError("bad_answer", `the node's answer has ${typeof value} where ${what} should be`);
}
