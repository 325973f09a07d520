import { CairnError } from "../errors.js";
import { concat } from "../hex.js";

/**
 * UnansweredError: the call cannot be made here in the chain's way. It does not imply a fault of the proof's source.
 */
export class UnansweredError extends CairnError {
  override name = "UnansweredError";
  constructor(
    readonly reason: "unsupported" | "resource",
    message: string,
  ) {
    super(message);
  }
}

/** A code, compiled with a memory within the chain's limit. The chain checked it at its deploy. */
export interface Module {
  compiled: WebAssembly.Module;
  /** exports that a call may name, of type () → () */
  procedures: Set<string>;
  reentrant: boolean;
  /** at most the chain's charge for loading it */
  load: number;
}

const MAX_PAGES = 16;

/** Bytes reads parts of a module, which the chain has checked. */
class Bytes {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}
  u8(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new UnansweredError("unsupported", "the code ends early");
    return byte;
  }
  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.u8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new UnansweredError("unsupported", "the code has a number that is too long");
  }
  take(length: number): Uint8Array {
    const part = this.bytes.subarray(this.at, this.at + length);
    if (part.length !== length) throw new UnansweredError("unsupported", "the code ends early");
    this.at += length;
    return part;
  }
  name(): string {
    return new TextDecoder().decode(this.take(this.u32()));
  }
}

const encodeU32 = (value: number): Uint8Array => {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return Uint8Array.of(...bytes, value);
};

const section = (id: number, content: Uint8Array): Uint8Array => concat(Uint8Array.of(id), encodeU32(content.length), content);

/** compile prepares a code whose hash is in the state. */
export function compile(code: Uint8Array): Module {
  const reader = new Bytes(code);
  const parts = [reader.take(8)];
  const found = new Map<number, Uint8Array>();
  while (reader.at < code.length) {
    const id = reader.u8();
    let content = reader.take(reader.u32());
    if (id === 0) continue; // custom sections do nothing
    if (id === 5) {
      const memory = new Bytes(content);
      memory.u8(); // one memory
      const [limited, initial] = [memory.u8() === 1, memory.u32()];
      content = concat(Uint8Array.of(1, 1), encodeU32(initial), encodeU32(limited ? Math.min(memory.u32(), MAX_PAGES) : MAX_PAGES));
    }
    found.set(id, content);
    parts.push(section(id, content));
  }
  const size = (id: number): number => found.get(id)?.length ?? 0;
  const procedures = exportedProcedures(found);
  return {
    compiled: new WebAssembly.Module(concat(...parts) as Uint8Array<ArrayBuffer>),
    procedures,
    reentrant: procedures.has("_reentrant"),
    load: 12_000 + code.length + 40 * size(3) + 100 * (size(6) / 5 + size(9) + size(11) / 5),
  };
}

function exportedProcedures(found: Map<number, Uint8Array>): Set<string> {
  const read = <T>(id: number, item: (r: Bytes) => T): T[] => {
    const r = new Bytes(found.get(id) ?? Uint8Array.of(0));
    return Array.from({ length: r.u32() }, () => item(r));
  };
  const plain = read(1, (r) => {
    r.u8(); // the form of a function's type
    const params = r.take(r.u32()).length;
    return params + r.take(r.u32()).length === 0;
  });
  const imported = read(2, (r) => {
    r.name();
    r.name();
    r.u8(); // the chain accepts imports of functions only
    return r.u32();
  });
  const types = [...imported, ...read(3, (r) => r.u32())];
  const exported = read(7, (r) => ({ name: r.name(), kind: r.u8(), index: r.u32() }));
  return new Set(exported.filter((e) => e.kind === 0 && plain[types[e.index]!]).map((e) => e.name));
}
