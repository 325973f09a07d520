// What a contract's code says of its source (docs/protocol.md, "Source section").
import { toHex } from "cairn-sdk";

const SECTION = "cairn_source";

/** sourceOf is the hash of the source that a module says it was compiled from, which anybody can write; null if it says none. */
export function sourceOf(code: Uint8Array): string | null {
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
    if (!(end <= code.length)) return null;
    const named = custom ? length(end) : 0;
    if (at + named > end) return null;
    if (custom && new TextDecoder().decode(code.subarray(at, at + named)) === SECTION) {
      const said = code.subarray(at + named, end);
      return said.length === 33 && said[0] === 1 ? toHex(said.subarray(1)) : null;
    }
    at = end;
  }
  return null;
}
