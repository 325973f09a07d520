// What a contract's code says of itself in custom sections (docs/protocol.md, "ABI" and "Source section").
import { toHex, type AbiForm, type rpc } from "@cairn-chain/sdk";

/** sectionOf is the first custom section of a name in a module; undefined where there is none, or the code is no module. */
export function sectionOf(code: Uint8Array, name: string): Uint8Array | undefined {
  let at = 8; // behind the magic number and the version
  const length = (end: number): number => {
    let value = 0;
    for (let shift = 0; shift < 32 && at < end; shift += 7) {
      const byte = code[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return Infinity; // no length: what follows is behind the end
  };
  while (at < code.length) {
    const custom = code[at++] === 0;
    const size = length(code.length);
    const end = at + size;
    if (!(end <= code.length)) return undefined;
    const named = custom ? length(end) : 0;
    if (at + named > end) return undefined;
    if (custom && new TextDecoder().decode(code.subarray(at, at + named)) === name) {
      return code.subarray(at + named, end);
    }
    at = end;
  }
  return undefined;
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
