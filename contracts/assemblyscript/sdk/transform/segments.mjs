// Merges data segments of a module, because each costs gas at every call (docs/protocol.md, "Calls").

const DATA = 11;
const I32_CONST = 0x41;
const END = 0x0b;

/**
 * The largest gap in bytes between two segments that is filled with zeros. A byte is paid once, in the deploy; a
 * segment is paid in every call.
 */
const MAX_GAP = 64;

class Bytes {
  constructor(code, at = 0) {
    this.code = code;
    this.at = at;
  }

  /** Reads a LEB128 integer of at most 32 bits. */
  leb(signed = false) {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.code[this.at++];
      value |= (byte & 0x7f) << shift;
      if (byte & 0x80) continue;
      return signed && shift < 25 && byte & 0x40 ? value | (-1 << (shift + 7)) : signed ? value : value >>> 0;
    }
  }

  take(length) {
    return this.code.subarray(this.at, (this.at += length));
  }
}

function leb(value, signed = false) {
  const out = [];
  for (let more = true; more; ) {
    const byte = value & 0x7f;
    value = signed ? value >> 7 : value >>> 7;
    more = signed ? !((value === 0 && !(byte & 0x40)) || (value === -1 && byte & 0x40)) : value !== 0;
    out.push(more ? byte | 0x80 : byte);
  }
  return out;
}

/**
 * Returns the module with neighbouring data segments merged. A module with data at computed addresses stays unchanged.
 */
export function mergeSegments(code) {
  const all = new Bytes(code, 8);
  const parts = [code.subarray(0, 8)];
  while (all.at < code.length) {
    const start = all.at;
    const id = code[all.at++];
    const content = all.take(all.leb());
    const merged = id === DATA ? mergedContent(content) : undefined;
    if (merged) parts.push(Uint8Array.from([DATA, ...leb(merged.length)]), merged);
    else parts.push(code.subarray(start, all.at));
  }
  return Buffer.concat(parts);
}

function mergedContent(content) {
  const from = new Bytes(content);
  const segments = [];
  for (let count = from.leb(); count > 0; count--) {
    if (from.leb() !== 0 || content[from.at++] !== I32_CONST) return undefined;
    const at = from.leb(true);
    if (content[from.at++] !== END) return undefined;
    segments.push({ at, bytes: [...from.take(from.leb())] });
  }
  segments.sort((a, b) => a.at - b.at);
  const merged = segments.splice(0, 1);
  for (const { at, bytes } of segments) {
    const last = merged[merged.length - 1];
    const gap = at - last.at - last.bytes.length;
    if (gap < 0) return undefined; // if they overlap, their order matters
    if (gap > MAX_GAP) merged.push({ at, bytes });
    else last.bytes.push(...new Array(gap).fill(0), ...bytes);
  }
  return Uint8Array.from([
    ...leb(merged.length),
    ...merged.flatMap(({ at, bytes }) => [0, I32_CONST, ...leb(at, true), END, ...leb(bytes.length), ...bytes]),
  ]);
}
