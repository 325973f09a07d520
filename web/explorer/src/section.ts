// The custom sections of a contract's code (docs/protocol.md, "ABI" and "Source section").
import { toHex, type AbiForm, type rpc } from "@cairn-chain/sdk";

const CUSTOM = 0;
const IMPORT = 2;

/** parts yields the sections of a module: their kinds and contents. It stops at the first malformed byte. */
function* parts(code: Uint8Array): Generator<{ kind: number; at: number; end: number }> {
  for (let at = 8; at < code.length; ) { // after the magic number and the version
    const kind = code[at]!;
    const [size, from] = numberAt(code, at + 1, code.length);
    if (!(from + size <= code.length)) return;
    yield { kind, at: from, end: from + size };
    at = from + size;
  }
}

/**
 * numberAt reads a LEB128 number, and returns it with the following position, which is infinity if the code ends before
 * the number does.
 */
function numberAt(code: Uint8Array, at: number, end: number): [number, number] {
  let value = 0;
  for (let shift = 0; shift < 32 && at < end; shift += 7) {
    const byte = code[at++]!;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at];
  }
  return [Infinity, at];
}

/**
 * textAt reads a string preceded by its length, and returns it with the following position; undefined if it is longer
 * than the rest.
 */
function textAt(code: Uint8Array, at: number, end: number): [string, number] | undefined {
  const [length, from] = numberAt(code, at, end);
  return from + length <= end ? [new TextDecoder().decode(code.subarray(from, from + length)), from + length] : undefined;
}

/**
 * sectionOf returns the first custom section of a name in a module; undefined if there is none, or if the code is no
 * module.
 */
export function sectionOf(code: Uint8Array, name: string): Uint8Array | undefined {
  for (const { kind, at, end } of parts(code)) {
    const said = kind === CUSTOM ? textAt(code, at, end) : undefined;
    if (kind === CUSTOM && !said) return undefined;
    if (said?.[0] === name) return code.subarray(said[1], end);
  }
  return undefined;
}

/**
 * canChange reports whether a contract can replace its own code: it must import the function `replace_code`. A contract
 * imports functions only: each has a module, a name, the kind 0 and a type.
 */
export function canChange(code: Uint8Array): boolean {
  for (const { kind, at, end } of parts(code)) {
    if (kind !== IMPORT) continue;
    let [count, here] = numberAt(code, at, end);
    for (; count > 0; count--) {
      const of = textAt(code, here, end);
      const name = of && textAt(code, of[1], end);
      if (!name || code[name[1]] !== 0) return true; // an unreadable code may do anything
      if (name[0] === "replace_code") return true;
      here = numberAt(code, name[1] + 1, end)[1];
    }
  }
  return false;
}

/** sourceOf returns a module's claim about the hash of its source, which is not verified; null if there is none. */
export function sourceOf(code: Uint8Array): string | null {
  const said = sectionOf(code, "cairn_source");
  return said?.length === 33 && said[0] === 1 ? toHex(said.subarray(1)) : null;
}

/** abiOfCode returns the ABI in a code; undefined if there is no readable one. */
export function abiOfCode(code: Uint8Array): (AbiForm & Pick<rpc.ABI, "functions">) | undefined {
  const said = sectionOf(code, "cairn_abi");
  try {
    const abi = said && (JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(said)) as unknown);
    return abi !== null && typeof abi === "object" && Array.isArray((abi as rpc.ABI).functions)
      ? (abi as rpc.ABI)
      : undefined;
  } catch {
    return undefined;
  }
}
