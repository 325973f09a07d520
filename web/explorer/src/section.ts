// What a contract's code says of itself in custom sections (docs/protocol.md, "ABI" and "Source section").
import { toHex, type AbiForm, type rpc } from "@cairn-chain/sdk";

const CUSTOM = 0;
const IMPORT = 2;

/** parts are the sections of a module: their kinds and contents. It ends where a code is no module. */
function* parts(code: Uint8Array): Generator<{ kind: number; at: number; end: number }> {
  for (let at = 8; at < code.length; ) { // behind the magic number and the version
    const kind = code[at]!;
    const [size, from] = numberAt(code, at + 1, code.length);
    if (!(from + size <= code.length)) return;
    yield { kind, at: from, end: from + size };
    at = from + size;
  }
}

/** numberAt is a LEB128 number, and where what follows it begins: infinity for what is no number before the end. */
function numberAt(code: Uint8Array, at: number, end: number): [number, number] {
  let value = 0;
  for (let shift = 0; shift < 32 && at < end; shift += 7) {
    const byte = code[at++]!;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at];
  }
  return [Infinity, at];
}

/** textAt is a string with its length before it, and where what follows it begins; undefined for one that is longer than the rest. */
function textAt(code: Uint8Array, at: number, end: number): [string, number] | undefined {
  const [length, from] = numberAt(code, at, end);
  return from + length <= end ? [new TextDecoder().decode(code.subarray(from, from + length)), from + length] : undefined;
}

/** sectionOf is the first custom section of a name in a module; undefined where there is none, or the code is no module. */
export function sectionOf(code: Uint8Array, name: string): Uint8Array | undefined {
  for (const { kind, at, end } of parts(code)) {
    const said = kind === CUSTOM ? textAt(code, at, end) : undefined;
    if (kind === CUSTOM && !said) return undefined;
    if (said?.[0] === name) return code.subarray(said[1], end);
  }
  return undefined;
}

/**
 * canChange says whether a contract can give itself another code: only one that imports the function `replace_code` can. Imports of a
 * contract are functions without exception: a module, a name, the kind 0 and a type.
 */
export function canChange(code: Uint8Array): boolean {
  for (const { kind, at, end } of parts(code)) {
    if (kind !== IMPORT) continue;
    let [count, here] = numberAt(code, at, end);
    for (; count > 0; count--) {
      const of = textAt(code, here, end);
      const name = of && textAt(code, of[1], end);
      if (!name || code[name[1]] !== 0) return true; // what cannot be read may be anything
      if (name[0] === "replace_code") return true;
      here = numberAt(code, name[1] + 1, end)[1];
    }
  }
  return false;
}

/** sourceOf is the hash of the source that a module says it was compiled from, which anybody can write; null if it says none. */
export function sourceOf(code: Uint8Array): string | null {
  const said = sectionOf(code, "cairn_source");
  return said?.length === 33 && said[0] === 1 ? toHex(said.subarray(1)) : null;
}

/** abiOfCode is the ABI that a code declares; undefined where it declares none that can be read. */
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
